/* SPDX-License-Identifier: MIT */
/* The list of all stocks, from which a thread that ends takes its caches. */
#ifndef CLPOOL_CORE_CACHE_REGISTRY_H
#define CLPOOL_CORE_CACHE_REGISTRY_H

#include "core/cache/stock.h"

/* Add a stock, which sets its id and lookup slot; remove it. Not under a stock's lock. */
void clpi_registry_add(clpi_stock *stock);
void clpi_registry_remove(clpi_stock *stock);

#endif
