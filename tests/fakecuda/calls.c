/* SPDX-License-Identifier: MIT */
/* What all calls have in common: the lock, what is counted, what fails on purpose, and what the
 * caller does wrong. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAILURES = 32, FIRST_VERSION = 12080, NAME_BYTES = 64 };

/* Calls that shall fail. */
typedef struct planned_failure {
  int call; /* -1: any that takes or waits */
  CUresult result;
  unsigned after, times; /* times 0: for ever */
} planned_failure;

#define FUNCTION_ENTRY(name, suffix, version, parameters)                                          \
  {#name, #name #suffix, version, (void (*)(void))name##suffix},
const fake_function fake_functions[FAKE_CALLS] = {FAKECUDA_FUNCTIONS(FUNCTION_ENTRY)};
#undef FUNCTION_ENTRY

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_progress = PTHREAD_COND_INITIALIZER;
int fake_version = FIRST_VERSION;
bool fake_initialized;
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

  if (memory == NULL)
    abort();
  return memory;
}

void fake_lock_it(void)
{
  pthread_mutex_lock(&fake_lock);
}

void fake_unlock_it(void)
{
  pthread_mutex_unlock(&fake_lock);
}

CUresult fake_violation_locked(CUresult code, const char *format, ...)
{
  char what[256];
  va_list arguments;

  va_start(arguments, format);
  (void)vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (on_violation == NULL) {
    (void)fprintf(stderr, "fakecuda: %s\n", what);
    abort();
  }
  on_violation(what);
  return code;
}

/* --- failures on demand --- */

/* What gives back does not fail unless it is asked for by name: its caller could only leak, or,
 * with the thread's mode, do without. */
static bool gives_back(fake_call call)
{
  switch (call) {
  case FAKE_cuGetErrorName:
  case FAKE_cuCtxPopCurrent:
  case FAKE_cuCtxDestroy:
  case FAKE_cuDevicePrimaryCtxRelease:
  case FAKE_cuEventDestroy:
  case FAKE_cuMemFree:
  case FAKE_cuStreamDestroy:
  case FAKE_cuThreadExchangeStreamCaptureMode:
    return true;
  default:
    return false;
  }
}

static bool concerns(const planned_failure *failure, fake_call call)
{
  return failure->call < 0 ? !gives_back(call) : failure->call == (int)call;
}

static void forget_locked(size_t i)
{
  failure_count--;
  memmove(&failures[i], &failures[i + 1], (failure_count - i) * sizeof(failures[0]));
}

static CUresult next_failure_locked(fake_call call)
{
  for (size_t i = 0; i < failure_count; i++) {
    planned_failure *failure = &failures[i];
    CUresult result = failure->result;

    if (!concerns(failure, call))
      continue;
    if (failure->after > 0) {
      failure->after--;
      continue;
    }
    if (failure->times > 0 && --failure->times == 0)
      forget_locked(i);
    last_failed = fake_functions[call].name;
    return result;
  }
  return CLPI_CUDA_SUCCESS;
}

static int call_of(const char *name)
{
  for (int i = 0; name != NULL && i < FAKE_CALLS; i++)
    if (strcmp(fake_functions[i].name, name) == 0 || strcmp(fake_functions[i].symbol, name) == 0)
      return i;
  if (name != NULL) {
    (void)fprintf(stderr, "fakecuda: there is no function %s\n", name);
    abort();
  }
  return -1;
}

void fakecuda_fail(const char *function, int result, unsigned after, unsigned times)
{
  int call = call_of(function);

  fake_lock_it();
  if (result == CLPI_CUDA_SUCCESS) {
    for (size_t i = failure_count; i-- > 0;)
      if (failures[i].call == call)
        forget_locked(i);
  } else if (failure_count < MOST_FAILURES) {
    failures[failure_count++] = (planned_failure){call, result, after, times};
    last_failed = NULL;
  } else {
    abort();
  }
  fake_unlock_it();
}

const char *fakecuda_failed(void)
{
  fake_lock_it();
  const char *name = last_failed;
  fake_unlock_it();
  return name;
}

/* --- the beginning and the end of a call --- */

static bool works_before_init(fake_call call)
{
  return call == FAKE_cuInit || call == FAKE_cuDriverGetVersion || call == FAKE_cuGetErrorName ||
         call == FAKE_cuGetProcAddress;
}

/* What CUDA forbids while a stream is captured, but for threads whose mode allows it. */
static bool is_unsafe(fake_call call)
{
  switch (call) {
  case FAKE_cuEventQuery:
  case FAKE_cuEventSynchronize:
  case FAKE_cuStreamQuery:
  case FAKE_cuStreamSynchronize:
  case FAKE_cuMemAlloc:
  case FAKE_cuMemFree:
    return true;
  default:
    return false;
  }
}

CUresult fake_enter(fake_call call)
{
  const fake_function *function = &fake_functions[call];

  fake_lock_it();
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
  return refused != CLPI_CUDA_SUCCESS ? refused : next_failure_locked(call);
}

CUresult fake_leave(CUresult code)
{
  fake_unlock_it();
  return code;
}

/* --- what tests ask and set --- */

unsigned long fakecuda_calls(const char *function)
{
  int call = call_of(function);
  unsigned long count = 0;

  fake_lock_it();
  for (int i = 0; i < FAKE_CALLS; i++)
    count += call < 0 || call == i ? calls[i] : 0;
  fake_unlock_it();
  return count;
}

void fakecuda_on_violation(void (*handler)(const char *what))
{
  fake_lock_it();
  on_violation = handler;
  fake_unlock_it();
}

void fakecuda_set_version(int version)
{
  fake_lock_it();
  fake_version = version;
  fake_unlock_it();
}

void fakecuda_hide(const char *function)
{
  fake_lock_it();
  (void)snprintf(hidden, sizeof(hidden), "%s", function != NULL ? function : "");
  fake_unlock_it();
}

bool fake_is_hidden_locked(const char *name)
{
  return strcmp(hidden, name) == 0;
}

void fake_calls_reset_locked(void)
{
  memset(calls, 0, sizeof(calls));
  failure_count = 0;
  hidden[0] = '\0';
  fake_version = FIRST_VERSION;
  on_violation = NULL;
}
