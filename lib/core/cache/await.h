/* SPDX-License-Identifier: MIT */
/* Short waits for other threads. */
#ifndef CLPOOL_CORE_CACHE_AWAIT_H
#define CLPOOL_CORE_CACHE_AWAIT_H

#include "core/store/block_store.h"

/* Of a clock that only runs forward. */
uint64_t clpi_clock_ns(void);

/* Waits until the store seems to have a block of the bin, or for `ns` nanoseconds, without giving
 * up the processor. Under no lock. */
void clpi_bin_await(const clpi_bin *bin, uint64_t ns);

#endif
