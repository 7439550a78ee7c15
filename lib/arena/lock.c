/* SPDX-License-Identifier: MIT */
#include "arena/lock.h"

static bool is_of_another(const clpi_arena *arena)
{
  const void *owner = clpi_relaxed(arena->owner);
  return owner && owner != &clpi_self;
}

void clpi_arena_claim_locked(clpi_arena *arena)
{
  if (!is_of_another(arena) || clpi_door_is_claimed(&arena->door))
    return;
  clpi_door_claim(&arena->door);
  clpi_fence_heavy();
  clpi_door_await(&arena->door);
}

void clpi_arena_lock_for_block(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  clpi_arena_claim_locked(arena);
  arena->is_shared |= is_of_another(arena);
}

void clpi_arena_unlock(clpi_arena *arena)
{
  if (clpi_door_is_claimed(&arena->door) && !arena->is_shared)
    clpi_door_open(&arena->door);
  pthread_mutex_unlock(&arena->lock);
}
