/* SPDX-License-Identifier: MIT */
/* What debug information says of addresses: libdw, or nothing where the library is built without.
 */
#ifndef CLPOOL_HOOKS_DEBUG_INFO_H
#define CLPOOL_HOOKS_DEBUG_INFO_H

#include "hooks/symbols.h"

typedef struct clpi_debug_info clpi_debug_info;

/* Begins a session. `*out` is NULL where there is nothing to be had, which the functions below
 * take, too. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_debug_info_open(clpi_debug_info **out);
void clpi_debug_info_close(clpi_debug_info *info);

/* Shows the frames of an address, outermost first: `plain`, completed as far as anything is known.
 * CLP_OUT_OF_HOST_MEMORY: from then on `info` knows nothing more. */
clp_status clpi_debug_info_show(clpi_debug_info *info, uintptr_t address, const clpi_symbol *plain,
                                clpi_symbol_visitor *visitor, void *argument);

#endif
