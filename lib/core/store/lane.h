/* SPDX-License-Identifier: MIT */
/* Held blocks of one bin in one shard, in lanes: a lane has the blocks that the same streams used
 * last, in the order of these uses. Of one stream, what comes first is done first: if the oldest
 * block of a lane is not settled, none of it is. So a search looks at the two ends of each lane.
 *
 * All links are in the buffers, and nothing is allocated to hold a block. A lane other than the
 * home lane exists as long as it has blocks, and its newest block stands for it. All is guarded by
 * the shard's lock. */
#ifndef CLPOOL_CORE_STORE_LANE_H
#define CLPOOL_CORE_STORE_LANE_H

#include "core/store/buffer.h"

typedef struct clpi_slot {
  alignas(64) clp_buffer *newest; /* of the home lane: used last without a stream, or on the home
                                     stream; NULL: it is empty */
  clp_buffer *oldest;             /* likewise, if it is not empty */
  clp_buffer *others;             /* the newest block of the first of the other lanes */
  _Atomic uint32_t held;          /* blocks in all lanes; others load it as a hint; relaxed */
  uint32_t seen_allocations; /* low bits of hits and misses when another shard last took blocks */
  uint64_t hits, misses, releases;
} clpi_slot;

static inline void clpi_slot_count_held(clpi_slot *slot, uint32_t count)
{
  clpi_set_relaxed(slot->held, clpi_relaxed(slot->held) + count);
}

/* The newest block of the lane of this stream alone; NULL: the slot has none. */
static inline clp_buffer *clpi_lane_find(const clpi_slot *slot, const clpi_stream *stream,
                                         const clpi_stream *home)
{
  clp_buffer *newest = stream == home ? slot->newest : slot->others;
  while (newest && stream != home && newest->use.stream != stream)
    newest = newest->lane.next;
  return newest;
}

/* Another block is the newest of the lane from now on; NULL: the lane has none any more. */
static inline void clpi_lane_set_newest(clpi_slot *slot, const clp_buffer *newest, clp_buffer *by)
{
  if (newest == slot->newest) {
    slot->newest = by;
    return;
  }
  clp_buffer *next = newest->lane.next, *previous = newest->lane.previous;
  if (by)
    by->lane = newest->lane;
  *(previous ? &previous->lane.next : &slot->others) = by ? by : next;
  if (next)
    next->lane.previous = by ? by : previous;
}

/* Adds a lane other than the home lane, from its newest to its oldest block. */
static inline void clpi_lane_add(clpi_slot *slot, clp_buffer *newest, clp_buffer *oldest)
{
  newest->lane = (clpi_lane_links){.next = slot->others, .oldest = oldest};
  if (slot->others)
    slot->others->lane.previous = newest;
  slot->others = newest;
}

/* Takes the newest block off its lane. */
static inline void clpi_lane_pop(clpi_slot *slot, clp_buffer *newest)
{
  clpi_lane_set_newest(slot, newest, newest->older);
  clpi_slot_count_held(slot, -1u);
}

/* Puts a block on top of a lane, whose newest block is given, or NULL if it has none. */
static inline void clpi_lane_push(clpi_slot *slot, clp_buffer *newest, clp_buffer *block,
                                  bool is_home)
{
  clpi_set_state(block, CLPI_BUFFER_HELD);
  block->older = newest;
  if (newest) {
    newest->newer = block;
    clpi_lane_set_newest(slot, newest, block);
  } else if (is_home) {
    slot->newest = slot->oldest = block;
  } else {
    clpi_lane_add(slot, block, block);
  }
  clpi_slot_count_held(slot, 1);
}

/* Puts a block into the lane of its uses: on top, or if it is older than what is there, beneath. */
void clpi_lane_insert(clpi_slot *slot, clp_buffer *block, const clpi_stream *home);

/* Takes a block off its lane, whose newest block is given. */
void clpi_lane_remove(clpi_slot *slot, clp_buffer *newest, clp_buffer *block);

/* Moves up to `most` of a lane's oldest blocks to the same lane of another slot, which is empty. */
void clpi_lane_move(clpi_slot *from, clp_buffer *newest, clpi_slot *to, uint32_t most);

static inline clp_buffer *clpi_lane_oldest(const clpi_slot *slot, const clp_buffer *newest)
{
  return newest == slot->newest ? slot->oldest : newest->lane.oldest;
}

static inline clp_buffer *clpi_lane_after(const clpi_slot *slot, const clp_buffer *newest)
{
  return newest == slot->newest ? slot->others : newest->lane.next;
}

/* Goes through the lanes of a slot by their newest blocks. The body must not change them. */
#define clpi_each_lane(slot, block)                                                                \
  for (clp_buffer *block = (slot)->newest ? (slot)->newest : (slot)->others; block;                \
       block = clpi_lane_after(slot, block))

#endif
