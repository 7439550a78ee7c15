/* SPDX-License-Identifier: MIT */
/* Access to fields that one thread at a time stores and others load at any time: hints, and
 * pointers to objects that are complete before the pointer is published. */
#ifndef CLPOOL_CORE_BASE_RELAXED_H
#define CLPOOL_CORE_BASE_RELAXED_H

#include <stdatomic.h>

#define clpi_relaxed(field)            atomic_load_explicit(&(field), memory_order_relaxed)
#define clpi_set_relaxed(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

#define clpi_acquired(pointer)       atomic_load_explicit(&(pointer), memory_order_acquire)
#define clpi_publish(pointer, value) atomic_store_explicit(&(pointer), value, memory_order_release)

#endif
