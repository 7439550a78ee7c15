/* SPDX-License-Identifier: MIT */
/* The shards of a pool. A shard is a complete store of held blocks, with its own lock. A thread
 * uses the shard of its number. If that has no block of a bin, the thread takes blocks over from
 * another shard (take_over.c).
 *
 * Lock order: the lock of all pools (pool/pool.c); clpi_shards.all; shards' locks, by number;
 * clpi_shards.lock; clpi_shards.carving. A thread that holds them all sees one moment (all.h).
 *
 * A pool that holds nothing has one shard. Only `carving` guards the figures of the shard and the
 * pool. */
#ifndef CLPOOL_CORE_SHARD_SHARD_H
#define CLPOOL_CORE_SHARD_SHARD_H

#include "core/allocator/allocator.h"
#include "core/store/store.h"

/* --- threads: threads.c --- */

/* The most shards of a pool; and the number of a thread without a shard. */
enum { CLPI_SHARDS = 64, CLPI_NO_SHARD = CLPI_SHARDS };

/* What the library knows of a thread. It is in static TLS, to avoid calls of __tls_get_addr; dlopen
 * reserves little of that. */
typedef struct clpi_thread {
  uint16_t number;      /* of its shard in each pool, or CLPI_NO_SHARD */
  uint16_t warm_number; /* the same, but CLPI_NO_SHARD while the thread has hooks, so that none of
                           its calls is warm */
  bool is_hooked, owns_number; /* others may share its number */
} clpi_thread;

extern _Thread_local clpi_thread clpi_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Begins to watch threads' ends and forks. Call it before the first pool is made. */
void clpi_threads_watch(void);

/* Gives the calling thread, which has none, the lowest number that no living thread has. So new
 * threads take over the shards of threads that ended. If all numbers are in use, threads share. */
void clpi_thread_join(void);

/* Sets whether the calling thread has hooks. */
void clpi_thread_set_hooked(bool has_hooks);

/* --- shards --- */

typedef struct clpi_shard {
  alignas(128) clpi_spinlock lock; /* guards the rest, except `far`, and the blocks in the slots */
  uint32_t number;                 /* never changes */
  _Atomic uint32_t victim;         /* the number of the shard that blocks were last taken from */
  uint32_t calls;                  /* since the last clpi_look_locked */
  uint64_t tick;                   /* a Lamport clock, for the ages of blocks */
  _Atomic size_t active_bytes; /* allocated here minus released here, so it may wrap around below 0;
                                  others load it; relaxed */
  size_t noted_bytes;          /* active_bytes above this are noted before they become fewer */
  clpi_recent recent;
  /* Slots by clpi_bin.index (store.h). Those of the first chunk are in `near`; other chunks are
   * made when one of their slots is needed. near[0] belongs to no bin: it counts buffers of zero
   * bytes, and has exact blocks that the device did not take back. */
  clpi_slot *_Atomic far[CLPI_INDEX_CHUNKS];
  alignas(128) clpi_slot near[CLPI_FIRST_INDEXES];
} clpi_shard;

/* Flags: why no release of a pool is warm. With any flag except the last, no allocation is warm
 * either. */
#define CLPI_CARVES     1u /* the pool holds nothing (pool/carve.c); never changes */
#define CLPI_HAS_ENDED  2u /* the pool has stopped holding; set under all locks */
#define CLPI_IS_WATCHED 4u /* the pool has hooks; changes under `lock` */
#define CLPI_MAY_SHED   8u /* more than hold_bytes may be held: reclaim.c must check */

enum { CLPI_PAGE_BUFFERS = 31 }; /* a prime number, of which 3 is a primitive root */
typedef struct clpi_page {
  struct clpi_page *next;
  clp_buffer buffers[CLPI_PAGE_BUFFERS];
} clpi_page;
static_assert(sizeof(clpi_page) == 4096, "a page of most systems");

#define clpi_is_holding(shards) (!(clpi_relaxed((shards)->unusual) & CLPI_HAS_ENDED))

typedef struct clpi_shards {
  /* Most are set at create, and read without a lock. */
  _Atomic size_t warm_bytes; /* the largest request of the warm path. 0: the home stream is out of
                                order, the pool has hooks, or it holds nothing. Stored under
                                `lock` */
  atomic_uint unusual;       /* the flags above; relaxed */
  size_t hold_bytes;         /* as the pool's option; never changes */
  unsigned forks;            /* clpi_forks when the pool was made */
  clp_pool *pool;
  clpi_spinlock *carving; /* the allocator's carver_lock if the pool holds nothing; else NULL */
  /* By number. Stored under `all`. A thread without a shard finds the last one, which is NULL. */
  clpi_shard *_Atomic by_number[CLPI_SHARDS + 1];
  atomic_uint end;        /* the highest number + 1; stored under `all`, as the next three */
  atomic_uint count;      /* of shards */
  atomic_uint look_after; /* a shard looks after this many calls (clpi_look_locked) */
  _Atomic size_t bias;    /* added to counts of active bytes, so that they compare correctly */
  alignas(64) clpi_bins bins;
  clpi_streams streams; /* guarded by `lock`, except what the warm path reads of them */

  alignas(128) _Atomic size_t peak_active_bytes;
  pthread_mutex_t all; /* for threads that take every shard's lock, or make a shard */
  clpi_shard *first;   /* for the first thread that needs one, then NULL; guarded by `all` */

  alignas(128) pthread_mutex_t lock; /* the pool's; guards what follows, and the rest of the pool */
  uint64_t tick;                     /* the highest of the shards' when all were last locked */
  size_t managed_bytes;  /* from the device; changes under `lock`, at a miss also the shard's */
  size_t reserved_bytes; /* requested from the device, not yet managed */
  size_t peak_managed_bytes;
  uint64_t device_frees;
  uint64_t segments_taken,
      segments_given_back; /* for the pool, by an allocator that keeps memory */
  clp_buffer *spare;       /* buffers without a block, by `older` */
  clpi_page *pages;        /* of buffers */
} clpi_shards;

/* False: out of host memory. */
bool clpi_shards_init(clpi_shards *shards, clp_pool *pool, unsigned leading_bits,
                      size_t max_block_bytes);

/* Frees shards, buffers and bins of a pool that no thread can reach any more. */
void clpi_shards_end(clpi_shards *shards);

/* Returns a shard that has a slot for the index: the calling thread's, with a new slot if needed;
 * if there is no host memory for that, any. NULL: no shard has one, so the bin was never used.
 * Under no lock. */
clpi_shard *clpi_shard_for(clpi_shards *shards, uint32_t index);

/* Takes clpi_shards.lock and `carving`, which guard the pool's figures. */
static inline void clpi_shards_lock_pool(clpi_shards *shards)
{
  pthread_mutex_lock(&shards->lock);
  if (shards->carving)
    clpi_spinlock_lock(shards->carving);
}

static inline void clpi_shards_unlock_pool(clpi_shards *shards)
{
  if (shards->carving)
    clpi_spinlock_unlock(shards->carving);
  pthread_mutex_unlock(&shards->lock);
}

/* Finds a shard by clpi_shard_for, and locks it and the pool. There must be one. */
clpi_shard *clpi_shards_lock(clpi_shards *shards, uint32_t index);
void clpi_shards_unlock(clpi_shards *shards, clpi_shard *shard);

/* Sets or clears a flag of `unusual`. Under `lock`. */
void clpi_shards_set_unusual_locked(clpi_shards *shards, unsigned flag, bool is);

/* Returns the slot of an index. NULL: the shard has none, or the index stands for a state. */
static inline clpi_slot *clpi_slot_at(clpi_shard *shard, uint32_t index)
{
  if (__builtin_expect(index < CLPI_FIRST_INDEXES, 1))
    return &shard->near[index];
  clpi_place place = clpi_place_of(index);
  clpi_slot *chunk =
      place.chunk < CLPI_INDEX_CHUNKS ? clpi_acquired(shard->far[place.chunk]) : NULL;
  return chunk ? &chunk[place.at] : NULL;
}

/* Iterates over the shards by number. */
#define clpi_each_shard(shards, shard)                                                             \
  for (uint32_t number = 0, end = clpi_acquired((shards)->end); number < end; number++)            \
    for (clpi_shard *shard = clpi_acquired((shards)->by_number[number]); shard; shard = NULL)

/* Iterates over the slots of all shards that have one for this index. */
#define clpi_each_slot(shards, index, shard, slot)                                                 \
  clpi_each_shard (shards, shard)                                                                  \
    for (clpi_slot *slot = clpi_slot_at(shard, index); slot; slot = NULL)

/* --- buffers: made one page at a time, recycled, and freed only with the pool, so that a second
 * release of a buffer never reads freed memory --- */

/* Returns a buffer without a block. NULL: out of host memory. Under no lock. */
clp_buffer *clpi_buffer_take(clpi_shards *shards);

/* Makes a buffer spare again. `pool` and `bin` stay: a second release reads them without a lock.
 * Under clpi_shards.lock. */
void clpi_buffer_put_locked(clpi_shards *shards, clp_buffer *buffer);

/* Iterates over the buffers, including spare ones. Under all locks. */
#define clpi_each_buffer(shards, buffer)                                                           \
  for (clpi_page *page = (shards)->pages; page; page = page->next)                                 \
    for (clp_buffer *buffer = page->buffers; buffer < page->buffers + CLPI_PAGE_BUFFERS; buffer++)

/* --- counts ---
 *
 * The peak of active bytes is exact while one shard is in use. If several are, a shard adds up the
 * counts of all, without their locks: before its own count falls from a new height; at the first
 * release after some calls; and at misses. */

/* Both add up the counts. clpi_look_locked also makes the next release check the held bytes, if
 * hold_bytes is a bound. Under the shard's lock. */
void clpi_note_peak_locked(clpi_shards *shards, clpi_shard *shard);
void clpi_look_locked(clpi_shards *shards, clpi_shard *shard);

static inline void clpi_count_allocated_locked(clpi_shard *shard, size_t bytes)
{
  clpi_set_relaxed(shard->active_bytes, clpi_relaxed(shard->active_bytes) + bytes);
  shard->calls++;
}

static inline void clpi_count_released_locked(clpi_shards *shards, clpi_shard *shard, size_t bytes)
{
  size_t active = clpi_relaxed(shard->active_bytes), bias = clpi_relaxed(shards->bias);
  bool is_high = active + bias > shard->noted_bytes + bias;
  if (__builtin_expect(is_high || ++shard->calls >= clpi_relaxed(shards->look_after), 0))
    clpi_look_locked(shards, shard);
  clpi_set_relaxed(shard->active_bytes, active - bytes);
}

/* Whether the limit allows to manage `bytes` more; limit 0 means SIZE_MAX. Under `lock`. */
bool clpi_may_manage_locked(const clpi_shards *shards, size_t limit, size_t bytes);

/* Counts a new block of block_bytes, which is the buffer's memory, and hands the buffer out for a
 * request of `bytes`. Under the locks of the shard and the pool. */
void clpi_count_new_locked(clpi_shards *shards, clpi_shard *shard, clp_buffer *buffer,
                           clpi_bin *bin, size_t block_bytes, size_t bytes);

/* --- the warm path: a block from or to the calling thread's shard ---
 *
 * It touches the shard, the slot and one cache line of the buffer. All other cases take the slow
 * path. */

/* How a call takes its shard's lock. */
typedef enum clpi_patience { CLPI_WAITS_FOR_SHARD, CLPI_TRIES_SHARD } clpi_patience;

/* Returns the shard of a thread's number. NULL: there is none, or the pool is inherited. */
static inline clpi_shard *clpi_shard_of_number(const clpi_shards *shards, uint32_t number)
{
  return clpi_is_inherited(shards->forks) ? NULL : clpi_acquired(shards->by_number[number]);
}

/* Hands out a held block, which was taken off its lane. */
static inline void clpi_hand_out_locked(clpi_shard *shard, clpi_slot *slot, clp_buffer *block,
                                        uint32_t index, size_t bytes)
{
  clpi_set_relaxed(block->index, index);
  block->size = bytes;
  slot->hits++;
  clpi_count_allocated_locked(shard, bytes);
}

/* Takes a lock; if `patience` does not allow to wait, only if it is free. */
#define clpi_lock_warm(lock, patience)                                                             \
  (clpi_spinlock_try(lock) || ((patience) == CLPI_WAITS_FOR_SHARD && clpi_spinlock_wait(lock)))

/* Hands out the newest block that the stream used last, from `shard`, which may be NULL. `bytes` is
 * 1 to the largest block. NULL: take the slow path. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_warm(clpi_shards *shards, clpi_shard *shard, size_t bytes, clpi_given given,
                   clpi_patience patience)
{
  const clpi_stream *home = &shards->streams.home;
  uint32_t index = clpi_index_of(&shards->bins, bytes);
  clpi_slot *slot = shard ? clpi_slot_at(shard, index) : NULL;
  if (!slot || !clpi_lock_warm(&shard->lock, patience))
    return NULL;
  const clpi_stream *stream = given.is_given ? clpi_recall(shard->recent, given.handle) : home;
  clp_buffer *block = stream ? clpi_lane_find(slot, stream, home) : NULL;
  if (block && !clpi_is_holding(shards))
    block = NULL;
  if (block) {
    clpi_lane_pop(slot, block);
    clpi_hand_out_locked(shard, slot, block, index, bytes);
  }
  clpi_spinlock_unlock(&shard->lock);
  return block;
}

/* Releases a buffer to `shard`, which may be NULL. False: nothing was done; take the slow path. */
__attribute__((always_inline)) static inline bool
clpi_release_warm(clpi_shards *shards, clpi_shard *shard, clp_buffer *buffer, clpi_given given,
                  clpi_patience patience)
{
  clpi_stream *home = &shards->streams.home;
  clpi_slot *slot = shard ? clpi_slot_at(shard, clpi_relaxed(buffer->index)) : NULL;
  if (!slot || !clpi_lock_warm(&shard->lock, patience))
    return false;
  clpi_stream *stream = given.is_given ? clpi_recall(shard->recent, given.handle) : home;
  bool is_warm = stream && clpi_is_holding(shards);
  if (is_warm) {
    slot->releases++;
    clpi_count_released_locked(shards, shard, buffer->size);
    buffer->use = clpi_use_now(stream);
    buffer->age = ++shard->tick;
    clpi_lane_push(slot, clpi_lane_find(slot, stream, home), buffer, stream == home);
  }
  clpi_spinlock_unlock(&shard->lock);
  return is_warm;
}

/* Hands out a block of the index's bin that the stream used last: from `shard`, which must have a
 * slot for the bin, or from another shard. In that case it moves some more blocks to `shard`, for
 * the next calls. NULL: no shard has one; or the stream is out of order, or not among the shard's
 * recent ones; or the pool has stopped holding. `*is_held` is then whether a shard holds blocks of
 * the bin, of any stream. It may miss blocks that move from shard to shard meanwhile. Under no
 * lock. */
clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, uint32_t index, clpi_given given,
                           size_t bytes, bool *is_held);

#endif
