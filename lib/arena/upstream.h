/* SPDX-License-Identifier: MIT */
/* What an arena is by its upstream: kind, device, streams. */
#ifndef CLPOOL_ARENA_UPSTREAM_H
#define CLPOOL_ARENA_UPSTREAM_H

#include <clpool/allocator.h>

/* Fills in figures and operations that are upstream's own, for a clpi_arena. */
void clpi_arena_take_after(const clp_allocator *upstream, clp_allocator_ops *ops);

#endif
