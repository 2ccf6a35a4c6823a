/* kv.h - the least key-value core that answers what storeload asks in the TCPStore wire protocol of
 * PyTorch 2.x: VALIDATE, SET, GET, ADD, WAIT for keys that exist, NUMKEYS. Shared by the two floor
 * servers, which differ only in how they move bytes. No limits, no waiters, no deletion: not a
 * store. Integers are 64-bit little-endian; strings are a length and the bytes; SET has no answer.
 */
#ifndef KV_H
#define KV_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kValidate = 0, kSet = 1, kGet = 3, kAdd = 4, kWait = 6, kNumKeys = 7, kProtocolError = -1 };

struct entry {
  struct entry *next;
  uint64_t hash;
  uint32_t key_bytes, value_bytes, value_room;
  uint8_t *value;
  uint8_t key[];
};
static struct entry **table;
static size_t table_size, entries;

/* Given by the server: queues answer bytes on a connection. */
static void kv_emit(void *connection, const void *bytes, size_t n);

static uint64_t kv_hash(const uint8_t *p, size_t n) {
  uint64_t h = 0x9E3779B97F4A7C15ull ^ n;
  for (uint64_t word; n >= 8; p += 8, n -= 8) {
    memcpy(&word, p, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  while (n--) h = (h ^ *p++) * 0x100000001b3ull;
  return h ^ (h >> 29);
}

static void kv_grow(void) {
  size_t size = table_size ? table_size * 2 : 1024;
  struct entry **bigger = calloc(size, sizeof *bigger);
  for (size_t i = 0; i < table_size; i++)
    for (struct entry *e = table[i], *next; e; e = next) {
      next = e->next;
      e->next = bigger[e->hash & (size - 1)];
      bigger[e->hash & (size - 1)] = e;
    }
  free(table);
  table = bigger;
  table_size = size;
}

static struct entry *kv_find(const uint8_t *key, size_t n, int create) {
  if (entries >= table_size) kv_grow();
  uint64_t h = kv_hash(key, n);
  struct entry **bucket = &table[h & (table_size - 1)];
  for (struct entry *e = *bucket; e; e = e->next)
    if (e->hash == h && e->key_bytes == n && !memcmp(e->key, key, n)) return e;
  if (!create) return NULL;
  struct entry *e = calloc(1, sizeof *e + n);
  *e = (struct entry){.next = *bucket, .hash = h, .key_bytes = (uint32_t)n};
  memcpy(e->key, key, n);
  entries++;
  return *bucket = e;
}

static void kv_store(struct entry *e, const void *value, size_t n) {
  if (e->value_room < n) e->value = realloc(e->value, e->value_room = (uint32_t)n);
  memcpy(e->value, value, e->value_bytes = (uint32_t)n);
}

static void kv_add(void *connection, struct entry *e, int64_t by) {
  char text[24] = {0};
  memcpy(text, e->value ? e->value : (uint8_t *)"0", e->value ? e->value_bytes : 1);
  int64_t sum = by + strtoll(text, NULL, 10);
  kv_store(e, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)sum));
  kv_emit(connection, &sum, 8);
}

static int kv_number(const uint8_t **p, const uint8_t *end, uint64_t *value) {
  if (end - *p < 8) return 0;
  memcpy(value, *p, 8);
  *p += 8;
  return 1;
}

static int kv_bytes(const uint8_t **p, const uint8_t *end, const uint8_t **bytes, uint64_t *n) {
  if (!kv_number(p, end, n) || (uint64_t)(end - *p) < *n) return 0;
  *bytes = *p;
  *p += *n;
  return 1;
}

/* Runs the one command at `in`; returns its length, 0 when more bytes are needed, or
 * kProtocolError. */
static long kv_command(void *connection, const uint8_t *in, size_t have) {
  const uint8_t *p = in + 1, *end = in + have, *key, *value;
  uint64_t key_bytes, value_bytes, number;
  struct entry *e;
  if (have == 0) return 0;
  switch (*in) {
    case kValidate:
      return have < 5 ? 0 : 5;
    case kSet:
      if (!kv_bytes(&p, end, &key, &key_bytes) || !kv_bytes(&p, end, &value, &value_bytes))
        return 0;
      kv_store(kv_find(key, key_bytes, 1), value, value_bytes);
      return p - in;
    case kAdd:
      if (!kv_bytes(&p, end, &key, &key_bytes) || !kv_number(&p, end, &number)) return 0;
      kv_add(connection, kv_find(key, key_bytes, 1), (int64_t)number);
      return p - in;
    case kGet:
      if (!kv_bytes(&p, end, &key, &key_bytes)) return 0;
      if (!(e = kv_find(key, key_bytes, 0))) return kProtocolError;
      number = e->value_bytes;
      kv_emit(connection, &number, 8);
      kv_emit(connection, e->value, number);
      return p - in;
    case kWait:
      if (!kv_number(&p, end, &number)) return 0;
      for (; number; number--) {
        if (!kv_bytes(&p, end, &key, &key_bytes)) return 0;
        if (!kv_find(key, key_bytes, 0)) return kProtocolError;
      }
      kv_emit(connection, "", 1);
      return p - in;
    case kNumKeys:
      number = entries;
      kv_emit(connection, &number, 8);
      return 1;
    default:
      return kProtocolError;
  }
}
#endif
