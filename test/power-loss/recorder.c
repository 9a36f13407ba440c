/*
 * Preloaded into a process (LD_PRELOAD), this library writes every change that the process makes below RECORD_ROOT to
 * the file RECORD_LOG, in order and with its data: a header, a text, the data. access("/RECORD text") writes a mark. An
 * unknown kind of change ends the process, so that no run is evaluated with an incomplete recording.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536
#define MARK "/RECORD "

struct header {
  uint8_t kind;
  uint8_t unused[3];
  int32_t descriptor;
  int32_t flags;
  uint32_t text_bytes;
  int64_t offset;
  uint64_t data_bytes;
};

static unsigned char recorded[DESCRIPTORS_MAX];
static int log_descriptor = -1;
static const char *root;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void prepare(void) {
  static int is_prepared;
  if (is_prepared) return;
  is_prepared = 1;
  root = getenv("RECORD_ROOT");
  const char *file = getenv("RECORD_LOG");
  int (*real_open)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
  if (!root || !file) root = NULL;
  else log_descriptor = real_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int is_inside(const char *path) {
  prepare();
  size_t length = root ? strlen(root) : 0;
  return root && !strncmp(path, root, length) && (path[length] == 0 || path[length] == '/');
}

static int is_recorded(int descriptor) {
  prepare();
  return descriptor >= 0 && descriptor < DESCRIPTORS_MAX && recorded[descriptor];
}

static void give_up(const char *what) {
  fprintf(stderr, "recorder: %s\n", what);
  _exit(96);
}

static void record(char kind, int descriptor, int flags, const char *text, int64_t offset, const void *data, uint64_t bytes) {
  ssize_t (*real_writev)(int, const struct iovec *, int) =
      (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
  struct header header = {(uint8_t)kind, {0}, descriptor, flags, text ? (uint32_t)strlen(text) : 0, offset, data ? bytes : 0};
  struct iovec parts[3] = {
      {&header, sizeof header}, {(void *)text, header.text_bytes}, {(void *)data, header.data_bytes}};
  ssize_t whole = (ssize_t)(sizeof header + header.text_bytes + header.data_bytes);
  if (real_writev(log_descriptor, parts, 3) != whole) give_up("the log is full");
}

#define LOCKED(call, succeeded, recording) \
  pthread_mutex_lock(&lock); \
  __typeof__(call) result = call; \
  int error = errno; \
  if (succeeded) recording; \
  pthread_mutex_unlock(&lock); \
  errno = error; \
  return result

static int open_recorded(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  if (!is_inside(path)) return real(path, flags, mode);
  LOCKED(real(path, flags, mode), result >= 0 && result < DESCRIPTORS_MAX, {
    recorded[result] = 1;
    record('O', result, flags, path, 0, NULL, 0);
  });
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_recorded(real, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  REAL(open);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open_recorded(real, path, flags, mode);
}

int close(int descriptor) {
  REAL(close);
  if (!is_recorded(descriptor)) return real(descriptor);
  recorded[descriptor] = 0;
  LOCKED(real(descriptor), 1, record('C', descriptor, 0, NULL, 0, NULL, 0));
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t offset) {
  REAL(pwrite64);
  if (!is_recorded(descriptor)) return real(descriptor, data, bytes, offset);
  LOCKED(real(descriptor, data, bytes, offset), result > 0, record('W', descriptor, 0, NULL, offset, data, (uint64_t)result));
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  REAL(write);
  if (!is_recorded(descriptor)) return real(descriptor, data, bytes);
  int is_append = fcntl(descriptor, F_GETFL) & O_APPEND;
  off_t offset = lseek(descriptor, 0, is_append ? SEEK_END : SEEK_CUR);
  LOCKED(real(descriptor, data, bytes), result > 0, record('W', descriptor, 0, NULL, offset, data, (uint64_t)result));
}

int ftruncate64(int descriptor, off64_t bytes) {
  REAL(ftruncate64);
  if (!is_recorded(descriptor)) return real(descriptor, bytes);
  LOCKED(real(descriptor, bytes), result == 0, record('T', descriptor, 0, NULL, bytes, NULL, 0));
}

int fsync(int descriptor) {
  REAL(fsync);
  if (!is_recorded(descriptor)) return real(descriptor);
  LOCKED(real(descriptor), result == 0, record('S', descriptor, 0, NULL, 0, NULL, 0));
}

int fdatasync(int descriptor) {
  REAL(fdatasync);
  if (!is_recorded(descriptor)) return real(descriptor);
  LOCKED(real(descriptor), result == 0, record('S', descriptor, 0, NULL, 0, NULL, 0));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  if (!is_inside(from) && !is_inside(to)) return real(from, to);
  LOCKED(real(from, to), result == 0, record('R', 0, 0, from, 0, to, strlen(to)));
}

int unlink(const char *path) {
  REAL(unlink);
  if (!is_inside(path)) return real(path);
  LOCKED(real(path), result == 0, record('U', 0, 0, path, 0, NULL, 0));
}

int rmdir(const char *path) {
  REAL(rmdir);
  if (!is_inside(path)) return real(path);
  LOCKED(real(path), result == 0, record('U', 0, 0, path, 0, NULL, 0));
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  if (!is_inside(path)) return real(path, mode);
  LOCKED(real(path, mode), result == 0, record('D', 0, 0, path, 0, NULL, 0));
}

int access(const char *path, int mode) {
  REAL(access);
  prepare();
  if (strncmp(path, MARK, strlen(MARK))) return real(path, mode);
  if (log_descriptor >= 0) {
    pthread_mutex_lock(&lock);
    record('M', 0, 0, path + strlen(MARK), 0, NULL, 0);
    pthread_mutex_unlock(&lock);
  }
  errno = ENOENT;
  return -1;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  REAL(writev);
  if (is_recorded(descriptor)) give_up("writev");
  return real(descriptor, parts, count);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
  REAL(pwritev64);
  if (is_recorded(descriptor)) give_up("pwritev");
  return real(descriptor, parts, count, offset);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t bytes) {
  ssize_t (*real)(int, int, off64_t *, size_t) = (ssize_t (*)(int, int, off64_t *, size_t))dlsym(RTLD_NEXT, "sendfile64");
  if (is_recorded(to)) give_up("sendfile");
  return real(to, from, offset, bytes);
}

ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t bytes, unsigned flags) {
  ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned) =
      (ssize_t (*)(int, off64_t *, int, off64_t *, size_t, unsigned))dlsym(RTLD_NEXT, "copy_file_range");
  if (is_recorded(to)) give_up("copy_file_range");
  return real(from, from_offset, to, to_offset, bytes, flags);
}

int link(const char *from, const char *to) {
  REAL(link);
  if (is_inside(from) || is_inside(to)) give_up("link");
  return real(from, to);
}

int symlink(const char *target, const char *path) {
  REAL(symlink);
  if (is_inside(path)) give_up("symlink");
  return real(target, path);
}
