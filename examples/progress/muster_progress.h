/* Tells Muster how far a program is: muster_progress(step, total, epoch, "loss", loss). A datagram for each call; it never
   waits, and does nothing where no Muster listens. Needs POSIX, C99 or C++11. Not for two threads at once. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* In some locales printf writes a comma where JSON has a point. */
static inline size_t muster_number(char *to, size_t size, const char *before, double value, const char *after) {
  char digits[32];
  char *comma;
  snprintf(digits, sizeof digits, "%.9g", value);
  comma = strchr(digits, ',');
  if (comma != NULL) *comma = '.';
  return (size_t)snprintf(to, size, "%s%s%s", before, digits, after);
}

/* step: from 0. total: the step at the end, epoch: from 0 or 1; each negative = not known. name: of one metric, in plain
   letters; NULL = none. */
static inline void muster_progress(long long step, long long total, double epoch, const char *name, double value) {
  static int fd = -1;
  struct sockaddr_un address;
  char message[512];
  size_t used;
  const char *path = getenv("MUSTER_PROGRESS_SOCKET");
  if (path == NULL || *path == 0 || strlen(path) >= sizeof address.sun_path) return;
  if (fd < 0) fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  used = (size_t)snprintf(message, sizeof message, "{\"step\":%lld", step);
  if (total > 0) used += (size_t)snprintf(message + used, sizeof message - used, ",\"total\":%lld", total);
  if (epoch >= 0) used += muster_number(message + used, sizeof message - used, ",\"epoch\":", epoch, "");
  if (name != NULL && strlen(name) <= 64 && isfinite(value)) {
    used += (size_t)snprintf(message + used, sizeof message - used, ",\"metrics\":{\"%s\":", name);
    used += muster_number(message + used, sizeof message - used, "", value, "}");
  }
  used += (size_t)snprintf(message + used, sizeof message - used, "}");
  /* A message that is lost is not missed: the next step tells more. */
  (void)!sendto(fd, message, used, 0, (const struct sockaddr *)&address, sizeof address);
}
