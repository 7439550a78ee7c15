/* SPDX-License-Identifier: MIT */
/* What an arena takes over from its upstream: kind of memory, device, streams. */
#ifndef CLPOOL_ARENA_UPSTREAM_H
#define CLPOOL_ARENA_UPSTREAM_H

#include <clpool/allocator.h>

/* Fills in properties and operations of a clpi_arena that are its upstream's. */
void clpi_arena_take_after(const clp_allocator *upstream, clp_allocator_ops *ops);

#endif
