/* SPDX-License-Identifier: MIT */
/* What all calls have in common: the lock, what is counted, what fails on purpose, and what the
 * caller does wrong. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAILURES = 8, FIRST_VERSION = 12080, NAME_BYTES = 64 };

/* Calls that shall fail. */
typedef struct planned_failure {
  int call; /* -1: any that takes or waits */
  CUresult result;
  unsigned after, times; /* times 0: for ever */
} planned_failure;

#define FUNCTION_ENTRY(name, suffix, version, parameters)                                          \
  {#name, version, (void (*)(void))name##suffix},
const fake_function fake_functions[FAKE_CALLS] = {FAKECUDA_FUNCTIONS(FUNCTION_ENTRY)};
#undef FUNCTION_ENTRY

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_progress = PTHREAD_COND_INITIALIZER;
int fake_version = FIRST_VERSION;
bool fake_initialized;
fakecuda_defect fake_defect;
_Thread_local bool fake_in_host_function;

static planned_failure failures[MOST_FAILURES];
static size_t failure_count;
static unsigned long calls[FAKE_CALLS];
static const char *last_failed;
static void (*on_violation)(const char *what);
static char hidden[NAME_BYTES];

void *fake_new(size_t bytes)
{
  void *memory = calloc(1, bytes);
  if (!memory)
    abort();
  return memory;
}

void fake_leave(pthread_mutex_t *const *lock)
{
  pthread_mutex_unlock(*lock);
}

static void lock(void)
{
  pthread_mutex_lock(&fake_lock);
}

static void unlock(void)
{
  pthread_mutex_unlock(&fake_lock);
}

/* A child that a test forks finds no lock of a stream's thread taken. */
__attribute__((constructor)) static void prepare_for_forks(void)
{
  pthread_atfork(lock, unlock, unlock);
}

CUresult fake_violation_locked(CUresult code, const char *format, ...)
{
  char what[256];
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (!on_violation) {
    (void)fprintf(stderr, "fakecuda: %s\n", what);
    abort();
  }
  on_violation(what);
  return code;
}

/* --- failures on demand --- */

/* Where these fail, their caller can only leak or do without: they fail by name alone. */
static bool gives_back(fake_call call)
{
  return call == FAKE_cuGetErrorName || call == FAKE_cuCtxPopCurrent || call == FAKE_cuCtxDestroy ||
         call == FAKE_cuDevicePrimaryCtxRelease || call == FAKE_cuEventDestroy ||
         call == FAKE_cuMemFree || call == FAKE_cuStreamDestroy ||
         call == FAKE_cuThreadExchangeStreamCaptureMode;
}

static CUresult next_failure_locked(fake_call call)
{
  for (planned_failure *it = failures; it < failures + failure_count; it++) {
    if (it->call < 0 ? gives_back(call) : it->call != (int)call)
      continue;
    if (it->after > 0) {
      it->after--;
      continue;
    }
    CUresult result = it->result;
    last_failed = fake_functions[call].name;
    if (it->times > 0 && --it->times == 0)
      *it = failures[--failure_count];
    return result;
  }
  return CLPI_CUDA_SUCCESS;
}

static int call_of(const char *name)
{
  for (int i = 0; name && i < FAKE_CALLS; i++)
    if (strcmp(fake_functions[i].name, name) == 0)
      return i;
  if (name) {
    (void)fprintf(stderr, "fakecuda: there is no function %s\n", name);
    abort();
  }
  return -1;
}

void fakecuda_fail(const char *function, int result, unsigned after, unsigned times)
{
  int call = call_of(function);
  FAKE_LOCK;
  if (result && failure_count == MOST_FAILURES)
    abort();
  for (size_t i = failure_count; !result && i-- > 0;)
    if (failures[i].call == call)
      failures[i] = failures[--failure_count];
  if (!result)
    return;
  failures[failure_count++] = (planned_failure){call, result, after, times};
  last_failed = NULL;
}

const char *fakecuda_failed(void)
{
  FAKE_LOCK;
  return last_failed;
}

/* --- the beginning of a call --- */

static bool works_before_init(fake_call call)
{
  return call == FAKE_cuInit || call == FAKE_cuDriverGetVersion || call == FAKE_cuGetErrorName ||
         call == FAKE_cuGetProcAddress;
}

/* What CUDA forbids while a stream is captured, but for threads whose mode allows it. */
static bool is_unsafe(fake_call call)
{
  return call == FAKE_cuEventQuery || call == FAKE_cuEventSynchronize ||
         call == FAKE_cuStreamQuery || call == FAKE_cuStreamSynchronize ||
         call == FAKE_cuMemAlloc || call == FAKE_cuMemFree || call == FAKE_cuMemFreeAsync;
}

CUresult fake_begin_call_locked(fake_call call)
{
  const fake_function *function = &fake_functions[call];
  calls[call]++;
  if (fake_in_host_function)
    return fake_violation_locked(CLPI_CUDA_NOT_PERMITTED, "%s inside of a host function",
                                 function->name);
  if (function->version > fake_version)
    return fake_violation_locked(CLPI_CUDA_NOT_SUPPORTED, "%s, which CUDA %d.%d does not have",
                                 function->name, fake_version / 1000, fake_version % 1000 / 10);
  if (!fake_initialized && !works_before_init(call))
    return CLPI_CUDA_NOT_INITIALIZED;
  CUresult refused = is_unsafe(call) ? fake_unsafe_locked() : CLPI_CUDA_SUCCESS;
  return refused ? refused : next_failure_locked(call);
}

/* --- what tests ask and set --- */

unsigned long fakecuda_calls(const char *function)
{
  int call = call_of(function);
  unsigned long count = 0;
  FAKE_LOCK;
  for (int i = 0; i < FAKE_CALLS; i++)
    count += call < 0 || call == i ? calls[i] : 0;
  return count;
}

void fakecuda_on_violation(void (*handler)(const char *what))
{
  FAKE_LOCK;
  on_violation = handler;
}

void fakecuda_set_defect(fakecuda_defect defect)
{
  FAKE_LOCK;
  fake_defect = defect;
}

void fakecuda_set_version(int version)
{
  FAKE_LOCK;
  fake_version = version;
}

void fakecuda_hide(const char *function)
{
  FAKE_LOCK;
  (void)snprintf(hidden, sizeof(hidden), "%s", function ? function : "");
}

bool fake_is_hidden_locked(const char *name)
{
  return strcmp(hidden, name) == 0;
}

/* What streams wait for was given before, so that they get there. */
void fakecuda_reset(void)
{
  FAKE_LOCK;
  fake_streams_finish_locked();
  fake_segments_reset_locked();
  fake_events_reset_locked();
  fake_capture_reset_locked();
  fake_streams_reset_locked();
  fake_mempools_reset_locked();
  fake_contexts_reset_locked();
  fake_devices_reset_locked();
  memset(calls, 0, sizeof(calls));
  failure_count = 0;
  hidden[0] = '\0';
  fake_version = FIRST_VERSION;
  on_violation = NULL;
}
