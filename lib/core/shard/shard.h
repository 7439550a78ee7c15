/* SPDX-License-Identifier: MIT */
/* The shards of a pool. A shard is a complete store of held blocks behind a lock of its own. A
 * thread uses the shard of its number; what that does not have is taken over from
 * another (take_over.c).
 *
 * Locks are taken in this order: that of all pools (pool/pool.c); clpi_shards.all; shards' locks,
 * by number; clpi_shards.lock; clpi_shards.carving. Who has them all sees one moment (all.h).
 *
 * A pool that holds nothing has one shard. Its figures, and those of the pool, are guarded by
 * `carving` alone. */
#ifndef CLPOOL_CORE_SHARD_SHARD_H
#define CLPOOL_CORE_SHARD_SHARD_H

#include "core/allocator/allocator.h"
#include "core/store/store.h"

/* --- threads: threads.c --- */

/* Shards of a pool at most; and the number of a thread that has no shard. */
enum { CLPI_SHARDS = 64, CLPI_NO_SHARD = CLPI_SHARDS };

/* What a thread is to the library. In static TLS, of which dlopen keeps little in reserve, and
 * without a call of __tls_get_addr. */
typedef struct clpi_thread {
  uint16_t number;      /* of its shard in each pool, or CLPI_NO_SHARD */
  uint16_t warm_number; /* the same, but CLPI_NO_SHARD while the thread has hooks, so that none of
                           its calls is warm */
  bool is_hooked, owns_number; /* others may share its number */
} clpi_thread;

extern _Thread_local clpi_thread clpi_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Has threads' ends and forks watched; before the first pool. */
void clpi_threads_watch(void);

/* Gives the calling thread, which has none, a number: the lowest that no living thread has, so
 * that threads that come find the shards of those that went. Where all are taken, threads share. */
void clpi_thread_join(void);

/* The calling thread has hooks, or has none any more. */
void clpi_thread_set_hooked(bool has_hooks);

/* --- shards --- */

typedef struct clpi_shard {
  alignas(128) clpi_spinlock lock; /* guards the rest but for `far`, and the blocks in the slots */
  uint32_t number;                 /* never changes */
  _Atomic uint32_t victim;         /* the number of the shard that blocks were last taken from */
  uint32_t calls;                  /* since it last looked (clpi_look_locked) */
  uint64_t tick;                   /* a Lamport clock, that ages of blocks are taken from */
  _Atomic size_t active_bytes; /* allocated here less released here, so it may be negative, wrapped;
                                  others load it; relaxed */
  size_t noted_bytes;          /* active_bytes above this are noted before they become fewer */
  clpi_recent recent;
  /* Slots by clpi_bin.index (store.h): those of the first chunk are here, the others are made when
   * the first of a chunk is needed. near[0] is of no bin: it counts buffers of zero bytes, and has
   * exact blocks that the device did not take back. */
  clpi_slot *_Atomic far[CLPI_INDEX_CHUNKS];
  alignas(128) clpi_slot near[CLPI_FIRST_INDEXES];
} clpi_shard;

/* Why a release is not warm, whatever its buffer; flags. With others than the last, no allocation
 * is warm either. */
#define CLPI_CARVES     1u /* the pool holds nothing (pool/carve.c); never changes */
#define CLPI_HAS_ENDED  2u /* the pool holds no more; is set under all locks */
#define CLPI_IS_WATCHED 4u /* the pool has hooks; changes under `lock` */
#define CLPI_MAY_SHED   8u /* more than hold_bytes may be held: reclaim.c is to see to it */

enum { CLPI_PAGE_BUFFERS = 31 }; /* a prime number, of which 3 is a primitive root */
typedef struct clpi_page {
  struct clpi_page *next;
  clp_buffer buffers[CLPI_PAGE_BUFFERS];
} clpi_page;
static_assert(sizeof(clpi_page) == 4096, "a page of most systems");

#define clpi_is_holding(shards) (!(clpi_relaxed((shards)->unusual) & CLPI_HAS_ENDED))

typedef struct clpi_shards {
  /* Most is set at create, and read without a lock. */
  _Atomic size_t warm_bytes; /* the warm path allocates no more; 0 where the home stream is out of
                                order, the pool watched or one that holds nothing; stored
                                under `lock` */
  atomic_uint unusual;       /* the flags above; relaxed */
  size_t hold_bytes;         /* as the pool's option; never changes */
  unsigned forks;            /* clpi_forks when the pool was made */
  clp_pool *pool;
  clpi_spinlock *carving; /* the allocator's carver_lock, where the pool holds nothing; else NULL */
  /* By number. Stored under `all`. A thread without a shard looks at the last, which is none. */
  clpi_shard *_Atomic by_number[CLPI_SHARDS + 1];
  atomic_uint end;        /* the number behind the highest; likewise */
  atomic_uint count;      /* of shards; likewise, as the next two */
  atomic_uint look_after; /* so many calls of a shard */
  _Atomic size_t bias;    /* with this added, counts of active bytes compare as they should */
  alignas(64) clpi_bins bins;
  clpi_streams streams; /* guarded by `lock`, except what the warm path reads of them */

  alignas(128) _Atomic size_t peak_active_bytes;
  pthread_mutex_t all; /* who takes every shard's lock, or makes a shard */
  clpi_shard *first;   /* for the first thread that needs one; guarded by `all`; then NULL */

  alignas(128) pthread_mutex_t lock; /* the pool's; guards what follows, and the rest of the pool */
  uint64_t tick;                     /* the highest of the shards' when all were last locked */
  size_t managed_bytes;  /* from the device; changes under `lock` and the missing thread's shard */
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

/* Frees shards, buffers and bins of a pool that nobody can reach any more. */
void clpi_shards_end(clpi_shards *shards);

/* A shard that has a slot for the index: the calling thread's, with a new slot if need be; if there
 * is no host memory for that, any. NULL: none has one, so nobody has ever allocated from the bin.
 * Under no lock. */
clpi_shard *clpi_shard_for(clpi_shards *shards, uint32_t index);

/* clpi_shards.lock, and `carving`: what both guard that is the pool's. */
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

/* Locks such a shard, and the pool. There is one. */
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

/* --- buffers: made a page at a time, recycled, and freed only with the pool, so that a second
 * release of a buffer never reads freed memory --- */

/* A buffer without a block, of a new page if need be. NULL: out of host memory. Under no lock. */
clp_buffer *clpi_buffer_take(clpi_shards *shards);

/* Makes a buffer spare again. `pool` and `bin` stay: a second release reads them without a lock.
 * Under clpi_shards.lock. */
void clpi_buffer_put_locked(clpi_shards *shards, clp_buffer *buffer);

/* Goes through the buffers, spare ones included. Under all locks. */
#define clpi_each_buffer(shards, buffer)                                                           \
  for (clpi_page *page = (shards)->pages; page; page = page->next)                                 \
    for (clp_buffer *buffer = page->buffers; buffer < page->buffers + CLPI_PAGE_BUFFERS; buffer++)

/* --- counts ---
 *
 * The peak of active bytes is exact while one shard is in use. Where several are, a shard looks at
 * what all have, without their locks: before its own count falls from a new height; at the first
 * release after some calls; and at misses. */

/* Looks; clpi_look_locked, where hold_bytes is a bound, also has the next release look at what is
 * held. Under the shard's lock. */
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

/* Whether so many bytes more may be managed within a limit; 0: none but SIZE_MAX. Under `lock`. */
bool clpi_may_manage_locked(const clpi_shards *shards, size_t limit, size_t bytes);

/* Counts a block that is new from the allocator, of block_bytes, and gives the buffer, whose memory
 * it is, out for a request of `bytes`. Under the locks of the shard and the pool. */
void clpi_count_new_locked(clpi_shards *shards, clpi_shard *shard, clp_buffer *buffer,
                           clpi_bin *bin, size_t block_bytes, size_t bytes);

/* --- the warm path: a block from or to the calling thread's shard ---
 *
 * It touches the shard, the slot and one cache line of the buffer. Whatever is unusual takes the
 * slow path. */

/* How a call comes by its shard's lock. */
typedef enum clpi_patience { CLPI_WAITS_FOR_SHARD, CLPI_TRIES_SHARD } clpi_patience;

/* The shard of the thread of this number; NULL: it has none, or the pool is a parent's. */
static inline clpi_shard *clpi_shard_of_number(const clpi_shards *shards, uint32_t number)
{
  return clpi_is_inherited(shards->forks) ? NULL : clpi_acquired(shards->by_number[number]);
}

/* Hands out a held block, which is in no lane any more. */
static inline void clpi_hand_out_locked(clpi_shard *shard, clpi_slot *slot, clp_buffer *block,
                                        uint32_t index, size_t bytes)
{
  clpi_set_relaxed(block->index, index);
  block->size = bytes;
  slot->hits++;
  clpi_count_allocated_locked(shard, bytes);
}

/* Takes a lock, if it need not wait for that or may. */
#define clpi_lock_warm(lock, patience)                                                             \
  (clpi_spinlock_try(lock) || ((patience) == CLPI_WAITS_FOR_SHARD && clpi_spinlock_wait(lock)))

/* From this shard, which may be NULL: the newest block that the stream used last. `bytes` is 1 to
 * the largest block. NULL: take the slow path. */
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

/* Into this shard, which may be NULL. False: nothing was done; take the slow path. */
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

/* Takes and hands out a block of `bytes`, of the bin of this index, that the stream used last: from
 * this shard, which has a slot for the bin, or else another, out of which come some more for the
 * next calls. NULL: no shard has one; or the stream is out of order, or not among the shard's
 * recent ones; or the pool holds no more. Then is_held tells whether a shard has
 * blocks of the bin, of whatever stream. Blocks that move from shard to shard meanwhile may be
 * missed. Under no lock. */
clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, uint32_t index, clpi_given given,
                           size_t bytes, bool *is_held);

#endif
