/* SPDX-License-Identifier: MIT */
/* Loading CUDA's driver: lib/cuda/driver.c. Each test has a process of its own, where nothing is
 * loaded yet. What dlsym finds of the fake driver is the test's to say. */
#include "cuda/driver.h"
#include "support/cuda_device.h"
#include "support/suite.h"
#include "support/workers.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *library, const char *symbol);
void *__real_dlsym(void *library, const char *symbol);
int __wrap_dlclose(void *library);
int __real_dlclose(void *library);

enum { MOST_HIDDEN = 4 };

static const char *hidden[MOST_HIDDEN]; /* symbols that dlsym does not find */
static size_t hidden_count;
static const char *replaced; /* a symbol that dlsym finds here */
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
  void *address;
  for (size_t i = 0; i < hidden_count; i++)
    if (strcmp(symbol, hidden[i]) == 0)
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

static void hide(const char *symbol)
{
  ck_assert_uint_lt(hidden_count, MOST_HIDDEN);
  hidden[hidden_count++] = symbol;
}

static void replace(const char *symbol, void (*function)(void))
{
  replaced = symbol;
  replacement = function;
}

/* --- what is loaded --- */

static void assert_works(void)
{
  int count = 0, version = 0;
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

static void refuses(clp_status status, const char *message)
{
  clpt_fails(status, clpi_cuda_load());
  clpt_message_has(message);
}

static void loads(void)
{
  clpt_ok_quietly(clpi_cuda_load());
  assert_works();
}

START_TEST(is_loaded_once)
{
  clpt_ok_quietly(clpi_cuda_load());
  assert_works();
  ck_assert_str_eq(opened, getenv("CLPOOL_CUDA_LIBRARY"));
  unsigned long calls = fakecuda_calls(NULL);
  clpt_ok_quietly(clpi_cuda_load());
  ck_assert_uint_eq(fakecuda_calls(NULL), calls);
  ck_assert_uint_eq(fakecuda_calls("cuInit"), 1);
  ck_assert_int_eq(opens, 1);
  ck_assert_int_eq(closes, 0);
}
END_TEST

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
  ck_assert_uint_eq(fakecuda_calls("cuInit"), 1);
  ck_assert_int_eq(opens, 1);
}
END_TEST

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
  hide("cuGetProcAddress");
  hide("cuGetProcAddress_v2");
  replace("cuInit", (void (*)(void))init_forking);
  loads();
}
END_TEST

/* --- where functions are found --- */

START_TEST(functions_are_asked_for_by_version)
{
  hide("cuCtxPushCurrent_v2"); /* so it is not dlsym that finds it */
  loads();
  ck_assert_uint_gt(fakecuda_calls("cuGetProcAddress"), 30);
}
END_TEST

START_TEST(what_it_does_not_tell_is_a_symbol)
{
  fakecuda_hide("cuEventDestroy");
  loads();
}
END_TEST

/* As CUDA 11.2 has it. */
START_TEST(without_cuGetProcAddress)
{
  fakecuda_set_version(11020);
  hide("cuGetProcAddress");
  hide("cuGetProcAddress_v2");
  loads();
  ck_assert_uint_eq(fakecuda_calls("cuGetProcAddress"), 0);
}
END_TEST

static unsigned old_form_calls;

static CUresult old_form(const char *symbol, void **function, int version, uint64_t flags)
{
  clpi_cuda_symbol_status status;
  old_form_calls++;
  return cuGetProcAddress_v2(symbol, function, version, flags, &status);
}

/* As CUDA 11.3 to 11.8 have it. */
START_TEST(with_the_old_cuGetProcAddress)
{
  hide("cuGetProcAddress_v2");
  hide("cuCtxPushCurrent_v2");
  replace("cuGetProcAddress", (void (*)(void))old_form);
  loads();
  ck_assert_uint_gt(old_form_calls, 30);
}
END_TEST

/* --- what is no driver --- */

START_TEST(no_library)
{
  const char *fake = getenv("CLPOOL_CUDA_LIBRARY");
  char kept[4096];

  snprintf(kept, sizeof(kept), "%s", fake);
  setenv("CLPOOL_CUDA_LIBRARY", "/no/such/driver.so", 1);
  refuses(CLP_NOT_SUPPORTED, "there is no CUDA driver: /no/such/driver.so: ");
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  setenv("CLPOOL_CUDA_LIBRARY", kept, 1);
  loads();
}
END_TEST

/* Whether it is there or not, the system's own is asked for. */
START_TEST(the_systems_library)
{
  if (_i == 0)
    unsetenv("CLPOOL_CUDA_LIBRARY");
  else
    setenv("CLPOOL_CUDA_LIBRARY", "", 1);
  hide("cuGetProcAddress");
  hide("cuGetProcAddress_v2");
  hide("cuDriverGetVersion");
  clpt_fails(CLP_NOT_SUPPORTED, clpi_cuda_load());
  clpt_message_has("libcuda.so.1");
  ck_assert_str_eq(opened, "libcuda.so.1");
}
END_TEST

START_TEST(another_library)
{
  setenv("CLPOOL_CUDA_LIBRARY", "libm.so.6", 1);
  refuses(CLP_NOT_SUPPORTED, "libm.so.6 has no cuDriverGetVersion");
  ck_assert_int_eq(closes, 1);
}
END_TEST

START_TEST(too_old)
{
  fakecuda_set_version(11010);
  hide("cuGetProcAddress");
  hide("cuGetProcAddress_v2");
  refuses(CLP_NOT_SUPPORTED, "the CUDA driver is too old: it is of version 11.1, and 11.2 is");
  ck_assert_uint_eq(fakecuda_calls("cuInit"), 0);
  ck_assert_int_eq(closes, 1);
  fakecuda_set_version(11020);
  loads();
}
END_TEST

START_TEST(a_function_is_missing)
{
  fakecuda_hide("cuMemPoolTrimTo");
  hide("cuMemPoolTrimTo");
  refuses(CLP_NOT_SUPPORTED, "libfakecuda.so has no cuMemPoolTrimTo");
  ck_assert_uint_eq(fakecuda_calls("cuInit"), 0);
  ck_assert_int_eq(closes, 1);
}
END_TEST

START_TEST(the_version_is_not_told)
{
  fakecuda_fail("cuDriverGetVersion", FAKECUDA_UNKNOWN, 0, 1);
  refuses(CLP_BACKEND_ERROR, "cuDriverGetVersion failed with error 999");
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  loads();
}
END_TEST

START_TEST(it_cannot_be_initialized)
{
  fakecuda_fail("cuInit", FAKECUDA_UNKNOWN, 0, 1);
  refuses(CLP_BACKEND_ERROR, "cuInit failed with CUDA_ERROR_UNKNOWN (999)");
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  ck_assert_int_eq(closes, 0);
  loads();
}
END_TEST

/* What a machine's driver says of itself is no failure. */
START_TEST(it_is_unusable)
{
  static const struct {
    const char *call;
    int code;
    const char *message;
  } cases[] = {
      {"cuDriverGetVersion", CLPI_CUDA_STUB_LIBRARY, "is a stub, for linking alone (error 34)"},
      {"cuInit", CLPI_CUDA_STUB_LIBRARY, "is a stub"},
      {"cuInit", CLPI_CUDA_SYSTEM_NOT_READY, "not ready (error 802)"},
      {"cuInit", CLPI_CUDA_SYSTEM_DRIVER_MISMATCH, "of another version"},
      {"cuInit", CLPI_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fakecuda_fail(cases[i].call, cases[i].code, 0, 1);
    refuses(CLP_NOT_SUPPORTED, cases[i].message);
    ck_assert_int_eq(clp_last_error()->native_code, cases[i].code);
  }
  loads();
}
END_TEST

/* --- no devices --- */

START_TEST(no_device)
{
  fakecuda_set_devices(0, 0);
  refuses(CLP_NOT_SUPPORTED, "the CUDA driver sees no device");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_NO_DEVICE);
}
END_TEST

static CUresult count_none(int *count)
{
  *count = 0;
  return CLPI_CUDA_SUCCESS;
}

START_TEST(a_count_of_no_devices)
{
  fakecuda_hide("cuDeviceGetCount");
  replace("cuDeviceGetCount", (void (*)(void))count_none);
  refuses(CLP_NOT_SUPPORTED, "the CUDA driver sees no device");
}
END_TEST

START_TEST(devices_cannot_be_counted)
{
  fakecuda_fail("cuDeviceGetCount", FAKECUDA_UNKNOWN, 0, 1);
  refuses(CLP_BACKEND_ERROR, "cuDeviceGetCount failed with CUDA_ERROR_UNKNOWN (999)");
  loads();
}
END_TEST

CLPT_MAIN("cuda_driver", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "load");
  tcase_add_test(tests, is_loaded_once);
  tcase_add_test(tests, is_loaded_once_by_many_threads);
  tcase_add_test(tests, it_forks_when_it_is_initialized);

  tests = clpt_case(suite, "functions");
  tcase_add_test(tests, functions_are_asked_for_by_version);
  tcase_add_test(tests, what_it_does_not_tell_is_a_symbol);
  tcase_add_test(tests, without_cuGetProcAddress);
  tcase_add_test(tests, with_the_old_cuGetProcAddress);

  tests = clpt_case(suite, "none");
  tcase_add_test(tests, no_library);
  tcase_add_loop_test(tests, the_systems_library, 0, 2);
  tcase_add_test(tests, another_library);
  tcase_add_test(tests, too_old);
  tcase_add_test(tests, a_function_is_missing);
  tcase_add_test(tests, the_version_is_not_told);
  tcase_add_test(tests, it_cannot_be_initialized);
  tcase_add_test(tests, it_is_unusable);
  tcase_add_test(tests, no_device);
  tcase_add_test(tests, a_count_of_no_devices);
  tcase_add_test(tests, devices_cannot_be_counted);
  clpt_cuda_use_fake();
}
