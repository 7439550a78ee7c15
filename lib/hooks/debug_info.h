/* SPDX-License-Identifier: MIT */
/* Debug information of addresses: from libdw, or none if the library is built without it. */
#ifndef CLPOOL_HOOKS_DEBUG_INFO_H
#define CLPOOL_HOOKS_DEBUG_INFO_H

#include "hooks/symbols.h"

typedef struct clpi_debug_info clpi_debug_info;

/* Begins a session. `*out` is NULL if there is no debug information; the functions below accept
 * that. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_debug_info_open(clpi_debug_info **out);
void clpi_debug_info_close(clpi_debug_info *info);

/* Shows the frames of an address, outermost first: `plain`, with what is known filled in.
 * CLP_OUT_OF_HOST_MEMORY: after that, `info` only shows `plain`. */
clp_status clpi_debug_info_show(clpi_debug_info *info, uintptr_t address, const clpi_symbol *plain,
                                clpi_symbol_visitor *visitor, void *argument);

#endif
