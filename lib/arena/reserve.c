/* SPDX-License-Identifier: MIT */
/* Taking the reserve. */
#include "arena/reserve.h"

#include "arena/growth.h"
#include "arena/trim.h"
#include "core/base/error.h"

/* Makes `bytes` the reserve, and returns what is missing of it. */
static size_t set(clpi_arena *arena, size_t bytes)
{
  pthread_mutex_lock(&arena->lock);
  arena->reserve_bytes = bytes;
  size_t taken = arena->segments.reserved_bytes;
  pthread_mutex_unlock(&arena->lock);
  return bytes > taken ? bytes - taken : 0;
}

/* The thread that fills the reserve: two would take twice what is missing. Who only fills it up
 * leaves that to another thread that is at it, and does not wait for that one's calls. */
static bool begin(clpi_arena *arena, bool may_wait)
{
  if (!may_wait)
    return pthread_mutex_trylock(&arena->reserving) == 0;
  pthread_mutex_lock(&arena->reserving);
  return true;
}

clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes)
{
  const clp_memory_request none = {.most_bytes = SIZE_MAX};
  clpi_carving carving = {.arena = arena, .request = &none};
  clp_status status = CLP_SUCCESS;
  if (bytes && *bytes > SIZE_MAX / 2)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "no device has %zu bytes to reserve", *bytes);
  if (!begin(arena, bytes))
    return CLP_SUCCESS;
  size_t earlier = arena->reserve_bytes, reserve = bytes ? *bytes : earlier, missing;
  size_t taken = clpi_arena_taken_bytes(arena);
  while (!status && (missing = set(arena, reserve)) > 0) {
    size_t segment = clpi_arena_room(arena, missing);
    status = clpi_arena_add_segment(&carving, MIN(segment, clpi_arena_largest_segment(arena)));
  }
  if (status) {
    clpi_kept_error kept;
    clpi_error_keep(&kept);
    (void)set(arena, earlier);
    (void)clpi_arena_trim(arena, 0, taken, true);
    clpi_error_restore(&kept);
  }
  pthread_mutex_unlock(&arena->reserving);
  return status;
}
