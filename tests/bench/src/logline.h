/* logline.h - the shape of a log line, shared by the worker that writes it and the sink that checks
 * it. */
#ifndef LOGLINE_H
#define LOGLINE_H
enum { kLineBytes = 100, kSequenceAt = 2, kSequenceDigits = 10, kTimeAt = 13 };
#define LINE_FORMAT "%d %010ld %020lld "

/* Rewrites only the sequence: a snprintf per line would make the writers the bottleneck. */
static inline void put_sequence(char *line, long sequence) {
  for (int i = kSequenceDigits - 1; i >= 0; i--, sequence /= 10)
    line[kSequenceAt + i] = (char)('0' + sequence % 10);
}

static inline long get_sequence(const char *line) {
  long n = 0;
  for (int i = 0; i < kSequenceDigits; i++) n = n * 10 + (line[kSequenceAt + i] - '0');
  return n;
}
#endif
