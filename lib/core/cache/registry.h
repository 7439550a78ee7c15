/* SPDX-License-Identifier: MIT */
/* The stocks that live, for the end of threads. */
#ifndef CLPOOL_CORE_CACHE_REGISTRY_H
#define CLPOOL_CORE_CACHE_REGISTRY_H

#include "core/cache/stock.h"

/* Enters a stock, which gets its id and its lookup slot; takes it out. Not under a stock's lock. */
void clpi_registry_add(clpi_stock *stock);
void clpi_registry_remove(clpi_stock *stock);

#endif
