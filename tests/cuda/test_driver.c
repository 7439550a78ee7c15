/* SPDX-License-Identifier: MIT */
/* Loading CUDA's driver, what it says of itself and its devices, and its errors. Each test has a
 * process of its own, where nothing is loaded yet. What dlsym finds of the fake driver is the
 * test's to say. */
#include "cuda/cuda_error.h"
#include "support/cuda_device.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/cuda_mempool.h>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *symbol);
void *__real_dlsym(void *library, const char *symbol);
int __wrap_dlclose(void *library);
int __real_dlclose(void *library);

static const char *hidden = ""; /* symbols that dlsym does not find, with a blank after each */
static const char *replaced;    /* a symbol that dlsym finds here */
static void (*replacement)(void);
static char opened[4096]; /* the library that was asked for last */
static atomic_int opens, closes;
static atomic_uint arrived, expected; /* threads that want the driver: the first waits for all */

void *__wrap_dlopen(const char *name, int flags)
{
  snprintf(opened, sizeof(opened), "%s", name);
  opens++;
  while (arrived < expected)
    sched_yield();
  for (int i = 0; expected && i < 1000; i++) /* so that they get to the lock */
    sched_yield();
  return __real_dlopen(name, flags);
}

void *__wrap_dlsym(void *library, const char *symbol)
{
  char word[128];
  void *address;
  snprintf(word, sizeof(word), "%s ", symbol);
  if (strstr(hidden, word))
    return NULL;
  if (!replaced || strcmp(symbol, replaced) != 0)
    return __real_dlsym(library, symbol);
  memcpy(&address, &replacement, sizeof(address)); /* POSIX has them the same size */
  return address;
}

int __wrap_dlclose(void *library)
{
  closes++;
  return __real_dlclose(library);
}

/* --- what is loaded --- */

static void loads(void)
{
  int count = 0, version = 0;
  clpt_ok_quietly(clpi_cuda_load());
  ck_assert_int_eq(clpi_cuda.cuDeviceGetCount(&count), CLPI_CUDA_SUCCESS);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(clpi_cuda.cuDriverGetVersion(&version), CLPI_CUDA_SUCCESS);
  ck_assert_int_eq(clpi_cuda.version, version);
  for (size_t at = 0; at < offsetof(clpi_cuda_driver, version); at += sizeof(void *)) {
    void *function;
    memcpy(&function, (const char *)&clpi_cuda + at, sizeof(function));
    ck_assert_msg(function != NULL, "function %zu was not found", at / sizeof(function));
  }
}

static void get_driver(clpt_worker *self)
{
  int count = 0;
  arrived++;
  clp_status status = clpi_cuda_load();
  if (status)
    clpt_note_failure(self, "clpi_cuda_load", status);
  else if (clpi_cuda.cuDeviceGetCount(&count) || count != 2)
    clpt_wrong(self, "the driver does not work yet");
}

START_TEST(is_loaded_once_by_many_threads)
{
  static clpt_workers workers;
  const clpt_work work[] = {get_driver};
  expected = 8;
  clpt_workers_start(&workers, 8, work, 1, 1, NULL);
  clpt_workers_join(&workers);
  loads();
  ck_assert_str_eq(opened, getenv("CLPOOL_CUDA_LIBRARY"));
  ck_assert_uint_eq(fakecuda_calls("cuInit"), 1);
  ck_assert_int_eq(opens, 1);
  ck_assert_int_eq(closes, 0);
}

#define NO_PROC_ADDRESS "cuGetProcAddress cuGetProcAddress_v2 "

/* As libcuda does where the kernel's part is not loaded yet: it runs nvidia-modprobe. */
static CUresult init_forking(unsigned flags)
{
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  waitpid(child, NULL, 0);
  return cuInit(flags);
}

START_TEST(it_forks_when_it_is_initialized)
{
  hidden = NO_PROC_ADDRESS;
  replaced = "cuInit";
  replacement = (void (*)(void))init_forking;
  loads();
}

/* --- where functions are found --- */

static unsigned old_form_calls;

static CUresult old_form(const char *symbol, void **function, int version, uint64_t flags)
{
  clpi_cuda_symbol_status status;
  old_form_calls++;
  return cuGetProcAddress_v2(symbol, function, version, flags, &status);
}

/* By cuGetProcAddress, in its form of 12.0 or 11.3, or as symbols. The function is the one of the
 * version that is asked for, not an older one of the same name. */
START_TEST(functions_are_found)
{
  size_t bytes;
  switch (_i) {
  case 0:
    hidden = "cuCtxPushCurrent_v2 "; /* so it is not dlsym that finds it */
    loads();
    ck_assert_uint_gt(fakecuda_calls("cuGetProcAddress"), 30);
    break;
  case 1:
    fakecuda_has.hidden = "cuEventDestroy";
    loads();
    break;
  case 2: /* as CUDA 11.2 has it */
    fakecuda_has.version = 11020;
    hidden = NO_PROC_ADDRESS;
    loads();
    ck_assert_uint_eq(fakecuda_calls("cuGetProcAddress"), 0);
    break;
  default: /* as CUDA 11.3 to 11.8 have it */
    hidden = "cuGetProcAddress_v2 cuCtxPushCurrent_v2 ";
    replaced = "cuGetProcAddress";
    replacement = (void (*)(void))old_form;
    loads();
    ck_assert_uint_gt(old_form_calls, 30);
  }
  clpt_ok(clp_cuda_device_memory(0, &bytes));
}

/* --- what is no driver --- */

static CUresult count_none(int *count)
{
  *count = 0;
  return CLPI_CUDA_SUCCESS;
}

#define FAILS(call, with) .fails = call, .code = with

/* Each is refused with the message, and loaded once the reason is gone. */
static const struct {
  const char *message, *fails; /* a call that fails with `code` */
  CUresult code;
  const char *hidden;  /* for dlsym, and the first of them for cuGetProcAddress */
  const char *library; /* another than the fake */
  bool is_old, has_no_devices, counts_none;
} refusals[] = {
    {"there is no CUDA driver: /no/such/driver.so: ", .library = "/no/such/driver.so"},
    {"libm.so.6 lacks the function cuDriverGetVersion", .library = "libm.so.6"},
    {"libfakecuda.so lacks the function cuMemPoolTrimTo", .hidden = "cuMemPoolTrimTo "},
    {"supports CUDA 11.1, and clpool requires 11.2", .is_old = true, .hidden = NO_PROC_ADDRESS},
    {"cuDriverGetVersion failed with error 999", FAILS("cuDriverGetVersion", FAKECUDA_UNKNOWN)},
    {"is a stub for linking only: install NVIDIA's driver (error 34)",
     FAILS("cuDriverGetVersion", CLPI_CUDA_STUB_LIBRARY)},
    {"is a stub", FAILS("cuInit", CLPI_CUDA_STUB_LIBRARY)},
    {"not ready (error 802)", FAILS("cuInit", CLPI_CUDA_SYSTEM_NOT_READY)},
    {"does not match the loaded kernel module", FAILS("cuInit", CLPI_CUDA_SYSTEM_DRIVER_MISMATCH)},
    {"forward compatibility", FAILS("cuInit", CLPI_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE)},
    {"cuInit failed with CUDA_ERROR_UNKNOWN (999)", FAILS("cuInit", FAKECUDA_UNKNOWN)},
    {"finds no device", .code = CLPI_CUDA_NO_DEVICE, .has_no_devices = true},
    {"finds no device", .code = CLPI_CUDA_NO_DEVICE, .hidden = "cuDeviceGetCount",
     .counts_none = true},
    {"cuDeviceGetCount failed with CUDA_ERROR_UNKNOWN",
     FAILS("cuDeviceGetCount", FAKECUDA_UNKNOWN)},
};
enum { REFUSALS = sizeof(refusals) / sizeof(refusals[0]) };

START_TEST(what_is_no_driver_is_refused)
{
  const char *fails = refusals[_i].fails;
  char name[64] = "";
  bool is_broken = refusals[_i].code == FAKECUDA_UNKNOWN;
  if (fails)
    fakecuda_fail(fails, refusals[_i].code, 0, 1);
  if (refusals[_i].library)
    setenv("CLPOOL_CUDA_LIBRARY", refusals[_i].library, 1);
  if (refusals[_i].is_old)
    fakecuda_has.version = 11010;
  if (refusals[_i].has_no_devices)
    fakecuda_has.devices = 0;
  if (refusals[_i].hidden) {
    hidden = refusals[_i].hidden;
    (void)sscanf(hidden, "%63s", name);
    fakecuda_has.hidden = name;
  }
  replaced = refusals[_i].counts_none ? "cuDeviceGetCount" : NULL;
  replacement = (void (*)(void))count_none;
  clpt_fails(is_broken ? CLP_BACKEND_ERROR : CLP_NOT_SUPPORTED, clpi_cuda_load());
  clpt_message_has(refusals[_i].message);
  ck_assert_int_eq(clp_last_error()->native_code, refusals[_i].code);
  /* Once it was initialized, the library stays open. */
  ck_assert_int_eq(closes, !fakecuda_calls("cuInit") && !strstr(refusals[_i].message, "no CUDA"));
  fakecuda_reset();
  hidden = "";
  replaced = NULL;
  clpt_cuda_use_fake();
  loads();
}

/* Whether it is there or not, the system's own is asked for. */
START_TEST(the_systems_library)
{
  if (_i == 0)
    unsetenv("CLPOOL_CUDA_LIBRARY");
  else
    setenv("CLPOOL_CUDA_LIBRARY", "", 1);
  hidden = NO_PROC_ADDRESS "cuDriverGetVersion ";
  clpt_fails(CLP_NOT_SUPPORTED, clpi_cuda_load());
  clpt_message_has("libcuda.so.1");
  ck_assert_str_eq(opened, "libcuda.so.1");
}

/* Where there is no driver, each call says so; what makes an object makes none. */
START_TEST(without_a_driver)
{
  const clp_cuda_mempool mempool = (clp_cuda_mempool)16; /* never looked at */
  static alignas(max_align_t) unsigned char out[128];
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  void *made[6];
  memset(made, 1, sizeof(made));
  setenv("CLPOOL_CUDA_LIBRARY", "/no/such/driver.so", 1);
  const clp_status statuses[] = {
      clp_cuda_async_allocator_create(NULL, (void *)&made[0]),
      clp_cuda_async_pool_create(NULL, (void *)&made[1]),
      clp_cuda_mempool_create(NULL, (void *)&made[2]),
      clp_cuda_mempool_default(0, (void *)&made[3]),
      clp_cuda_mempool_current(0, (void *)&made[4]),
      clp_cuda_mempool_import_fd(0, (void *)&made[5]),
      clp_cuda_driver_version((void *)out),
      clp_cuda_device_count((void *)out),
      clp_cuda_device_name(0, (void *)out, sizeof(out)),
      clp_cuda_device_memory(0, (void *)out),
      clp_cuda_device_supports_mempools(0, (void *)out),
      clp_cuda_mempool_destroy(mempool),
      clp_cuda_mempool_set_current(0, mempool),
      clp_cuda_mempool_trim_to(mempool, 0),
      clp_cuda_mempool_get_reuse(mempool, (void *)out),
      clp_cuda_mempool_set_reuse(mempool, 0),
      clp_cuda_mempool_get_release_threshold(mempool, (void *)out),
      clp_cuda_mempool_set_release_threshold(mempool, 0),
      clp_cuda_mempool_get_usage(mempool, &usage),
      clp_cuda_mempool_reset_peaks(mempool),
      clp_cuda_mempool_get_access(mempool, 0, (void *)out),
      clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE),
      clp_cuda_mempool_export_fd(mempool, (void *)out),
      clp_cuda_mempool_export_fabric(mempool, (void *)out),
      clp_cuda_mempool_import_fabric((void *)out, (void *)out),
      clp_cuda_pointer_export(4096, (void *)out),
      clp_cuda_pointer_import(mempool, (void *)out, (void *)out),
      clp_cuda_pointer_free(4096, NULL),
  };
  for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
    ck_assert_msg(statuses[i] == CLP_NOT_SUPPORTED, "call %zu gave %s", i,
                  clp_status_name(statuses[i]));
  clpt_message_has("there is no CUDA driver: /no/such/driver.so: ");
  for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
    ck_assert_ptr_null(made[i]);
}

/* --- what is said of devices and errors --- */

START_TEST(what_the_driver_and_a_device_say)
{
  int version = 0, count = 0;
  size_t bytes = 0;
  char name[64] = "";
  bool supports = false;
  clpt_ok_quietly(clp_cuda_driver_version(&version));
  ck_assert_int_eq(version, 12080);
  clpt_ok_quietly(clp_cuda_device_count(&count));
  ck_assert_int_eq(count, 2);
  clpt_ok_quietly(clp_cuda_device_memory(1, &bytes));
  ck_assert_uint_eq(bytes, fakecuda_has.bytes);
  clpt_ok_quietly(clp_cuda_device_name(1, name, (size_t)INT_MAX + 1));
  ck_assert_str_eq(name, "Fake device 1");
  clpt_ok_quietly(clp_cuda_device_name(1, name, 2));
  ck_assert_str_eq(name, "F");
  for (int is_supported = 1; is_supported >= 0; is_supported--) {
    fakecuda_has.mempools[1] = is_supported;
    clpt_ok_quietly(clp_cuda_device_supports_mempools(1, &supports));
    ck_assert_int_eq(supports, is_supported);
  }
}

/* Numbers and names as cuda.h has them. */
static const struct {
  CUresult code;
  const char *name;
  clp_status status;
  const char *advice;
} errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", CLP_INVALID_ARGUMENT, ""},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", CLP_OUT_OF_DEVICE_MEMORY, ""},
    {4, "CUDA_ERROR_DEINITIALIZED", CLP_BACKEND_ERROR, ""},
    {101, "CUDA_ERROR_INVALID_DEVICE", CLP_INVALID_ARGUMENT, ""},
    {201, "CUDA_ERROR_INVALID_CONTEXT", CLP_INVALID_ARGUMENT, ""},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", CLP_NOT_SUPPORTED, ""},
    {400, "CUDA_ERROR_INVALID_HANDLE", CLP_INVALID_ARGUMENT, ""},
    {800, "CUDA_ERROR_NOT_PERMITTED", CLP_NOT_SUPPORTED,
     ": was it called from a CUDA host function (cuLaunchHostFunc, cuStreamAddCallback), which may "
     "not call CUDA?"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", CLP_NOT_SUPPORTED, ""},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", CLP_NOT_SUPPORTED,
     ": a stream is being captured into a graph"},
    {123456, "an unknown error", CLP_BACKEND_ERROR, ""},
};
enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

START_TEST(errors_by_name)
{
  char message[256];
  clpt_ok(clpi_cuda_load());
  for (size_t bytes = 0; bytes <= 4096; bytes += 4096) {
    snprintf(message, sizeof(message), "cuCall%s failed with %s (%d)%s",
             bytes ? " for 4096 bytes" : "", errors[_i].name, errors[_i].code, errors[_i].advice);
    clpt_fails(errors[_i].status, bytes ? clpi_cuda_memory_error("cuCall", errors[_i].code, bytes)
                                        : clpi_cuda_check("cuCall", errors[_i].code));
    ck_assert_int_eq(clp_last_error()->native_code, errors[_i].code);
    ck_assert_str_eq(clp_last_error()->message, message);
  }
}

CLPT_MAIN("cuda_driver", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "load");
  tcase_add_test(tests, is_loaded_once_by_many_threads);
  tcase_add_test(tests, it_forks_when_it_is_initialized);
  tcase_add_loop_test(tests, functions_are_found, 0, 4);
  tests = clpt_case(suite, "none");
  tcase_add_loop_test(tests, what_is_no_driver_is_refused, 0, REFUSALS);
  tcase_add_loop_test(tests, the_systems_library, 0, 2);
  tcase_add_test(tests, without_a_driver);
  tests = clpt_case(suite, "says");
  tcase_add_test(tests, what_the_driver_and_a_device_say);
  tcase_add_loop_test(tests, errors_by_name, 0, ERRORS);
  clpt_cuda_use_fake();
  opens = 0;
}
