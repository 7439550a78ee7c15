/* SPDX-License-Identifier: MIT */
/* Finding functions by name, and the old functions that a caller must not find. */
#include "fake.h"

#include <string.h>

enum { FOUND = 0, NOT_FOUND = 1, VERSION_NOT_SUFFICIENT = 2 }; /* CUdriverProcAddressQueryResult */

static void *find_locked(const char *symbol, int version, clpi_cuda_symbol_status *status)
{
  void *address = NULL;

  *status = NOT_FOUND;
  for (int i = 0; i < FAKE_CALLS; i++) {
    const fake_function *function = &fake_functions[i];

    if (strcmp(function->name, symbol) != 0 || fake_is_hidden_locked(symbol))
      continue;
    *status = VERSION_NOT_SUFFICIENT;
    if (function->version > version || function->version > fake_version)
      continue;
    *status = FOUND;
    memcpy(&address, &function->address, sizeof(address)); /* POSIX has them the same size */
  }
  return address;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                          clpi_cuda_symbol_status *status)
{
  CUresult code = fake_enter(FAKE_cuGetProcAddress);
  clpi_cuda_symbol_status found;

  (void)flags; /* default streams are the legacy one in all functions here */
  if (code == CLPI_CUDA_SUCCESS) {
    *function = find_locked(symbol, version, &found);
    if (status != NULL)
      *status = found;
  }
  return fake_leave(code);
}

/* --- as of older versions --- */

#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);

/* CUDA 11.3's. What is not found is an error here. */
CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
  clpi_cuda_symbol_status found;

  (void)flags;
  fake_lock_it();
  *function = find_locked(symbol, version, &found);
  fake_unlock_it();
  return *function != NULL ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_VALUE;
}

/* The driver has functions by the plain names, too, with other parameters or another meaning. */
#undef cuDeviceTotalMem
#undef cuDevicePrimaryCtxRelease
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuMemGetInfo
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuMemAlloc
#undef cuMemFree
#define OLD_FUNCTION(name)                                                                         \
  CUresult name(void);                                                                             \
  CUresult name(void)                                                                              \
  {                                                                                                \
    fake_lock_it();                                                                                \
    return fake_leave(fake_violation_locked(CLPI_CUDA_NOT_SUPPORTED, "the first form of " #name)); \
  }
OLD_FUNCTION(cuDeviceTotalMem)
OLD_FUNCTION(cuDevicePrimaryCtxRelease)
OLD_FUNCTION(cuCtxPushCurrent)
OLD_FUNCTION(cuCtxPopCurrent)
OLD_FUNCTION(cuMemGetInfo)
OLD_FUNCTION(cuStreamDestroy)
OLD_FUNCTION(cuEventDestroy)
OLD_FUNCTION(cuMemAlloc)
OLD_FUNCTION(cuMemFree)
