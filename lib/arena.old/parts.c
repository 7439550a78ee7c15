/* SPDX-License-Identifier: MIT */
/* Segments and parts, each in a treap by its address; parts in a map by their memory, too. */
#include "arena/parts.h"

#include "arena/free_ranges.h"
#include "core/allocator/allocator.h"
#include "core/allocator/stream_forwarding.h"
#include "core/base/error.h"
#include "core/base/map.h"

#include <sched.h>
#include <stdlib.h>

typedef struct piece {
  clpi_free_range place;
  clp_memory memory; /* upstream's */
  bool is_used;      /* by a block; false: a part that is kept, */
  bool is_leaving;   /* and that is being given up */
} piece;

struct clpi_parts {
  clp_allocator *upstream; /* first, for core/allocator/stream_forwarding.h */
  pthread_mutex_t lock;
  clpi_free_ranges segments, pieces;
  clpi_map by_memory;
  uint64_t next_address;
};

static piece *piece_of(clpi_free_range *place)
{
  return place ? clpi_list_entry(place, piece, place) : NULL;
}

/* The last one that begins before `end`, if it ends behind `begin`; or NULL. */
static piece *last_between(const clpi_free_ranges *ranges, uint64_t begin, uint64_t end)
{
  clpi_free_range *last = clpi_free_ranges_at(ranges, end - 1);
  return last && last->position + last->bytes > begin ? piece_of(last) : NULL;
}

/* --- parts --- */

/* As soon as upstream has taken its memory back, a new part may have the same. */
static void begin_to_leave_locked(clpi_parts *parts, piece *kept)
{
  uint64_t value;
  kept->is_leaving = true;
  (void)clpi_map_take(&parts->by_memory, kept->memory, &value);
  (void)clpi_map_reserve(&parts->by_memory);
}

static clp_status give_up(clpi_parts *parts, piece *kept)
{
  const clp_allocator *upstream = parts->upstream;
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.unsplit(upstream->self, kept->memory, kept->place.bytes);
  pthread_mutex_lock(&parts->lock);
  kept->is_leaving = false;
  if (status) {
    clpi_map_put(&parts->by_memory, kept->memory, (uintptr_t)kept);
  } else {
    clpi_map_unreserve(&parts->by_memory);
    clpi_free_ranges_remove(&parts->pieces, &kept->place);
  }
  pthread_mutex_unlock(&parts->lock);
  if (status)
    return clpi_allocator_failed(upstream, status, serial, "uniting a segment");
  free(kept);
  return CLP_SUCCESS;
}

/* Gives up what is kept between two addresses; all blocks there have ended. What is there in part
 * may be another thread's to give up. */
static clp_status clear(clpi_parts *parts, uint64_t begin, uint64_t end)
{
  for (;;) {
    pthread_mutex_lock(&parts->lock);
    piece *kept = last_between(&parts->pieces, begin, end);
    bool is_anothers = kept && kept->is_leaving;
    if (kept && !is_anothers)
      begin_to_leave_locked(parts, kept);
    pthread_mutex_unlock(&parts->lock);
    clp_status status = kept && !is_anothers ? give_up(parts, kept) : CLP_SUCCESS;
    if (!kept || status)
      return status;
    if (is_anothers)
      sched_yield();
  }
}

static clp_status split(clpi_parts *parts, piece *made)
{
  const clp_allocator *upstream = parts->upstream;
  pthread_mutex_lock(&parts->lock);
  clpi_free_range *segment = clpi_free_ranges_at(&parts->segments, made->place.position);
  bool has_room = clpi_map_reserve(&parts->by_memory);
  pthread_mutex_unlock(&parts->lock);
  if (!has_room)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a part of a segment");
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.split(upstream->self, piece_of(segment)->memory,
                                          made->place.position - segment->position,
                                          made->place.bytes, &made->memory);
  pthread_mutex_lock(&parts->lock);
  if (status) {
    clpi_map_unreserve(&parts->by_memory);
  } else {
    clpi_free_ranges_insert(&parts->pieces, &made->place);
    clpi_map_put(&parts->by_memory, made->memory, (uintptr_t)made);
  }
  pthread_mutex_unlock(&parts->lock);
  return status ? clpi_allocator_failed(upstream, status, serial, "splitting a segment") : status;
}

static clp_status make(clpi_parts *parts, clp_memory address, size_t bytes, clp_memory *out)
{
  clp_status status = clear(parts, address, address + bytes);
  if (status)
    return status;
  piece *made = malloc(sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a part of a segment");
  *made = (piece){.place = {.position = address, .bytes = bytes}, .is_used = true};
  status = split(parts, made);
  if (status)
    free(made);
  else
    *out = made->memory;
  return status;
}

clp_memory clpi_parts_take_kept(clpi_parts *parts, clp_memory address, size_t bytes)
{
  clp_memory memory = 0;
  pthread_mutex_lock(&parts->lock);
  clpi_free_range *place = clpi_free_ranges_at(&parts->pieces, address);
  if (place && place->position == address && place->bytes == bytes) {
    piece_of(place)->is_used = true;
    memory = piece_of(place)->memory;
  }
  pthread_mutex_unlock(&parts->lock);
  return memory;
}

clp_status clpi_parts_begin(clpi_parts *parts, clp_memory address, size_t bytes, clp_memory *out)
{
  clp_memory kept = clpi_parts_take_kept(parts, address, bytes);
  if (!kept)
    return make(parts, address, bytes, out);
  *out = kept;
  return CLP_SUCCESS;
}

clp_memory clpi_parts_end(clpi_parts *parts, clp_memory memory, size_t bytes)
{
  clp_memory address = 0;
  pthread_mutex_lock(&parts->lock);
  const uint64_t *found = clpi_map_find(&parts->by_memory, memory);
  piece *used = found ? (piece *)(uintptr_t)*found : NULL;
  if (used && used->is_used && used->place.bytes == bytes) {
    used->is_used = false;
    address = (clp_memory)used->place.position;
  }
  pthread_mutex_unlock(&parts->lock);
  return address;
}

void clpi_parts_resume(clpi_parts *parts, clp_memory memory)
{
  pthread_mutex_lock(&parts->lock);
  ((piece *)(uintptr_t)*clpi_map_find(&parts->by_memory, memory))->is_used = true;
  pthread_mutex_unlock(&parts->lock);
}

/* --- segments --- */

/* Two segments are never neighbours, so that no part seems to be in both. */
static clp_status allocate_segment(void *self, size_t bytes, clp_memory *out)
{
  clpi_parts *parts = self;
  piece *made = malloc(sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a segment");
  *made = (piece){.place.bytes = bytes};
  clp_status status = clp_allocator_allocate(parts->upstream, bytes, &made->memory);
  if (status) {
    free(made);
    return status;
  }
  size_t alignment = parts->upstream->ops.alignment;
  pthread_mutex_lock(&parts->lock);
  made->place.position = parts->next_address;
  parts->next_address += (bytes / alignment + 2) * alignment;
  clpi_free_ranges_insert(&parts->segments, &made->place);
  pthread_mutex_unlock(&parts->lock);
  *out = (clp_memory)made->place.position;
  return CLP_SUCCESS;
}

static clp_status free_segment(void *self, clp_memory address, size_t bytes)
{
  clpi_parts *parts = self;
  pthread_mutex_lock(&parts->lock);
  piece *segment = piece_of(clpi_free_ranges_at(&parts->segments, address));
  pthread_mutex_unlock(&parts->lock);
  clp_status status = clear(parts, address, address + bytes);
  if (!status)
    status = clp_allocator_free(parts->upstream, segment->memory, bytes);
  if (status)
    return status;
  pthread_mutex_lock(&parts->lock);
  clpi_free_ranges_remove(&parts->segments, &segment->place);
  pthread_mutex_unlock(&parts->lock);
  free(segment);
  return CLP_SUCCESS;
}

/* Of blocks that were never freed, and what upstream did not take. */
static void free_pieces(clpi_free_ranges *ranges)
{
  while (ranges->root) {
    piece *left = piece_of(ranges->root);
    clpi_free_ranges_remove(ranges, &left->place);
    free(left);
  }
}

static void destroy(void *self)
{
  clpi_parts *parts = self;
  free_pieces(&parts->pieces);
  free_pieces(&parts->segments);
  clpi_map_end(&parts->by_memory);
  clp_allocator_release(parts->upstream);
  pthread_mutex_destroy(&parts->lock);
  free(parts);
}

clp_status clpi_parts_create(clp_allocator *upstream, clp_allocator **out, clpi_parts **parts)
{
  clpi_parts *made = malloc(sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for an arena");
  *made = (clpi_parts){.next_address = upstream->ops.alignment};
  pthread_mutex_init(&made->lock, NULL);
  made->upstream = clp_allocator_retain(upstream);
  clp_allocator_ops ops = upstream->ops; /* name, kind and figures stay */
  ops.allocate = allocate_segment;
  ops.allocate_within = NULL;
  ops.free = free_segment;
  ops.free_on = NULL;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  ops.destroy = destroy;
  clpi_pass_returns(&ops);
  clpi_pass_stream_order(upstream, &ops);
  clp_status status = clp_allocator_create(&ops, made, out);
  if (status)
    destroy(made);
  else
    *parts = made;
  return status;
}
