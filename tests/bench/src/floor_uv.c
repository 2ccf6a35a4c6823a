/* floor_uv.c - a plain libuv server of the store's protocol, as one writes it with libuv by
 * default: a fresh 4 KiB buffer per read, one heap-allocated uv_write per answer. Our own code,
 * standing in for "a store built on libuv"; it leaves out the reference counting of PyTorch's and
 * so flatters it. floor_uv PORT                                   (linked with -luv) */
#include "kv.h"

#include <signal.h>
#include <sys/resource.h>
#include <uv.h>

enum { kReadBytes = 4096 };
struct connection {
  uv_tcp_t handle;
  uint8_t *rest;
  size_t rest_bytes;
};
struct answer {
  uv_write_t request;
  uint8_t bytes[];
};
static uint8_t gathered[1 << 16]; /* what one command answers: a length and a value are one write */
static size_t gathered_bytes;

static void kv_emit(void *connection, const void *bytes, size_t n) {
  (void)connection;
  if (gathered_bytes + n > sizeof gathered) abort();
  memcpy(gathered + gathered_bytes, bytes, n);
  gathered_bytes += n;
}

static void on_written(uv_write_t *request, int status) {
  (void)status;
  free(request);
}

static void flush(struct connection *c) {
  if (!gathered_bytes) return;
  struct answer *a = malloc(sizeof *a + gathered_bytes);
  memcpy(a->bytes, gathered, gathered_bytes);
  uv_buf_t buffer = uv_buf_init((char *)a->bytes, (unsigned)gathered_bytes);
  gathered_bytes = 0;
  if (uv_write(&a->request, (uv_stream_t *)&c->handle, &buffer, 1, on_written)) free(a);
}

static void on_closed(uv_handle_t *handle) {
  free(((struct connection *)handle)->rest);
  free(handle);
}

static void on_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  (void)handle, (void)suggested;
  *buffer = uv_buf_init(malloc(kReadBytes), kReadBytes);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer) {
  struct connection *c = (struct connection *)stream;
  long n = kProtocolError;
  if (got >= 0) {
    c->rest = realloc(c->rest, c->rest_bytes + (size_t)got + 1);
    memcpy(c->rest + c->rest_bytes, buffer->base, (size_t)got);
    size_t have = c->rest_bytes + (size_t)got, used = 0;
    while ((n = kv_command(c, c->rest + used, have - used)) > 0) used += (size_t)n, flush(c);
    memmove(c->rest, c->rest + used, c->rest_bytes = have - used);
    if (!c->rest_bytes) free(c->rest), c->rest = NULL;
  }
  free(buffer->base);
  if (n == kProtocolError) uv_close((uv_handle_t *)stream, on_closed);
}

static void on_connection(uv_stream_t *server, int status) {
  if (status < 0) return;
  struct connection *c = calloc(1, sizeof *c);
  uv_tcp_init(server->loop, &c->handle);
  uv_accept(server, (uv_stream_t *)&c->handle);
  uv_tcp_nodelay(&c->handle, 1);
  uv_read_start((uv_stream_t *)&c->handle, on_buffer, on_read);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  signal(SIGPIPE, SIG_IGN);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  uv_tcp_t server;
  struct sockaddr_in a;
  uv_tcp_init(uv_default_loop(), &server);
  uv_ip4_addr("0.0.0.0", atoi(argv[1]), &a);
  if (uv_tcp_bind(&server, (struct sockaddr *)&a, 0) ||
      uv_listen((uv_stream_t *)&server, 65535, on_connection))
    return 9;
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
