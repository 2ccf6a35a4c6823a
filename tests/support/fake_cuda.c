/* A libcuda.so.1 with three GPUs for the test of `muster-probe allreduce`: their memory is that of the process, and pages that
   nobody touched cost nothing. $FAKE_GPUS is how many there are instead. No GPU is needed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int contexts[8];
static void *current;

int cuInit(unsigned flags) { return flags != 0; }

int cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}

int cuDeviceGetCount(int *count) {
  const char *wanted = getenv("FAKE_GPUS");
  *count = wanted ? wanted[0] - '0' : 3;
  return 0;
}

int cuDeviceGet(int *device, int index) {
  *device = index;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &contexts[device];
  return 0;
}

int cuCtxSetCurrent(void *context) {
  current = context;
  return 0;
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  *memory = current ? (uintptr_t)calloc(1, bytes) : 0;
  return *memory ? 0 : 201;
}

/* The first words and the last ones. */
int cuMemsetD32_v2(uint64_t memory, unsigned value, size_t words) {
  uint32_t *values = (uint32_t *)(uintptr_t)memory;
  values[0] = values[1] = values[words - 1] = value;
  return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t memory, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)memory, bytes);
  return 0;
}

int cuStreamCreate(void **stream, unsigned flags) {
  *stream = current;
  return flags != 1;
}

int cuStreamSynchronize(void *stream) { return !stream || stream == current ? 0 : 400; }

int cuGetErrorString(int code, const char **words) {
  *words = code == 400 ? "invalid resource handle" : "invalid device context";
  return 0;
}
