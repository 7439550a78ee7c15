/* SPDX-License-Identifier: MIT */
/* Finding functions by name, and the old functions that a caller must not find. */
#include "fake.h"

#include <string.h>

enum { LEGACY_STREAM = 1 }; /* CU_GET_PROC_ADDRESS_LEGACY_STREAM */
enum { FOUND = 0, NOT_FOUND = 1, VERSION_NOT_SUFFICIENT = 2 }; /* CUdriverProcAddressQueryResult */

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                          clpi_cuda_symbol_status *status)
{
  FAKE_ENTER(cuGetProcAddress);
  if (flags != LEGACY_STREAM)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "functions with other default streams");
  *function = NULL;
  *status = NOT_FOUND;
  for (const fake_function *it = fake_functions; it < fake_functions + FAKE_CALLS; it++) {
    if (strcmp(it->name, symbol) != 0 || fake_is_hidden_locked(symbol))
      continue;
    bool is_known = it->version <= version && it->version <= fake_version;
    *status = is_known ? FOUND : VERSION_NOT_SUFFICIENT;
    if (is_known)
      memcpy(function, &it->address, sizeof(*function)); /* POSIX has them the same size */
  }
  return CLPI_CUDA_SUCCESS;
}

/* The driver has functions by the plain names, too, with other parameters or another meaning. */
#undef cuDeviceTotalMem
#undef cuDevicePrimaryCtxRelease
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuMemAlloc
#undef cuMemFree
#define OLD_FUNCTION(name)                                                                         \
  CUresult name(void);                                                                             \
  CUresult name(void)                                                                              \
  {                                                                                                \
    FAKE_LOCK;                                                                                     \
    return fake_violation_locked(CLPI_CUDA_NOT_SUPPORTED, "the first form of " #name);             \
  }
OLD_FUNCTION(cuDeviceTotalMem)
OLD_FUNCTION(cuDevicePrimaryCtxRelease)
OLD_FUNCTION(cuCtxPushCurrent)
OLD_FUNCTION(cuCtxPopCurrent)
OLD_FUNCTION(cuStreamDestroy)
OLD_FUNCTION(cuEventDestroy)
OLD_FUNCTION(cuMemAlloc)
OLD_FUNCTION(cuMemFree)
