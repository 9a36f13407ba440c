/*
 * The load generator: reads the stream on many connections of 127.0.0.1 with one thread and epoll, and counts WebSocket
 * messages by their frame headers. Unlike a client it decodes no JSON: it must be cheaper than every server it measures.
 *
 * usage: reader PORT [resume | shared ADDRESS] < lines
 * Compiled with -DTLS it speaks TLS, and with "resume" every connection after the first resumes the newest session.
 * It does not check the certificate. With "shared" it is one of several load generators on the same cores: it connects
 * from ADDRESS, sleeps while it measures, answers pings, and counts refused and ended connections, which are failures
 * otherwise.
 * The first line is the number of connections, then one line per connection: MODE \t PATH \t REQUEST [\t TOKEN], where
 * MODE is 0 (reads), 1 (never reads) or 2 (reads slowly), PATH is the path of the handshake, REQUEST is the subscribe
 * request and TOKEN is the bearer token.
 * When all are connected it answers {"connected":N,"resumed":N,"refused":N,"first":T,"last":T} with the first and the last
 * upgrade's time in microseconds of CLOCK_MONOTONIC, and accepts commands, one per line, each answered by one line of JSON:
 *   subscribe MILLISECONDS EXPECTED   sends the requests spread over the time, waits until every connection of mode 0
 *                                     has EXPECTED messages
 *   then REQUEST                      (before subscribe) replaces every connection's request
 *   heartbeats MILLISECONDS           counts heartbeats from now on, which have this period
 *   losses NUMBER                     what the connections missed (losses.h), and how many lack messages before NUMBER
 *   keep COUNT FOLDER                 (before subscribe) writes the second message of COUNT connections to files
 *   measure MILLISECONDS STAMPED      counts for this time; with STAMPED 1 also latency, from the microseconds of
 *                                     CLOCK_MONOTONIC that the first amount of a message carries
 *   total MILLISECONDS                all messages so far, once no data has arrived for this time (pings continue)
 *   groups                            the number of distinct second messages, compared by a 64-bit hash
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "losses.h"
#ifdef TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#endif

enum { READS = 0, NEVER_READS = 1, READS_SLOWLY = 2, ENDED = 3 };

#define BUFFER_BYTES (256 * 1024)
/* Of a message that arrives in parts: twenty changed levels. */
#define PREFIX_BYTES 1024
#define PING_BYTES_MAX 125
#define HANDSHAKES_AT_ONCE 100
#define SLOW_RECEIVE_BUFFER_BYTES 8192
#define SLOW_EVERY_MICROSECONDS 100000
#define SLOW_BYTES 1600
#define STAMP_MODULUS 1000000000000ULL
#define FINE_MICROSECONDS 200000
#define COARSE_MILLISECONDS 60000

struct connection {
  int fd;
  int mode;
  char *path;
  char *request;
  char *token;
  struct losses losses;
#ifdef TLS
  SSL *ssl;
#endif
  unsigned char header[10];
  unsigned header_fill;
  int opcode;
  int fin;
  int in_payload;
  uint64_t payload_left;
  unsigned prefix_fill;
  unsigned char prefix[PREFIX_BYTES];
  uint64_t messages;
  /* The second message (the first after the acknowledgement): its hash, and its text if it is kept. */
  uint64_t hash;
  uint64_t word;
  unsigned word_fill;
  uint64_t hashed_bytes;
  unsigned char *kept;
  size_t kept_bytes;
  size_t kept_space;
};

static struct connection *connections;
static int connection_count;
static int epoll_fd;
static unsigned char buffer[BUFFER_BYTES];

static int measuring;
static int stamped;
static uint64_t measure_start, measure_end, measured_messages, measured_bytes;
static uint64_t idle_microseconds, last_look;
static uint32_t fine[FINE_MICROSECONDS];
static uint32_t coarse[COARSE_MILLISECONDS];
static uint64_t stamps, worst;

static int subscribing;
static uint64_t subscribe_start, subscribe_duration;
static int subscribe_next;
static uint64_t expected;
static int unsatisfied;

static int counting_total;
static uint64_t quiet_needed, last_arrival, total_messages, total_bytes;
static uint64_t slow_due;
static char *keep_folder;

/* Absent: the only load generator. */
static const char *shared_address;
static int refused_count, ended_count;
static uint64_t first_upgrade, last_upgrade;

static uint64_t now_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static char input[65536];
static size_t input_fill, input_used;

static void die(const char *what);
static void end_connection(struct connection *c, const char *what);
static ssize_t put(struct connection *c, const void *bytes, size_t length);

/*
 * The input's next complete line, without its end, or NULL when there is none yet. Buffered here and not in stdio,
 * whose buffer is invisible to epoll.
 */
static char *next_line(void) {
  char *end = memchr(input + input_used, '\n', input_fill - input_used);
  if (end == NULL) return NULL;
  char *line = input + input_used;
  *end = 0;
  input_used = (size_t)(end - input) + 1;
  return line;
}

static void read_input(void) {
  memmove(input, input + input_used, input_fill - input_used);
  input_fill -= input_used;
  input_used = 0;
  ssize_t count = read(0, input + input_fill, sizeof input - input_fill);
  if (count < 0) die("read");
  if (count == 0) exit(0);
  input_fill += (size_t)count;
}

static char *await_line(void) {
  for (;;) {
    char *line = next_line();
    if (line != NULL) return line;
    read_input();
  }
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void hash_word(struct connection *c, uint64_t word) {
  c->hash = (c->hash ^ word) * 0x9e3779b97f4a7c15ULL;
  c->hash ^= c->hash >> 29;
}

static void hash_bytes(struct connection *c, const unsigned char *bytes, size_t length) {
  c->hashed_bytes += length;
  while (length > 0 && (c->word_fill > 0 || length < 8)) {
    c->word |= (uint64_t)*bytes++ << (8 * c->word_fill++);
    length--;
    if (c->word_fill == 8) {
      hash_word(c, c->word);
      c->word = 0;
      c->word_fill = 0;
    }
  }
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash_word(c, word);
  }
  while (length-- > 0) c->word |= (uint64_t)*bytes++ << (8 * c->word_fill++);
}

static void keep_bytes(struct connection *c, const unsigned char *bytes, size_t length) {
  if (c->kept_bytes + length > c->kept_space) {
    c->kept_space = (c->kept_bytes + length) * 2;
    c->kept = realloc(c->kept, c->kept_space);
    if (c->kept == NULL) die("realloc");
  }
  memcpy(c->kept + c->kept_bytes, bytes, length);
  c->kept_bytes += length;
}

static void note_latency(const unsigned char *text, unsigned length, uint64_t now) {
  static const char mark[] = "\"amount\":\"";
  const unsigned char *at = memmem(text, length, mark, sizeof mark - 1);
  if (at == NULL) return;
  uint64_t stamp = 0;
  for (at += sizeof mark - 1; at < text + length && *at != '"'; at++)
    if (*at != '.') stamp = stamp * 10 + (uint64_t)(*at - '0');
  /* Not stamped: the removed level of a withdrawn book. */
  if (at == text + length || stamp < STAMP_MODULUS) return;
  uint64_t latency = (now + STAMP_MODULUS - stamp % STAMP_MODULUS) % STAMP_MODULUS;
  stamps++;
  if (latency > worst) worst = latency;
  if (latency < FINE_MICROSECONDS) fine[latency]++;
  else coarse[latency / 1000 < COARSE_MILLISECONDS ? latency / 1000 : COARSE_MILLISECONDS - 1]++;
}

static void on_message(struct connection *c, const unsigned char *text, unsigned length, uint64_t now) {
  c->messages++;
  total_messages++;
  if (shared_address != NULL) note_losses(&c->losses, text, length, now);
  if (measuring) {
    measured_messages++;
    if (stamped && c->mode == READS) note_latency(text, length, now);
  }
  if (c->messages == 2) {
    hash_word(c, c->word);
    hash_word(c, c->hashed_bytes);
  }
  if (c->mode == READS && c->messages == expected) unsatisfied--;
}

/* Masked with the key 0. A ping that arrived in parts is not answered: the next one is. */
static void answer_ping(struct connection *c, const unsigned char *bytes, size_t length) {
  unsigned char frame[6 + PING_BYTES_MAX] = {0x8a, (unsigned char)(0x80 | length)};
  memcpy(frame + 6, bytes, length);
  if (put(c, frame, 6 + length) != (ssize_t)(6 + length)) end_connection(c, "a pong was not sent");
}

/* Consumes one frame header. Returns how many of its bytes were available. */
static size_t take_header(struct connection *c, const unsigned char *bytes, size_t length) {
  size_t taken = 0;
  for (;;) {
    unsigned wanted = 2;
    if (c->header_fill >= 2) wanted = c->header[1] == 126 ? 4 : c->header[1] == 127 ? 10 : 2;
    if (c->header_fill == wanted) break;
    if (taken == length) return taken;
    c->header[c->header_fill++] = bytes[taken++];
  }
  c->header_fill = 0;
  c->fin = c->header[0] & 0x80;
  c->opcode = c->header[0] & 0x0f;
  c->payload_left = c->header[1];
  if (c->header[1] == 126) c->payload_left = (uint64_t)c->header[2] << 8 | c->header[3];
  if (c->header[1] == 127) {
    c->payload_left = 0;
    for (int index = 2; index < 10; index++) c->payload_left = c->payload_left << 8 | c->header[index];
  }
  if (c->header[1] > 127) {
    fprintf(stderr, "reader: a masked frame from the server\n");
    exit(1);
  }
  c->in_payload = 1;
  if (c->opcode != 0) c->prefix_fill = 0;
  return taken;
}

static void consume(struct connection *c, const unsigned char *bytes, size_t length, uint64_t now) {
  while (length > 0) {
    if (!c->in_payload) {
      size_t taken = take_header(c, bytes, length);
      bytes += taken;
      length -= taken;
      if (!c->in_payload) return;
    }
    size_t part = length < c->payload_left ? length : (size_t)c->payload_left;
    int whole = part == c->payload_left && c->prefix_fill == 0;
    const unsigned char *text = bytes;
    unsigned text_length = (unsigned)part;
    if (c->opcode < 8) {
      last_arrival = now;
      if (!whole && c->prefix_fill < PREFIX_BYTES) {
        size_t space = PREFIX_BYTES - c->prefix_fill;
        memcpy(c->prefix + c->prefix_fill, bytes, part < space ? part : space);
        c->prefix_fill += (unsigned)(part < space ? part : space);
      }
      if (c->messages == 1) {
        hash_bytes(c, bytes, part);
        if (c->kept != NULL) keep_bytes(c, bytes, part);
      }
    }
    if (!whole) {
      text = c->prefix;
      text_length = c->prefix_fill;
    }
    bytes += part;
    length -= part;
    c->payload_left -= part;
    if (c->payload_left > 0) return;
    c->in_payload = 0;
    if (shared_address != NULL && c->opcode == 9 && whole) {
      answer_ping(c, text, part);
      if (c->mode == ENDED) return;
    }
    if (c->opcode < 8 && c->fin) {
      on_message(c, text, text_length, now);
      c->prefix_fill = 0;
    }
  }
}

static int resumes;
static int resumed_count;

#ifdef TLS
static SSL_CTX *tls;
static SSL_SESSION *session;

static int keep_session(SSL *ssl, SSL_SESSION *newest) {
  (void)ssl;
  if (session != NULL) SSL_SESSION_free(session);
  session = newest;
  return 1;
}

static void start_tls(void) {
  tls = SSL_CTX_new(TLS_client_method());
  if (tls == NULL) die("SSL_CTX_new");
  SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
  /* One recv() per record instead of one for its header and one for its body. */
  SSL_CTX_set_read_ahead(tls, 1);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(tls, keep_session);
}

static int connect_tls(struct connection *c) {
  c->ssl = SSL_new(tls);
  if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1) die("SSL_new");
  if (resumes && session != NULL) {
    /* A copy, because OpenSSL's clients use a session once. */
    SSL_SESSION *copy = SSL_SESSION_dup(session);
    SSL_set_session(c->ssl, copy);
    SSL_SESSION_free(copy);
  }
  if (SSL_connect(c->ssl) != 1) {
    ERR_print_errors_fp(stderr);
    return 0;
  }
  resumed_count += SSL_session_reused(c->ssl);
  return 1;
}

static void disconnect_tls(struct connection *c) {
  SSL_free(c->ssl);
  c->ssl = NULL;
}

static ssize_t receive(struct connection *c, void *bytes, size_t length) {
  int count = SSL_read(c->ssl, bytes, (int)length);
  if (count > 0) return count;
  int error = SSL_get_error(c->ssl, count);
  errno = error == SSL_ERROR_WANT_READ ? EAGAIN : ECONNRESET;
  return -1;
}

static int has_more(struct connection *c) { return SSL_has_pending(c->ssl); }

static ssize_t put(struct connection *c, const void *bytes, size_t length) {
  return SSL_write(c->ssl, bytes, (int)length);
}
#else
static void start_tls(void) {}
static int connect_tls(struct connection *c) { (void)c; return 1; }
static void disconnect_tls(struct connection *c) { (void)c; }
static ssize_t receive(struct connection *c, void *bytes, size_t length) { return recv(c->fd, bytes, length, 0); }
static int has_more(struct connection *c) { (void)c; return 0; }
static ssize_t put(struct connection *c, const void *bytes, size_t length) { return write(c->fd, bytes, length); }
#endif

static void end_connection(struct connection *c, const char *what) {
  if (shared_address == NULL) {
    fprintf(stderr, "reader: %s\n", what);
    exit(1);
  }
  if (subscribing && c->mode == READS && c->messages < expected) unsatisfied--;
  c->mode = ENDED;
  ended_count++;
  disconnect_tls(c);
  close(c->fd);
}

static void read_once(struct connection *c, size_t bytes_max) {
  ssize_t count = receive(c, buffer, bytes_max);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    end_connection(c, "a connection ended");
    return;
  }
  uint64_t now = now_microseconds();
  total_bytes += (uint64_t)count;
  if (measuring) measured_bytes += (uint64_t)count;
  consume(c, buffer, (size_t)count, now);
}

static void read_some(struct connection *c, size_t bytes_max) {
  do read_once(c, bytes_max);
  while (c->mode == READS && has_more(c));
}

static void open_connection(struct connection *c, int port) {
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (c->fd < 0) die("socket");
  int small = SLOW_RECEIVE_BUFFER_BYTES, one = 1;
  if (c->mode != READS) setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (shared_address != NULL) {
    struct sockaddr_in own = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, shared_address, &own.sin_addr) != 1) die(shared_address);
    setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(c->fd, (struct sockaddr *)&own, sizeof own) < 0) die("bind");
  }
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0) die("connect");
}

/* The server did not accept the connection. `answer` has the first `length` bytes that it sent instead. */
static void refuse(struct connection *c, const char *answer, size_t length) {
  if (refused_count++ == 0) fprintf(stderr, "reader: refused: %.*s\n", (int)length, answer);
  end_connection(c, "a connection was refused");
}

static void ask_for_upgrade(struct connection *c) {
  char text[4096];
  int length = snprintf(text, sizeof text,
                        "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
                        c->path, c->token == NULL ? "" : "Authorization: Bearer ", c->token == NULL ? "" : c->token,
                        c->token == NULL ? "" : "\r\n");
  if (length >= (int)sizeof text) die("the token is too long");
  if (put(c, text, (size_t)length) != length) refuse(c, "", 0);
}

/* The server may already have sent frames after its response, such as the first ping. */
static void finish_handshake(struct connection *c) {
  char text[512];
  size_t fill = 0;
  const char *end = NULL;
  if (c->mode == ENDED) return;
  while (end == NULL) {
    ssize_t count = receive(c, text + fill, sizeof text - fill);
    if (count <= 0) return refuse(c, text, fill);
    fill += (size_t)count;
    end = memmem(text, fill, "\r\n\r\n", 4);
  }
  if (fill < 12 || memcmp(text, "HTTP/1.1 101", 12) != 0) return refuse(c, text, fill);
  last_upgrade = now_microseconds();
  if (first_upgrade == 0) first_upgrade = last_upgrade;
  fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
  consume(c, (const unsigned char *)end + 4, (size_t)(text + fill - end - 4), last_upgrade);
  while (c->mode != ENDED && has_more(c)) read_once(c, sizeof buffer);
  if (c->mode != READS) return;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0) die("epoll_ctl");
}

/* A masked text frame (RFC 6455 section 5.3) with the key 0, so that the text stays readable. */
static void send_request(struct connection *c) {
  size_t length = strlen(c->request);
  if (length == 0 || c->mode == ENDED) return;
  unsigned char *frame = malloc(length + 8);
  size_t header = 2;
  frame[0] = 0x81;
  if (length < 126) frame[1] = (unsigned char)(0x80 | length);
  else {
    frame[1] = 0x80 | 126;
    frame[2] = (unsigned char)(length >> 8);
    frame[3] = (unsigned char)length;
    header = 4;
  }
  memset(frame + header, 0, 4);
  memcpy(frame + header + 4, c->request, length);
  if (put(c, frame, header + 4 + length) != (ssize_t)(header + 4 + length)) end_connection(c, "a request was not sent");
  free(frame);
}

static double percentile(double part) {
  uint64_t wanted = (uint64_t)((double)stamps * part), seen = 0;
  for (int index = 0; index < FINE_MICROSECONDS; index++)
    if ((seen += fine[index]) > wanted) return index / 1000.0;
  for (int index = 0; index < COARSE_MILLISECONDS; index++)
    if ((seen += coarse[index]) > wanted) return index;
  return (double)worst / 1000.0;
}

static void report_measurement(uint64_t now) {
  double seconds = (double)(now - measure_start) / 1e6;
  printf("{\"seconds\":%.6f,\"messages\":%llu,\"bytes\":%llu,\"busySeconds\":%.6f,\"stamped\":%llu,\"p50\":%.3f,"
         "\"p99\":%.3f,\"p999\":%.3f,\"worst\":%.3f}\n",
         seconds, (unsigned long long)measured_messages, (unsigned long long)measured_bytes,
         seconds - (double)idle_microseconds / 1e6, (unsigned long long)stamps, percentile(0.5), percentile(0.99), percentile(0.999),
         (double)worst / 1000.0);
  measuring = 0;
}

static int compare_hashes(const void *left, const void *right) {
  uint64_t a = (*(struct connection *const *)left)->hash, b = (*(struct connection *const *)right)->hash;
  return a < b ? -1 : a > b;
}

/* Groups the connections by their second message. A group with a kept text writes it to a file. */
static void report_groups(void) {
  struct connection **sorted = malloc(sizeof *sorted * (size_t)connection_count);
  for (int index = 0; index < connection_count; index++) sorted[index] = &connections[index];
  qsort(sorted, (size_t)connection_count, sizeof *sorted, compare_hashes);
  int groups = 0, kept = 0, covered = 0, missing = 0;
  for (int index = 0; index < connection_count;) {
    int end = index, has_kept = 0;
    for (; end < connection_count && sorted[end]->hash == sorted[index]->hash; end++) {
      struct connection *c = sorted[end];
      if (c->messages < 2) missing++;
      if (c->kept == NULL) continue;
      has_kept = 1;
      char path[512];
      snprintf(path, sizeof path, "%s/%d.json", keep_folder, kept++);
      FILE *file = fopen(path, "w");
      if (file == NULL || fwrite(c->kept, 1, c->kept_bytes, file) != c->kept_bytes) die("keep");
      fclose(file);
    }
    if (has_kept) covered += end - index;
    groups++;
    index = end;
  }
  free(sorted);
  printf("{\"groups\":%d,\"kept\":%d,\"covered\":%d,\"missing\":%d}\n", groups, kept, covered, missing);
}

static void count_heartbeats(uint64_t period) {
  uint64_t now = now_microseconds();
  for (int index = 0; index < connection_count; index++) connections[index].losses.heartbeat_at = now;
  loss_counts.heartbeat_period = period;
}

/* The connections' last heartbeat counts as one that another follows now. */
static void report_losses(unsigned long number) {
  uint64_t now = now_microseconds(), missing = 0;
  int open = 0, subscribed = 0, unfinished = 0;
  for (int index = 0; index < connection_count; index++) {
    const struct connection *c = &connections[index];
    if (c->mode == ENDED) continue;
    open++;
    if (loss_counts.heartbeat_period > 0) note_heartbeat_gap(now - c->losses.heartbeat_at);
    if (c->losses.next == UNKNOWN) continue;
    subscribed++;
    int lacks = (int)((number + NUMBERS - (unsigned long)c->losses.next) % NUMBERS);
    missing += (uint64_t)lacks;
    unfinished += lacks > 0;
  }
  loss_counts.heartbeat_period = 0;
  printf("{\"open\":%d,\"ended\":%d,\"subscribed\":%d,\"unfinished\":%d,\"missing\":%llu,\"messages\":%llu,\"lost\":%llu,"
         "\"merged\":%llu,\"snapshots\":%llu,\"heartbeats\":%llu,\"heartbeatsMissed\":%llu,\"heartbeatGap\":%.3f}\n",
         open, ended_count - refused_count, subscribed, unfinished, (unsigned long long)missing, (unsigned long long)loss_counts.messages,
         (unsigned long long)loss_counts.lost, (unsigned long long)loss_counts.merged,
         (unsigned long long)loss_counts.snapshots, (unsigned long long)loss_counts.heartbeats,
         (unsigned long long)loss_counts.heartbeats_missed, (double)loss_counts.heartbeat_gap / 1000.0);
}

static void take_command(const char *line) {
  unsigned long first = 0, second = 0;
  char folder[512];
  if (sscanf(line, "subscribe %lu %lu", &first, &second) == 2) {
    subscribing = 1;
    subscribe_start = now_microseconds();
    subscribe_duration = first * 1000;
    subscribe_next = 0;
    expected = second;
    unsatisfied = 0;
    for (int index = 0; index < connection_count; index++)
      if (connections[index].mode == READS && connections[index].messages < expected) unsatisfied++;
  } else if (sscanf(line, "keep %lu %511s", &first, folder) == 2) {
    keep_folder = strdup(folder);
    int step = connection_count / (int)first;
    for (int index = 0; index < connection_count; index += step > 0 ? step : 1)
      connections[index].kept = malloc(connections[index].kept_space = 65536);
    printf("{}\n");
  } else if (sscanf(line, "measure %lu %lu", &first, &second) == 2) {
    measuring = 1;
    stamped = (int)second;
    measured_messages = measured_bytes = stamps = worst = 0;
    memset(fine, 0, sizeof fine);
    memset(coarse, 0, sizeof coarse);
    idle_microseconds = 0;
    measure_start = last_look = now_microseconds();
    measure_end = measure_start + first * 1000;
  } else if (sscanf(line, "total %lu", &first) == 1) {
    counting_total = 1;
    quiet_needed = first * 1000;
    last_arrival = now_microseconds();
  } else if (strncmp(line, "groups", 6) == 0) {
    report_groups();
  } else if (strncmp(line, "then ", 5) == 0) {
    for (int index = 0; index < connection_count; index++) {
      free(connections[index].request);
      connections[index].request = strdup(line + 5);
    }
    printf("{}\n");
  } else if (sscanf(line, "heartbeats %lu", &first) == 1) {
    count_heartbeats(first * 1000);
    printf("{}\n");
  } else if (sscanf(line, "losses %lu", &first) == 1) {
    report_losses(first);
  } else {
    fprintf(stderr, "reader: unknown command %s\n", line);
    exit(1);
  }
}

static void take_commands(void) {
  read_input();
  for (char *line = next_line(); line != NULL; line = next_line()) take_command(line);
}

/* The time between two polls counts as idle when the second one found no data. */
static void note_idleness(int found_nothing) {
  uint64_t now = now_microseconds();
  if (found_nothing) idle_microseconds += now - last_look;
  last_look = now;
}

static void tick(void) {
  uint64_t now = now_microseconds();
  if (measuring && now >= measure_end) report_measurement(now);
  if (subscribing) {
    uint64_t due = subscribe_duration == 0 ? (uint64_t)connection_count
                                           : (now - subscribe_start) * (uint64_t)connection_count / subscribe_duration + 1;
    while (subscribe_next < connection_count && (uint64_t)subscribe_next < due)
      send_request(&connections[subscribe_next++]);
    if (subscribe_next == connection_count && unsatisfied <= 0) {
      printf("{\"seconds\":%.6f}\n", (double)(now - subscribe_start) / 1e6);
      subscribing = 0;
    }
  }
  if (counting_total && now - last_arrival >= quiet_needed) {
    printf("{\"messages\":%llu,\"bytes\":%llu}\n", (unsigned long long)total_messages, (unsigned long long)total_bytes);
    counting_total = 0;
  }
  if (now >= slow_due) {
    slow_due = now + SLOW_EVERY_MICROSECONDS;
    for (int index = 0; index < connection_count; index++)
      if (connections[index].mode == READS_SLOWLY) read_some(&connections[index], SLOW_BYTES);
  }
}

/* Reads from the connections and the input that have data. Returns how many there were. */
static int serve_connections(int milliseconds) {
  static struct epoll_event events[256];
  int count = epoll_wait(epoll_fd, events, 256, milliseconds);
  if (measuring) note_idleness(count == 0);
  for (int index = 0; index < count; index++) {
    if (events[index].data.ptr == NULL) take_commands();
    else read_some(events[index].data.ptr, sizeof buffer);
  }
  return count;
}

static void read_lines(int port) {
  connection_count = atoi(await_line());
  connections = calloc((size_t)connection_count, sizeof *connections);
  if (connections == NULL) die("calloc");
  int asked = 0, unfinished = 0;
  for (int index = 0; index < connection_count; index++) {
    char *line = await_line();
    struct connection *c = &connections[index];
    char *path = strchr(line, '\t') + 1;
    char *request = strchr(path, '\t') + 1;
    char *token = strchr(request, '\t');
    path[-1] = request[-1] = 0;
    if (token != NULL) {
      *token = 0;
      c->token = strdup(token + 1);
    }
    c->losses.next = UNKNOWN;
    c->path = strdup(path);
    c->mode = atoi(line);
    c->request = strdup(request);
    /*
     * Many at once, because each waits for a server tick. The slow ones go one by one, because they have to be first,
     * and so does the one whose session the others resume.
     */
    int alone = c->mode != READS || (resumes && index == 0);
    if (!alone && index - unfinished + 1 < HANDSHAKES_AT_ONCE && index + 1 < connection_count) continue;
    for (; asked <= index; asked++) {
      /* Not earlier: a server cuts a connection that waits for seconds with its TLS handshake. */
      open_connection(&connections[asked], port);
      if (connect_tls(&connections[asked])) ask_for_upgrade(&connections[asked]);
      else refuse(&connections[asked], "", 0);
    }
    while (unfinished <= index) finish_handshake(&connections[unfinished++]);
    while (serve_connections(0) > 0) {
    }
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  resumes = argc > 2 && strcmp(argv[2], "resume") == 0;
  if (argc > 3 && strcmp(argv[2], "shared") == 0) shared_address = argv[3];
  /* A write to a connection that the server has closed fails instead. */
  signal(SIGPIPE, SIG_IGN);
  start_tls();
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  setvbuf(stdout, NULL, _IOLBF, 0);
  epoll_fd = epoll_create1(0);
  if (epoll_fd < 0) die("epoll_create1");
  read_lines(atoi(argv[1]));
  struct epoll_event commands = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &commands) < 0) die("epoll_ctl");
  printf("{\"connected\":%d,\"resumed\":%d,\"refused\":%d,\"first\":%llu,\"last\":%llu}\n",
         connection_count - refused_count, resumed_count, refused_count, (unsigned long long)first_upgrade,
         (unsigned long long)last_upgrade);
  for (;;) {
    /*
     * While it measures it does not sleep. A server would pay for waking it with every write, which it does not for
     * clients on other machines, and a slow server more often than a fast one.
     */
    serve_connections(measuring && shared_address == NULL ? 0 : subscribing ? 1 : 10);
    tick();
  }
}
