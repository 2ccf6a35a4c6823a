/* calib.c - is this machine disturbed right now? Spins one thread per CPU for 10 ms and prints the
 * loops per ms of the slowest thread and the longest gap in us that any saw between two looks at
 * the clock. A shared virtual machine loses its CPUs for 4-30 ms at a time; this sees it. */
#define _GNU_SOURCE
#include "bench.h"

#include <pthread.h>
#include <sched.h>

enum { kMaxCpus = 64, kSpinNs = 10 * 1000 * 1000 };
struct look {
  int cpu;
  double loops_per_ms;
  int64_t gap_ns;
};

static void *spin(void *arg) {
  struct look *l = arg;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(l->cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
  volatile uint64_t sink = 1;
  int64_t start = now_ns(), last = start, loops = 0;
  do {
    for (int i = 0; i < 1000; i++) sink = sink * 6364136223846793005ull + 1;
    int64_t t = now_ns();
    if (t - last > l->gap_ns) l->gap_ns = t - last;
    last = t;
    loops++;
  } while (last - start < kSpinNs);
  l->loops_per_ms = (double)loops * 1e6 / (double)(last - start);
  return NULL;
}

int main(void) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  struct look looks[kMaxCpus] = {0};
  pthread_t threads[kMaxCpus];
  int n = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && n < kMaxCpus; cpu++)
    if (CPU_ISSET(cpu, &set)) looks[n++].cpu = cpu;
  for (int i = 0; i < n; i++) pthread_create(&threads[i], NULL, spin, &looks[i]);
  double slowest = 1e18;
  int64_t gap = 0;
  for (int i = 0; i < n; i++) {
    pthread_join(threads[i], NULL);
    if (looks[i].loops_per_ms < slowest) slowest = looks[i].loops_per_ms;
    if (looks[i].gap_ns > gap) gap = looks[i].gap_ns;
  }
  printf("%.1f %.0f\n", slowest, (double)gap / 1e3);
  return 0;
}
