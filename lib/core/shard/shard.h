/* SPDX-License-Identifier: MIT */
/* The shards of a pool. A shard is a complete store of held blocks behind a lock of its own. A
 * thread uses the shard of its number (threads.h); what that does not have is taken over from
 * another (take_over.c).
 *
 * Locks are taken in this order: clpi_allocator.pools_lock; clpi_shards.all; shards' locks, by
 * number; clpi_shards.lock. Who has them all sees one moment (all.h). */
#ifndef CLPOOL_CORE_SHARD_SHARD_H
#define CLPOOL_CORE_SHARD_SHARD_H

#include "core/base/spinlock.h"
#include "core/shard/threads.h"
#include "core/store/bin.h"
#include "core/store/lane.h"

enum { CLPI_RECENT_STREAMS = 4 };

typedef struct clpi_shard {
  alignas(128) clpi_spinlock lock; /* guards the rest but for `far`, and the blocks in the slots */
  uint32_t number;                 /* never changes */
  _Atomic uint32_t victim;         /* the number of the shard that blocks were last taken from */
  uint32_t allocations;            /* since the peak was noted (counts.h) */
  uint64_t tick;                   /* a Lamport clock, that ages of blocks are taken from */
  _Atomic size_t active_bytes; /* allocated here less released here, so it may be negative, wrapped;
                                  others load it; relaxed */
  size_t below_most; /* what active_bytes lacks to its most since the peak was noted (counts.h) */
  size_t others_active;                     /* what was active in the other shards then */
  clpi_stream *recent[CLPI_RECENT_STREAMS]; /* streams in order, the last one used first; or NULL */
  /* Slots by clpi_bin.index (bin.h): those of the first chunk are here, the others are made when
   * the first of a chunk is needed. near[0] is of no bin: it counts buffers of zero bytes, and has
   * exact blocks that the device did not take back. */
  clpi_slot *_Atomic far[CLPI_INDEX_CHUNKS];
  alignas(128) clpi_slot near[CLPI_FIRST_INDEXES];
} clpi_shard;

/* Why a release is not warm, whatever its buffer; flags. */
#define CLPI_IS_DIRECT  1u /* see pool/direct.c; changes under all locks, as the next */
#define CLPI_HAS_ENDED  2u /* the pool holds no more */
#define CLPI_IS_WATCHED 4u /* the pool has hooks; changes under `lock` */

typedef struct clpi_page clpi_page;

typedef struct clpi_shards {
  /* Most is set at create, and read without a lock. */
  _Atomic size_t warm_bytes; /* the warm path allocates no more; 0 where the home stream is out of
                                order, the pool direct or watched; stored under `lock` */
  atomic_uint unusual;       /* the flags above; relaxed */
  unsigned forks;            /* clpi_forks when the pool was made */
  clp_pool *pool;
  /* By number. Stored under `all`. A thread without a shard looks at the last, which is none. */
  clpi_shard *_Atomic by_number[CLPI_SHARDS + 1];
  atomic_uint end;   /* the number behind the highest; likewise */
  atomic_uint count; /* of shards; likewise */
  alignas(64) clpi_bins bins;
  clpi_streams streams; /* guarded by `lock`, except what the warm path reads of them */

  alignas(128) _Atomic size_t peak_active_bytes;
  pthread_mutex_t all; /* who takes every shard's lock, or makes a shard */

  alignas(128) pthread_mutex_t lock; /* the pool's; guards what follows, and the rest of the pool */
  bool holding;                      /* false: CLPI_HAS_ENDED */
  uint64_t tick;                     /* the highest of the shards' when all were last locked */
  size_t managed_bytes;  /* from the device; changes under `lock` and the missing thread's shard */
  size_t reserved_bytes; /* requested from the device, not yet managed */
  size_t peak_managed_bytes;
  uint64_t device_frees;
  clp_buffer *spare; /* buffers without a block, by `older` */
  clpi_page *pages;  /* of buffers */
} clpi_shards;

/* False: out of host memory. */
bool clpi_shards_init(clpi_shards *shards, clp_pool *pool, unsigned leading_bits,
                      size_t max_block_bytes);

/* Frees shards, buffers and bins of a pool that nobody can reach any more. */
void clpi_shards_end(clpi_shards *shards);

/* The calling thread's shard, made if need be; if there is no host memory for that, another one.
 * NULL: there is none. Under no lock. */
clpi_shard *clpi_shard_of_thread(clpi_shards *shards);

/* A shard that has a slot for the index: the calling thread's, with a new slot if need be; if there
 * is no host memory for that, any. NULL: none has one, so nobody has ever allocated from the bin.
 * Under no lock. */
clpi_shard *clpi_shard_for(clpi_shards *shards, uint32_t index);

/* Locks such a shard, and clpi_shards.lock. There is one. */
clpi_shard *clpi_shards_lock(clpi_shards *shards, uint32_t index);
void clpi_shards_unlock(clpi_shards *shards, clpi_shard *shard);

/* Sets or clears a flag of `unusual`. Under `lock`. */
void clpi_shards_set_unusual_locked(clpi_shards *shards, unsigned flag, bool is);

/* The slot of this index; NULL: the shard has none, or the index is that of a state. */
static inline clpi_slot *clpi_slot_at(clpi_shard *shard, uint32_t index)
{
  if (__builtin_expect(index < CLPI_FIRST_INDEXES, 1))
    return &shard->near[index];
  clpi_place place = clpi_place_of(index);
  clpi_slot *chunk =
      place.chunk < CLPI_INDEX_CHUNKS ? clpi_acquired(shard->far[place.chunk]) : NULL;
  return chunk ? &chunk[place.at] : NULL;
}

/* Goes through the shards by number. */
#define clpi_each_shard(shards, shard)                                                             \
  for (uint32_t number = 0, end = clpi_acquired((shards)->end); number < end; number++)            \
    for (clpi_shard *shard = clpi_acquired((shards)->by_number[number]); shard; shard = NULL)

/* Goes through the slots of all shards for this index, as far as there are any. */
#define clpi_each_slot(shards, index, shard, slot)                                                 \
  clpi_each_shard (shards, shard)                                                                  \
    for (clpi_slot *slot = clpi_slot_at(shard, index); slot; slot = NULL)

/* Unpins the stream of a call. If it is in order, the shard's warm path finds it from now on. Under
 * both locks. */
void clpi_shard_unpin_stream_locked(clpi_shards *shards, clpi_shard *shard, clpi_stream *stream);

#endif
