/* SPDX-License-Identifier: MIT */
/* Stands in for debug_info.c in a build without libdw: there is no debug information. */
#include "hooks/symbols.h"

#include <stddef.h>

clp_status clpi_debug_info_open(const char *file, clpi_debug_info **out)
{
  (void)file;
  *out = NULL;
  return CLP_SUCCESS;
}

void clpi_debug_info_close(clpi_debug_info *info)
{
  (void)info;
}

clp_status clpi_debug_info_show(clpi_debug_info *info, uintptr_t address, const clpi_symbol *plain,
                                clpi_symbol_visitor *visitor, void *argument)
{
  (void)info, (void)address;
  return visitor(plain, argument);
}
