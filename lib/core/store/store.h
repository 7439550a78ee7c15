/* SPDX-License-Identifier: MIT */
/* Bins, and the blocks of a bin that a shard holds. bin.c explains the arithmetic of bins. */
#ifndef CLPOOL_CORE_STORE_STORE_H
#define CLPOOL_CORE_STORE_STORE_H

#include "core/store/buffer.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { CLPI_SIZE_BITS = sizeof(size_t) * CHAR_BIT };

/* Returns the number of the bin of a size, which must not be 0. `leading_bits` is at most
 * CLP_MAX_LEADING_BITS. The leading one of 1m is added to l - 1. */
static inline size_t clpi_bin_number(unsigned leading_bits, size_t size)
{
  unsigned zeros = (unsigned)__builtin_clzl(size);
  size_t leading = (size << zeros) >> (CLPI_SIZE_BITS - 1 - leading_bits);
  size_t l = CLPI_SIZE_BITS - 1 - zeros;
  return ((l - 1) << leading_bits) + leading;
}

/* Returns the largest size of a bin. */
size_t clpi_bin_size(unsigned leading_bits, size_t number);

/* Bins in use and slots are in chunks, which never move. The first has the indexes below
 * CLPI_FIRST_INDEXES, and each other one as many as all before it: enough for all bins. */
enum { CLPI_FIRST_INDEXES = 64, CLPI_INDEX_CHUNKS = 18 };

typedef struct clpi_place {
  unsigned chunk;
  uint32_t at;
} clpi_place;

static inline clpi_place clpi_place_of(uint32_t index)
{
  if (__builtin_expect(index < CLPI_FIRST_INDEXES, 1))
    return (clpi_place){0, index};
  unsigned log = 31 - (unsigned)__builtin_clz(index);
  return (clpi_place){log - 5, index - ((uint32_t)1 << log)};
}

/* The number of indexes of a chunk. */
#define clpi_chunk_count(chunk) ((size_t)CLPI_FIRST_INDEXES << ((chunk) ? (chunk)-1 : 0))

typedef struct clpi_bin {
  uint32_t index; /* this, the number and the size never change */
  bool had_block; /* ever; guarded by the pool's lock */
  size_t number;
  size_t block_bytes;       /* of every block, except exact ones (buffer.h) */
  struct clpi_bin *smaller; /* the next smaller one in use; guarded by the pool's lock */
} clpi_bin;

typedef struct clpi_bins {
  /* Set by clpi_bins_init. */
  unsigned leading_bits;
  size_t max_block_bytes;
  _Atomic uint32_t *indexes; /* by number; 0: not in use */

  clpi_bin *_Atomic chunks[CLPI_INDEX_CHUNKS];
  clpi_bin *largest; /* in use; guarded by the pool's lock, as the next */
  uint32_t count; /* of the indexes in use and 0, which is of no bin; guarded by the pool's lock */
} clpi_bins;

/* False: out of host memory. */
bool clpi_bins_init(clpi_bins *bins, unsigned leading_bits, size_t max_block_bytes);

void clpi_bins_end(clpi_bins *bins);

/* Returns the size of a bin's blocks: the bin's largest size, or max_block_bytes if less. */
size_t clpi_bins_block_bytes(const clpi_bins *bins, size_t number);

/* The index of the bin of a size, which must not be 0. 0: the bin is not in use. */
#define clpi_index_of(bins, size)                                                                  \
  clpi_acquired((bins)->indexes[clpi_bin_number((bins)->leading_bits, size)])

/* Returns the bin of an index in use. */
static inline clpi_bin *clpi_bin_at(const clpi_bins *bins, uint32_t index)
{
  clpi_place place = clpi_place_of(index);
  return &clpi_acquired(bins->chunks[place.chunk])[place.at];
}

/* Returns the bin of a number, and puts it into use if needed. `lock` is the pool's; under no lock.
 * NULL: out of host memory. */
clpi_bin *clpi_bins_use(clpi_bins *bins, size_t number, pthread_mutex_t *lock);

/* --- held blocks of one bin in one shard, in lanes ---
 *
 * A lane has the blocks that the same streams used last, in the order of these uses. Work of a
 * stream that comes first is done first: if the oldest block of a lane is not settled, none of the
 * lane is. So a search looks only at the two ends of each lane.
 *
 * All links are in the buffers, and nothing is allocated to hold a block. A lane other than the
 * home lane exists as long as it has blocks, and its newest block represents it. The shard's lock
 * guards all lanes. */

typedef struct clpi_slot {
  alignas(64) clp_buffer *newest; /* of the home lane, whose blocks were used last on the home
                                     stream or without a stream; NULL: it is empty */
  clp_buffer *oldest;             /* of the home lane, if that is not empty */
  clp_buffer *others;             /* the newest block of the first of the other lanes */
  _Atomic uint32_t held;          /* blocks in all lanes; others load it as a hint; relaxed */
  uint32_t seen_allocations; /* low bits of hits and misses when another shard last took blocks */
  uint64_t hits, misses, releases;
} clpi_slot;

/* To subtract, `count` is a negative number as a uint32_t. */
#define clpi_slot_count_held(slot, count)                                                          \
  clpi_set_relaxed((slot)->held, clpi_relaxed((slot)->held) + (count))

/* Returns the newest block of the lane of only this stream. NULL: there is none. */
static inline clp_buffer *clpi_lane_find(const clpi_slot *slot, const clpi_stream *stream,
                                         const clpi_stream *home)
{
  clp_buffer *newest = stream == home ? slot->newest : slot->others;
  while (newest && stream != home && newest->use.stream != stream)
    newest = newest->lane.next;
  return newest;
}

/* Makes `by` the newest block of a lane, in place of `newest`. NULL: the lane is empty now. */
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
  if (newest == slot->newest)
    slot->newest = newest->older;
  else
    clpi_lane_set_newest(slot, newest, newest->older);
  clpi_slot_count_held(slot, -1u);
}

/* Puts a block on top of a lane. `newest` is its newest block, or NULL if it is empty. */
static inline void clpi_lane_push(clpi_slot *slot, clp_buffer *newest, clp_buffer *block,
                                  bool is_home)
{
  clpi_set_state(block, CLPI_BUFFER_HELD);
  block->older = newest;
  if (newest)
    newest->newer = block;
  if (newest && (is_home || newest == slot->others)) {
    clpi_lane_set_newest(slot, newest, block);
  } else if (newest) { /* makes the lane the first one */
    clpi_lane_set_newest(slot, newest, NULL);
    clpi_lane_add(slot, block, newest->lane.oldest);
  } else if (is_home) {
    slot->newest = slot->oldest = block;
  } else {
    clpi_lane_add(slot, block, block);
  }
  clpi_slot_count_held(slot, 1);
}

/* Puts a block into the lane of its uses: on top, or if it is older, at the bottom. */
void clpi_lane_insert(clpi_slot *slot, clp_buffer *block, const clpi_stream *home);

/* Takes the newest or the oldest block off its lane. `newest` is the lane's newest block. */
void clpi_lane_remove(clpi_slot *slot, clp_buffer *newest, clp_buffer *block);

/* Moves up to `most` of a lane's oldest blocks to the same lane of `to`, which must be empty. */
void clpi_lane_move(clpi_slot *from, clp_buffer *newest, clpi_slot *to, uint32_t most);

static inline clp_buffer *clpi_lane_oldest(const clpi_slot *slot, const clp_buffer *newest)
{
  return newest == slot->newest ? slot->oldest : newest->lane.oldest;
}

static inline clp_buffer *clpi_lane_after(const clpi_slot *slot, const clp_buffer *newest)
{
  return newest == slot->newest ? slot->others : newest->lane.next;
}

/* Iterates over the lanes of a slot, by their newest blocks. The body must not change them. */
#define clpi_each_lane(slot, block)                                                                \
  for (clp_buffer *block = (slot)->newest ? (slot)->newest : (slot)->others; block;                \
       block = clpi_lane_after(slot, block))

#endif
