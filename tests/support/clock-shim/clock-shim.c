/*
 * A wall clock that a test can step, for one process at a time and without touching the machine's.
 *
 * Preloaded (LD_PRELOAD), it answers clock_gettime, gettimeofday and time with the kernel's wall clock plus an offset, a
 * 64-bit number of milliseconds in the file that TENURE_CLOCK_OFFSET_FILE names. The file is mapped, so whoever writes
 * to it steps the clock at once. Clocks other than the wall clock, which no administrator can set, stay as they are.
 *
 * It calls the kernel directly and allocates nothing: an allocator may ask for the time while it is being set up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t *offset_ms;

/* A test whose clock cannot be stepped would pass for nothing. */
static void give_up(const char *why) {
  if (write(STDERR_FILENO, why, strlen(why)) < 0) _exit(126);
  _exit(127);
}

__attribute__((constructor)) static void map_offset(void) {
  const char *path = getenv("TENURE_CLOCK_OFFSET_FILE");
  if (path == NULL) give_up("clock shim: TENURE_CLOCK_OFFSET_FILE is not set\n");
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) give_up("clock shim: the file of the offset cannot be opened\n");
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) give_up("clock shim: the file of the offset cannot be mapped\n");
  offset_ms = page;
}

static void shift(struct timespec *now) {
  /* Whatever was set up before this library may ask before its constructor ran. */
  if (offset_ms == NULL) map_offset();
  int64_t by_ms = __atomic_load_n(offset_ms, __ATOMIC_RELAXED);
  now->tv_sec += by_ms / 1000;
  now->tv_nsec += by_ms % 1000 * 1000000;
  if (now->tv_nsec < 0) {
    now->tv_nsec += 1000000000;
    now->tv_sec -= 1;
  } else if (now->tv_nsec >= 1000000000) {
    now->tv_nsec -= 1000000000;
    now->tv_sec += 1;
  }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) shift(now);
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  if (zone != NULL) memset(zone, 0, sizeof(struct timezone));
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (seconds != NULL) *seconds = exact.tv_sec;
  return exact.tv_sec;
}
