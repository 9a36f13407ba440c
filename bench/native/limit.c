/*
 * The kernel's limit: writes finished frames to every connection, one write() (or writev() over the connection's
 * markets) per tick, and does nothing else. No server that hands each connection its bytes through the kernel's sockets
 * can be faster than this on the same core. Compiled with -DTLS it encrypts each tick's frames with one SSL_write()
 * into the socket (TLS 1.3, AES-128-GCM first): the limit for OpenSSL and the kernel together.
 *
 * usage: limit FRAME_BYTES MARKETS [CERT_FILE KEY_FILE]
 * Answers {"port":N}. A connection names its markets in its handshake's path (/0,3,7). Commands, one per line:
 *   flat COUNT                  as fast as the sockets accept: COUNT messages per market and tick
 *   paced COUNT MICROSECONDS    a tick every MICROSECONDS
 *   stop                        answers {"ticks":N,"waits":N}: all ticks, and those that found a full socket
 *   usage                       answers {"seconds":X,"cpuSeconds":X,"ticks":N}: the monotonic clock, CPU time and ticks so far
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

#define MARKETS_MAX 256
#define STAMP_DIGITS 13
#define STAMP_MODULUS 1000000000000ULL

struct connection {
  int fd;
#ifdef TLS
  SSL *ssl;
#endif
  int market_count;
  int markets[MARKETS_MAX];
  size_t written;
  size_t total;
};

static struct connection *connections;
static int connection_count, connection_capacity;
static int market_count;
static size_t frame_bytes;
static unsigned char *blocks[MARKETS_MAX];
static size_t stamp_offset;
static uint64_t ticks, waits;
static int running;

static void take_command(void);

static void die(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t now_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* COUNT frames for one market, one after the other: an UPDATE padded to the requested length. */
static void build_block(int market, int count) {
  size_t payload = frame_bytes - 4;
  char text[1024];
  int used = snprintf(text, sizeof text,
                      "{\"channel\":\"market_data\",\"payload\":{\"market\":\"M%03dUSD\",\"type\":\"UPDATE\","
                      "\"time\":\"2026-01-01T00:00:00.000Z\",\"bids\":[{\"price\":\"97000.00\",\"amount\":\"",
                      market);
  stamp_offset = (size_t)used + 4;
  used += snprintf(text + used, sizeof text - (size_t)used, "%0*d.00000000\"}],\"asks\":[]}}", STAMP_DIGITS - 8, 0);
  memset(text + used, ' ', sizeof text - (size_t)used);
  free(blocks[market]);
  blocks[market] = malloc(frame_bytes * (size_t)count);
  for (int index = 0; index < count; index++) {
    unsigned char *frame = blocks[market] + frame_bytes * (size_t)index;
    frame[0] = 0x81;
    frame[1] = 126;
    frame[2] = (unsigned char)(payload >> 8);
    frame[3] = (unsigned char)payload;
    memcpy(frame + 4, text, payload);
  }
}

static void stamp_blocks(int count, uint64_t event_microseconds) {
  char digits[STAMP_DIGITS + 1];
  snprintf(digits, sizeof digits, "%0*llu", STAMP_DIGITS,
           (unsigned long long)(STAMP_MODULUS + event_microseconds % STAMP_MODULUS));
  for (int market = 0; market < market_count; market++)
    for (int index = 0; index < count; index++) {
      unsigned char *at = blocks[market] + frame_bytes * (size_t)index + stamp_offset;
      memcpy(at, digits, STAMP_DIGITS - 8);
      memcpy(at + STAMP_DIGITS - 8 + 1, digits + STAMP_DIGITS - 8, 8);
    }
}

#ifdef TLS
static SSL_CTX *tls;

static void die_tls(const char *what) {
  fprintf(stderr, "limit: %s\n", what);
  ERR_print_errors_fp(stderr);
  exit(1);
}

static void start_tls(const char *cert_file, const char *key_file) {
  tls = SSL_CTX_new(TLS_server_method());
  if (tls == NULL || SSL_CTX_use_certificate_chain_file(tls, cert_file) != 1 ||
      SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") != 1)
    die_tls("certificate");
  SSL_CTX_set_options(tls, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

static ssize_t write_parts(struct connection *c, const struct iovec *parts, int part_count) {
  static unsigned char joined[1024 * 1024];
  size_t length = 0;
  const void *bytes = parts[0].iov_base;
  if (part_count == 1) length = parts[0].iov_len;
  else {
    for (int index = 0; index < part_count && length + parts[index].iov_len <= sizeof joined; index++) {
      memcpy(joined + length, parts[index].iov_base, parts[index].iov_len);
      length += parts[index].iov_len;
    }
    bytes = joined;
  }
  int count = SSL_write(c->ssl, bytes, (int)length);
  if (count > 0) return count;
  if (SSL_get_error(c->ssl, count) == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  exit(0);
}
#else
static ssize_t write_parts(struct connection *c, const struct iovec *parts, int part_count) {
  return part_count == 1 ? write(c->fd, parts[0].iov_base, parts[0].iov_len) : writev(c->fd, parts, part_count);
}
#endif

/* Writes the rest of this tick. Returns 1 when the kernel has taken all of it. */
static int write_rest(struct connection *c, size_t block_bytes) {
  struct iovec parts[MARKETS_MAX];
  int part_count = 0;
  size_t skip = c->written;
  for (int index = 0; index < c->market_count; index++) {
    if (skip >= block_bytes) {
      skip -= block_bytes;
      continue;
    }
    parts[part_count].iov_base = blocks[c->markets[index]] + skip;
    parts[part_count++].iov_len = block_bytes - skip;
    skip = 0;
  }
  ssize_t count = write_parts(c, parts, part_count);
  if (count < 0 && errno != EAGAIN && errno != EINTR) exit(0);
  if (count > 0) c->written += (size_t)count;
  return c->written == c->total;
}

static void tick(int count, uint64_t event_microseconds) {
  size_t block_bytes = frame_bytes * (size_t)count;
  int pending = 0;
  stamp_blocks(count, event_microseconds);
  for (int index = 0; index < connection_count; index++) {
    struct connection *c = &connections[index];
    c->written = 0;
    c->total = block_bytes * (size_t)c->market_count;
    if (c->total > 0 && !write_rest(c, block_bytes)) pending++;
  }
  ticks++;
  if (pending > 0) waits++;
  for (int index = 0; index < connection_count; index++) {
    struct connection *c = &connections[index];
    while (c->written < c->total && !write_rest(c, block_bytes)) {
      struct pollfd writable = {.fd = c->fd, .events = POLLOUT};
      poll(&writable, 1, 100);
    }
  }
}

static int input_waits(int64_t microseconds) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  struct timespec wait = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
  return ppoll(&input, 1, &wait, NULL) > 0;
}

static void run_ticks(int count, uint64_t interval) {
  for (int market = 0; market < market_count; market++) build_block(market, count);
  ticks = waits = 0;
  running = 1;
  uint64_t due = now_microseconds();
  while (running) {
    int64_t wait = interval == 0 ? 0 : (int64_t)(due - now_microseconds());
    if (input_waits(wait > 0 ? wait : 0)) {
      take_command();
      continue;
    }
    tick(count, interval == 0 ? now_microseconds() : due);
    due += interval;
  }
}

static void accept_connection(int listener) {
  int fd = accept(listener, NULL, NULL), one = 1;
  if (fd < 0) die("accept");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#ifdef TLS
  SSL *ssl = SSL_new(tls);
  if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_accept(ssl) != 1) die_tls("handshake");
#endif
  char text[1024];
  size_t fill = 0;
  while (fill < 4 || memcmp(text + fill - 4, "\r\n\r\n", 4) != 0) {
#ifdef TLS
    ssize_t count = SSL_read(ssl, text + fill, (int)(sizeof text - 1 - fill));
#else
    ssize_t count = recv(fd, text + fill, sizeof text - 1 - fill, 0);
#endif
    if (count <= 0) die("handshake");
    fill += (size_t)count;
  }
  text[fill] = 0;
  if (connection_count == connection_capacity) {
    connection_capacity = connection_capacity * 2 + 1024;
    connections = realloc(connections, sizeof *connections * (size_t)connection_capacity);
    if (connections == NULL) die("realloc");
  }
  struct connection *c = &connections[connection_count++];
  memset(c, 0, sizeof *c);
  c->fd = fd;
#ifdef TLS
  c->ssl = ssl;
#endif
  for (char *at = strchr(text, '/') + 1; *at >= '0' && *at <= '9' && c->market_count < MARKETS_MAX;) {
    c->markets[c->market_count++] = (int)strtol(at, &at, 10);
    if (*at == ',') at++;
  }
  static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
#ifdef TLS
  ssize_t answered = SSL_write(ssl, answer, (int)sizeof answer - 1);
#else
  ssize_t answered = write(fd, answer, sizeof answer - 1);
#endif
  if (answered != (ssize_t)sizeof answer - 1) die("answer");
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void report_usage(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"seconds\":%.6f,\"cpuSeconds\":%.6f,\"ticks\":%llu}\n", (double)now_microseconds() / 1e6, seconds,
         (unsigned long long)ticks);
}

static void take_command(void) {
  static char line[256];
  if (fgets(line, sizeof line, stdin) == NULL) exit(0);
  int count;
  unsigned long interval;
  if (sscanf(line, "paced %d %lu", &count, &interval) == 2) {
    printf("{}\n");
    run_ticks(count, interval);
  } else if (sscanf(line, "flat %d", &count) == 1) {
    printf("{}\n");
    run_ticks(count, 0);
  } else if (strncmp(line, "stop", 4) == 0) {
    running = 0;
    printf("{\"ticks\":%llu,\"waits\":%llu}\n", (unsigned long long)ticks, (unsigned long long)waits);
  } else if (strncmp(line, "usage", 5) == 0) {
    report_usage();
  } else {
    fprintf(stderr, "limit: unknown command %s\n", line);
    exit(1);
  }
}

int main(int argc, char **argv) {
#ifdef TLS
  if (argc != 5) return 2;
  start_tls(argv[3], argv[4]);
#else
  if (argc != 3) return 2;
#endif
  frame_bytes = (size_t)atoi(argv[1]);
  market_count = atoi(argv[2]);
  if (market_count > MARKETS_MAX || frame_bytes < 200 || frame_bytes > 1000) return 2;
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0) die("bind");
  if (listen(listener, 1024) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0) die("listen");
  printf("{\"port\":%d}\n", ntohs(address.sin_port));
  for (;;) {
    struct pollfd waiting[2] = {{.fd = listener, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    if (poll(waiting, 2, -1) < 0) die("poll");
    if (waiting[0].revents != 0) accept_connection(listener);
    if (waiting[1].revents != 0) take_command();
  }
}
