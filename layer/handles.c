/* SPDX-License-Identifier: MIT */
/* A hash table with open addressing. Threads may still search a table that was replaced by a larger
 * one, so it is kept for ever: all old tables together are no larger than the last. A slot whose
 * handle was removed is not free at once, because searches would not find handles after it. It is
 * free when the next one is. */
#include "handles.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct slot {
  _Atomic(uintptr_t) handle; /* FREE, TAKEN, or a handle */
  _Atomic(void *) value;
} slot;

typedef struct clpi_handle_table {
  struct clpi_handle_table *former; /* so that leak checkers see that it is kept */
  size_t slots;                     /* a power of two */
  size_t used;                      /* not FREE; guarded by the lock */
  slot slot[];
} table;

enum { FREE = 0, TAKEN = 1, FIRST_SLOTS = 256 };

/* Handles are addresses of objects, whose lowest bits are always the same. */
static size_t first_slot(const table *in, uintptr_t handle)
{
  return (size_t)((handle >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (in->slots - 1);
}

/* NULL: it is not there. There is always a free slot. A number that a kernel has as an argument may
 * be TAKEN. */
static slot *find_slot(table *in, uintptr_t handle)
{
  if (!in || handle <= TAKEN)
    return NULL;
  for (size_t i = first_slot(in, handle);; i = (i + 1) & (in->slots - 1)) {
    /* Acquire: pairs with the release in `put`, so that the value is the handle's. */
    uintptr_t found = atomic_load_explicit(&in->slot[i].handle, memory_order_acquire);
    if (found == handle)
      return &in->slot[i];
    if (found == FREE)
      return NULL;
  }
}

void *clpi_handles_find(clpi_handles *handles, const void *handle)
{
  /* Acquire: pairs with the release in `grow_locked`. */
  table *current = atomic_load_explicit(&handles->current, memory_order_acquire);
  slot *found = find_slot(current, (uintptr_t)handle);
  return found ? atomic_load_explicit(&found->value, memory_order_relaxed) : NULL;
}

static void put(table *in, uintptr_t handle, void *value)
{
  size_t i = first_slot(in, handle);
  uintptr_t found;
  while ((found = atomic_load_explicit(&in->slot[i].handle, memory_order_relaxed)) > TAKEN)
    i = (i + 1) & (in->slots - 1);
  in->used += found == FREE;
  atomic_store_explicit(&in->slot[i].value, value, memory_order_relaxed);
  atomic_store_explicit(&in->slot[i].handle, handle, memory_order_release);
}

static bool grow_locked(clpi_handles *handles, table *old)
{
  size_t slots = old ? old->slots * 2 : FIRST_SLOTS;
  table *made = calloc(1, sizeof(*made) + slots * sizeof(slot));
  if (!made)
    return false;
  made->former = old;
  made->slots = slots;
  for (size_t i = 0; old && i < old->slots; i++) {
    uintptr_t handle = atomic_load_explicit(&old->slot[i].handle, memory_order_relaxed);
    if (handle > TAKEN)
      put(made, handle, atomic_load_explicit(&old->slot[i].value, memory_order_relaxed));
  }
  atomic_store_explicit(&handles->current, made, memory_order_release);
  return true;
}

bool clpi_handles_put(clpi_handles *handles, const void *handle, void *value)
{
  pthread_mutex_lock(&handles->lock);
  table *current = atomic_load_explicit(&handles->current, memory_order_relaxed);
  bool has_room = current && current->used < current->slots / 2;
  bool is_put = has_room || grow_locked(handles, current);
  if (is_put)
    put(atomic_load_explicit(&handles->current, memory_order_relaxed), (uintptr_t)handle, value);
  pthread_mutex_unlock(&handles->lock);
  return is_put;
}

static void free_taken(table *in, size_t last)
{
  size_t most = in->slots - 1;
  atomic_store_explicit(&in->slot[last].handle, TAKEN, memory_order_relaxed);
  if (atomic_load_explicit(&in->slot[(last + 1) & most].handle, memory_order_relaxed) != FREE)
    return;
  for (size_t i = last; atomic_load_explicit(&in->slot[i].handle, memory_order_relaxed) == TAKEN;
       i = (i - 1) & most) {
    atomic_store_explicit(&in->slot[i].handle, FREE, memory_order_relaxed);
    in->used--;
  }
}

void *clpi_handles_take(clpi_handles *handles, const void *handle)
{
  void *value = NULL;
  pthread_mutex_lock(&handles->lock);
  table *current = atomic_load_explicit(&handles->current, memory_order_relaxed);
  slot *found = find_slot(current, (uintptr_t)handle);
  if (found) {
    value = atomic_load_explicit(&found->value, memory_order_relaxed);
    free_taken(current, (size_t)(found - current->slot));
  }
  pthread_mutex_unlock(&handles->lock);
  return value;
}
