/* SPDX-License-Identifier: MIT */
/* Host memory that fails on purpose: what the linker puts in place of libc's functions. */
#include "failmalloc.h"

#include "suite.h"

#include <errno.h>
#include <stddef.h>

static _Thread_local struct {
  bool armed, failed;
  clpt_host_failure failure;
  unsigned long nth, calls;
  long live;
} host;

/* The text of a thread's last error takes host memory once, until the thread ends. */
static void keep_last_error(void)
{
  const clp_error *last = clp_last_error();
  (void)clp_set_last_error(last->status, last->native_code, last->message);
}

void clpt_host_start(clpt_host_failure failure, unsigned long nth)
{
  if (failure != CLPT_HOST_STAYS_OUT)
    keep_last_error();
  host.failure = failure;
  host.nth = nth;
  host.calls = 0;
  host.failed = false;
  host.armed = true;
}

void clpt_host_count(bool counts)
{
  host.armed = counts;
}

unsigned long clpt_host_stop(void)
{
  host.armed = false;
  return host.calls;
}

long clpt_host_live(void)
{
  return host.live;
}

bool clpt_host_failed(void)
{
  return host.failed;
}

enum { EACH = 50 };

void clpt_host_fail_next(clpt_host_failures *each)
{
  each->live = clpt_host_live();
  clpt_host_start(CLPT_HOST_FAILS_ONCE, each->nth);
}

void clpt_host_check(clpt_host_failures *each, clp_status status)
{
  (void)clpt_host_stop();
  bool has_failed = clpt_host_failed();
  if (has_failed && (status || !each->may_do_without)) {
    ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(clpt_host_live(), each->live);
  } else {
    ck_assert_int_eq(status, CLP_SUCCESS);
  }
  each->count += has_failed;
  each->nth += each->stride && each->nth >= EACH ? each->stride : 1;
  each->is_over = !has_failed;
}

/* Counts a block, if it is one. */
static void *kept(void *block)
{
  host.live += host.armed && block != NULL;
  return block;
}

/* Counts a call; whether it fails. */
static bool fails(void)
{
  unsigned long call = host.calls;
  bool failing = host.armed && ((host.failure == CLPT_HOST_FAILS_ONCE && call == host.nth) ||
                                (host.failure == CLPT_HOST_STAYS_OUT && call >= host.nth));
  host.calls += host.armed;
  if (failing) {
    host.failed = true;
    errno = ENOMEM;
  }
  return failing;
}

/* The linker's names: a call to malloc becomes __wrap_malloc, __real_malloc is libc's. */
#define WRAPPED(type, name, ...)                                                                   \
  type __real_##name(__VA_ARGS__);                                                                 \
  type __wrap_##name(__VA_ARGS__);                                                                 \
  type __wrap_##name(__VA_ARGS__)
#define NEW(type, name, parameters, arguments)                                                     \
  type __real_##name parameters;                                                                   \
  type __wrap_##name parameters;                                                                   \
  type __wrap_##name parameters                                                                    \
  {                                                                                                \
    return fails() ? NULL : kept(__real_##name arguments);                                         \
  }
NEW(void *, malloc, (size_t bytes), (bytes))
NEW(void *, calloc, (size_t count, size_t bytes), (count, bytes))
NEW(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))
NEW(char *, strdup, (const char *text), (text))

WRAPPED(void *, realloc, void *block, size_t bytes)
{
  void *moved = fails() ? NULL : __real_realloc(block, bytes);
  return block == NULL ? kept(moved) : moved;
}

WRAPPED(void *, reallocarray, void *block, size_t count, size_t bytes)
{
  void *moved = fails() ? NULL : __real_reallocarray(block, count, bytes);
  return block == NULL ? kept(moved) : moved;
}

WRAPPED(int, posix_memalign, void **out, size_t alignment, size_t bytes)
{
  int code = fails() ? ENOMEM : __real_posix_memalign(out, alignment, bytes);
  (void)kept(code == 0 ? *out : NULL);
  return code;
}

WRAPPED(void, free, void *block)
{
  host.live -= host.armed && block != NULL;
  __real_free(block);
}
