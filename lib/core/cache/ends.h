/* SPDX-License-Identifier: MIT */
/* The beginning of a stock's caches, and the ends of their threads. */
#ifndef CLPOOL_CORE_CACHE_ENDS_H
#define CLPOOL_CORE_CACHE_ENDS_H

#include "core/cache/stock.h"

/* From now on threads can have caches of the stock. clpi_registry_leave and clpi_caches_end undo
 * it. */
void clpi_caches_begin(clpi_stock *stock);

#endif
