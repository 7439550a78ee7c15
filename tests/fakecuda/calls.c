/* SPDX-License-Identifier: MIT */
/* What all calls have in common: the lock, what is counted, what fails on purpose, and what the
 * caller does wrong; and finding functions by name. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  const char *name; /* without the suffix */
  int version;
  void (*address)(void);
} entry;

#define FUNCTION_ENTRY(name, suffix, version, parameters)                                          \
  {#name, version, (void (*)(void))name##suffix},
static const entry functions[FAKE_CALLS] = {FAKECUDA_FUNCTIONS(FUNCTION_ENTRY)};

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_progress = PTHREAD_COND_INITIALIZER;
fakecuda_features fakecuda_has;
bool fake_initialized;
_Thread_local bool fake_in_host_function;

static unsigned long calls[FAKE_CALLS];
static const char *last_failed;

/* Calls that shall fail. */
static struct {
  int call;              /* -1: any that takes or waits */
  CUresult result;       /* CLPI_CUDA_SUCCESS: none shall */
  unsigned after, times; /* times 0: for ever */
} failure;

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

static void set_up(void)
{
  fakecuda_has = (fakecuda_features){
      .version = 12080, .devices = 2, .bytes = (size_t)1 << 30, .host_numa = true, .peers = true};
  for (int i = 0; i < FAKECUDA_MOST_DEVICES; i++) {
    fakecuda_has.mempools[i] = true;
    fakecuda_has.handle_types[i] = CLPI_CUDA_HANDLE_POSIX_FD;
  }
}

/* A child that a test forks finds no lock of a stream's thread taken. */
__attribute__((constructor)) static void begin(void)
{
  pthread_atfork(lock, unlock, unlock);
  set_up();
}

CUresult fake_wrong(CUresult code, const char *format, ...)
{
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  if (!fakecuda_has.on_violation) {
    (void)fprintf(stderr, "fakecuda: %s\n", what);
    abort();
  }
  fakecuda_has.on_violation(what);
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
  CUresult result = failure.result;
  if (!result || (failure.call < 0 ? gives_back(call) : failure.call != (int)call))
    return CLPI_CUDA_SUCCESS;
  if (failure.after > 0) {
    failure.after--;
    return CLPI_CUDA_SUCCESS;
  }
  last_failed = functions[call].name;
  if (failure.times > 0 && --failure.times == 0)
    failure.result = CLPI_CUDA_SUCCESS;
  return result;
}

static int call_of(const char *name)
{
  for (int i = 0; name && i < FAKE_CALLS; i++)
    if (strcmp(functions[i].name, name) == 0)
      return i;
  if (name)
    abort(); /* there is no such function */
  return -1;
}

void fakecuda_fail(const char *function, int result, unsigned after, unsigned times)
{
  FAKE_LOCK;
  failure.call = call_of(function);
  failure.result = result;
  failure.after = after;
  failure.times = times;
  last_failed = result ? NULL : last_failed;
}

const char *fakecuda_failed(void)
{
  FAKE_LOCK;
  return last_failed;
}

unsigned long fakecuda_calls(const char *function)
{
  int call = call_of(function);
  unsigned long count = 0;
  FAKE_LOCK;
  for (int i = 0; i < FAKE_CALLS; i++)
    count += call < 0 || call == i ? calls[i] : 0;
  return count;
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
         call == FAKE_cuStreamSynchronize || call == FAKE_cuMemAlloc || call == FAKE_cuMemFree ||
         call == FAKE_cuMemFreeAsync;
}

CUresult fake_begin_call_locked(fake_call call)
{
  CUresult code = CLPI_CUDA_SUCCESS;
  calls[call]++;
  if (fake_in_host_function)
    return fake_wrong(CLPI_CUDA_NOT_PERMITTED, "%s inside of a host function",
                      functions[call].name);
  if (functions[call].version > fakecuda_has.version)
    return fake_wrong(CLPI_CUDA_NOT_SUPPORTED, "%s, which CUDA %d does not have",
                      functions[call].name, fakecuda_has.version);
  if (!fake_initialized && !works_before_init(call))
    return CLPI_CUDA_NOT_INITIALIZED;
  if (is_unsafe(call))
    code = fake_end_captures_locked(NULL);
  return code ? code : next_failure_locked(call);
}

/* What streams wait for was given before, so that they get there. */
void fakecuda_reset(void)
{
  FAKE_LOCK;
  fake_streams_finish_locked();
  fake_memory_reset_locked();
  fake_streams_reset_locked();
  fake_mempools_reset_locked();
  fake_contexts_reset_locked();
  memset(fake_devices, 0, sizeof(fake_devices));
  memset(calls, 0, sizeof(calls));
  failure.result = CLPI_CUDA_SUCCESS;
  set_up();
}

/* --- functions by name --- */

enum { LEGACY_STREAM = 1 }; /* CU_GET_PROC_ADDRESS_LEGACY_STREAM */
enum { FOUND = 0, NOT_FOUND = 1, VERSION_NOT_SUFFICIENT = 2 }; /* CUdriverProcAddressQueryResult */

CUresult cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags,
                          clpi_cuda_symbol_status *status)
{
  FAKE_ENTER(cuGetProcAddress);
  if (flags != LEGACY_STREAM)
    return fake_wrong(CLPI_CUDA_INVALID_VALUE, "functions with other default streams");
  *address = NULL;
  *status = NOT_FOUND;
  for (const entry *it = functions; it < functions + FAKE_CALLS; it++) {
    if (strcmp(it->name, symbol) != 0 ||
        (fakecuda_has.hidden && strcmp(symbol, fakecuda_has.hidden) == 0))
      continue;
    bool is_known = it->version <= version && it->version <= fakecuda_has.version;
    *status = is_known ? FOUND : VERSION_NOT_SUFFICIENT;
    if (is_known)
      memcpy(address, &it->address, sizeof(*address)); /* POSIX has them the same size */
  }
  return CLPI_CUDA_SUCCESS;
}
