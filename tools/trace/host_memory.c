/* SPDX-License-Identifier: MIT */
/* Linux's files tell: what is resident is what counts where a process is ended for its memory. */
#include "trace/host_memory.h"

#include "trace/error.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* The limit of the control group, as it looks from inside of it, in version 2 and 1. */
static const char *const group_limits[] = {"/sys/fs/cgroup/memory.max",
                                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

typedef struct short_text {
  char text[128];
} short_text;

/* How a file begins; without one, empty. Needs no memory of malloc's. */
static short_text read_text(const char *path)
{
  short_text begin = {""};
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return begin;
  ssize_t length = read(descriptor, begin.text, sizeof(begin.text) - 1);
  begin.text[length > 0 ? length : 0] = '\0';
  close(descriptor);
  return begin;
}

size_t trace_host_memory_used(void)
{
  long page = sysconf(_SC_PAGESIZE);
  uint64_t pages;
  if (page <= 0 || sscanf(read_text("/proc/self/statm").text, "%*u %" SCNu64, &pages) != 1)
    return 0;
  return (size_t)pages * (size_t)page;
}

size_t trace_host_memory_usual(void)
{
  long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
  uint64_t least = page > 0 && pages > 0 ? (uint64_t)page * (uint64_t)pages : 0;
  for (size_t i = 0; i < sizeof(group_limits) / sizeof(group_limits[0]); i++) {
    uint64_t limit; /* "max": none */
    if (sscanf(read_text(group_limits[i]).text, "%" SCNu64, &limit) == 1 &&
        (least == 0 || limit < least))
      least = limit;
  }
  return least / 2 > SIZE_MAX ? SIZE_MAX : (size_t)(least / 2);
}

void trace_host_memory_trim(void)
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

trace_host_memory_bound trace_host_memory_begin(size_t bytes, size_t (*used)(void))
{
  trace_host_memory_bound bound = {.bytes = bytes, .used = used ? used : trace_host_memory_used};
  bound.before = bytes > 0 ? bound.used() : 0;
  return bound;
}

static bool is_over(const trace_host_memory_bound *bound)
{
  if (bound->bytes == 0)
    return false;
  size_t used = bound->used();
  return used > bound->before && used - bound->before > bound->bytes;
}

clp_status trace_host_memory_check(const trace_host_memory_bound *bound, const char *trace,
                                   uint64_t line, const char *what)
{
  if (!is_over(bound))
    return CLP_SUCCESS;
  return trace_error(CLP_LIMIT_EXCEEDED, 0,
                     "%s:%" PRIu64 ": %zu bytes of host memory are not enough for %s", trace, line,
                     bound->bytes, what);
}
