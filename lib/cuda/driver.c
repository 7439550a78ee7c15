/* SPDX-License-Identifier: MIT */
/* Loading CUDA's driver. If the library is missing, unusable or too old, the next call tries again.
 * Once it works it is never unloaded, because it has threads of its own. */
#include "cuda/driver.h"

#include "core/base/error.h"
#include "core/base/loading.h"
#include "cuda/cuda_error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 11020 }; /* the first with memory pools */

/* CU_GET_PROC_ADDRESS_LEGACY_STREAM: functions for which the default stream is the legacy one,
 * which is also the default of CUDA's headers. */
enum { LEGACY_STREAM = 1 };

/* cuGetProcAddress of CUDA 11.3, and that of CUDA 12.0 and later. */
typedef clpi_cuda_result (*get_proc_address_1)(const char *name, void **function, int version,
                                               uint64_t flags);
typedef clpi_cuda_result (*get_proc_address_2)(const char *name, void **function, int version,
                                               uint64_t flags, clpi_cuda_symbol_status *why_not);

typedef struct library {
  void *handle;
  const char *name;
  get_proc_address_1 find_1; /* NULL: the library does not have it */
  get_proc_address_2 find_2; /* likewise */
} library;

typedef struct function {
  const char *name, *suffix;
  int version;
  size_t member; /* offset in clpi_cuda_driver */
} function;

#define FUNCTION_ENTRY(name, suffix, version, parameters)                                          \
  {#name, #suffix, version, offsetof(clpi_cuda_driver, name)},
static const function functions[] = {CLPI_CUDA_FUNCTIONS(FUNCTION_ENTRY)};
#undef FUNCTION_ENTRY
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

clpi_cuda_driver clpi_cuda;

static clp_status open_library(library *opened)
{
  const char *chosen = secure_getenv("CLPOOL_CUDA_LIBRARY");
  *opened = (library){.name = chosen && *chosen ? chosen : "libcuda.so.1"};
  opened->handle = dlopen(opened->name, RTLD_NOW | RTLD_LOCAL);
  if (!opened->handle)
    return clpi_error(
        CLP_NOT_SUPPORTED, 0,
        "there is no CUDA driver: %s; install NVIDIA's driver or set CLPOOL_CUDA_LIBRARY",
        dlerror());
  void *newer = dlsym(opened->handle, "cuGetProcAddress_v2");
  void *older = dlsym(opened->handle, "cuGetProcAddress");
  memcpy(&opened->find_2, &newer, sizeof(newer)); /* as POSIX allows */
  memcpy(&opened->find_1, &older, sizeof(older));
  return CLP_SUCCESS;
}

/* Returns a function. NULL: the library does not have it in that version. */
static void *find_versioned(const library *from, const function *wanted)
{
  void *address = NULL;
  clpi_cuda_result code = CLPI_CUDA_NOT_SUPPORTED;
  clpi_cuda_symbol_status why_not;
  if (from->find_2)
    code = from->find_2(wanted->name, &address, wanted->version, LEGACY_STREAM, &why_not);
  else if (from->find_1)
    code = from->find_1(wanted->name, &address, wanted->version, LEGACY_STREAM);
  return code ? NULL : address;
}

static void *find_symbol(const library *from, const function *wanted)
{
  char symbol[64];
  void *address = find_versioned(from, wanted);
  if (address)
    return address;
  snprintf(symbol, sizeof(symbol), "%s%s", wanted->name, wanted->suffix);
  return dlsym(from->handle, symbol);
}

static clp_status resolve(const library *from, const function *wanted)
{
  void *address = find_symbol(from, wanted);
  if (!address)
    return clpi_error(CLP_NOT_SUPPORTED, 0, "%s lacks the function %s", from->name, wanted->name);
  memcpy((char *)&clpi_cuda + wanted->member, &address, sizeof(address));
  return CLP_SUCCESS;
}

/* Returns why the driver cannot be used on this machine. NULL: `code` is another kind of error. */
static const char *why_unusable(clpi_cuda_result code)
{
  switch (code) {
  case CLPI_CUDA_STUB_LIBRARY:
    return "is a stub for linking only: install NVIDIA's driver";
  case CLPI_CUDA_SYSTEM_NOT_READY:
    return "reports that the system is not ready";
  case CLPI_CUDA_SYSTEM_DRIVER_MISMATCH:
    return "does not match the loaded kernel module: reboot or reinstall it";
  case CLPI_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE:
    return "is for forward compatibility, which the device does not support";
  default:
    return NULL;
  }
}

static clp_status refused(const char *call, clpi_cuda_result code)
{
  const char *why = why_unusable(code);
  if (why)
    return clpi_error(CLP_NOT_SUPPORTED, code, "the CUDA driver %s (error %d)", why, code);
  return clpi_error(CLP_BACKEND_ERROR, code, "%s failed with error %d", call, code);
}

/* Called before the other functions are found, so that an old driver is reported as old, and not as
 * lacking one. */
static clp_status check_version(const library *from)
{
  static const function get_version = {"cuDriverGetVersion", "", 2020,
                                       offsetof(clpi_cuda_driver, cuDriverGetVersion)};
  clp_status status = resolve(from, &get_version);
  if (status)
    return status;
  int version = 0;
  clpi_cuda_result code = clpi_cuda.cuDriverGetVersion(&version);
  if (code)
    return refused("cuDriverGetVersion", code);
  if (version < LEAST_VERSION)
    return clpi_error(
        CLP_NOT_SUPPORTED, 0,
        "the CUDA driver is too old: it supports CUDA %d.%d, and clpool requires 11.2",
        version / 1000, version % 1000 / 10);
  clpi_cuda.version = version;
  return CLP_SUCCESS;
}

static clp_status resolve_all(const library *from)
{
  clp_status status = check_version(from);
  for (size_t i = 0; !status && i < FUNCTION_COUNT; i++)
    status = resolve(from, &functions[i]);
  return status;
}

static clp_status no_device(clpi_cuda_result code)
{
  return clpi_error(CLP_NOT_SUPPORTED, code,
                    "the CUDA driver finds no device; check nvidia-smi and CUDA_VISIBLE_DEVICES");
}

static clp_status initialize(void)
{
  clpi_cuda_result code = clpi_cuda.cuInit(0);
  if (code == CLPI_CUDA_NO_DEVICE)
    return no_device(code);
  if (code)
    return why_unusable(code) ? refused("cuInit", code) : clpi_cuda_check("cuInit", code);
  int count = 0;
  clp_status status = clpi_cuda_call(cuDeviceGetCount, &count);
  return status || count > 0 ? status : no_device(CLPI_CUDA_NO_DEVICE);
}

/* Once cuInit was called the library stays loaded, even on failure: it may have started threads. */
static clp_status load(void)
{
  library opened;
  clp_status status = open_library(&opened);
  if (status)
    return status;
  status = resolve_all(&opened);
  if (status) {
    dlclose(opened.handle);
    return status;
  }
  return initialize();
}

clp_status clpi_cuda_load(void)
{
  static atomic_bool is_loaded;
  return clpi_load_once(&is_loaded, load);
}
