/* SPDX-License-Identifier: MIT */
/* Blocks kept by a thread, so that a warm allocate and release needs no lock and no atomic
 * read-modify-write. doc/thread-cache.md gives the invariants and why no block is lost.
 *
 * A cache belongs to one stock and one thread, its owner. There are two ways in:
 *   - the owner enters, works on it and leaves (warm_path.h);
 *   - any thread that has the stock's lock claims the caches of the others (claim.h).
 * While a thread has the lock, it may use its own cache without either. */
#ifndef CLPOOL_CORE_CACHE_THREAD_CACHE_H
#define CLPOOL_CORE_CACHE_THREAD_CACHE_H

#include "core/base/list.h"
#include "core/cache/door.h"
#include "core/cache/stock.h"

#include <stdatomic.h>

enum {
  CLPI_CACHE_SWEEP_INTERVAL = 1 << 13 /* warm releases between two sweeps (transfer.h) */
};

/* What a cache has from the start, since many threads use few bins of many pools. */
enum { CLPI_FIRST_PLACES_LOG = 3, CLPI_FIRST_BUFFERS = 3 };

/* One bin's blocks in one cache. A stack of pointers, not a list, so that batches move without
 * touching the blocks, whose cache lines may belong to other processors. The owner or the claimer
 * stores `top`, `limit` and `blocks`; others load them for a hint; relaxed. Those that miss look at
 * the first line of each other's slots, and so, without the lock, do not write to their own. A slot
 * that a cache does not have is all zeros.
 *
 * A slot's room grows as long as what it gave to the store comes back. The slot of an owner that
 * only releases what others allocate is an outlet: its blocks go to the bin's depot (exchange.h) in
 * batches, which grow until somebody must search for blocks that wait for the rest of theirs.
 */
typedef struct clpi_slot {
  alignas(128) clp_buffer **_Atomic top; /* behind the newest block */
  clp_buffer **_Atomic limit;            /* a release that finds `top` here or above takes the slow
                                            path */
  uint64_t hits, releases;               /* the owner's counts for the bin, with `misses` */
  clp_buffer **_Atomic blocks;           /* the oldest block; clpi_no_block is before it */
  /* Most bins of most threads never have more blocks at once, and two of them are in the same line
   * as all that a warm call looks at. */
  clp_buffer *first_places[1 << CLPI_FIRST_PLACES_LOG];
  uint64_t *misses;   /* apart, as processors fetch lines in pairs */
  unsigned given;     /* blocks that went to the store, less twice those that came back */
  uint32_t allocated; /* low bits of the owner's allocations when blocks last went to the store, */
  uint32_t swept;     /* and at the last sweep */
  unsigned char capacity_log; /* 2 to the power of it, less clpi_no_block's, are places */
  unsigned char own_room_log; /* and so many of them the room while the owner allocates; 0: none */
  unsigned char outlet_log;   /* and so many blocks an outlet collects for the depot */
  atomic_bool is_outlet;      /* as `top` */
} clpi_slot;
static_assert(sizeof(clpi_slot) == 128, "a slot is one pair of lines");
static_assert(offsetof(clpi_slot, first_places) + 3 * sizeof(clp_buffer *) <= 64,
              "clpi_no_block and two blocks are in the first line");

static inline clpi_tally clpi_slot_tally(const clpi_slot *slot)
{
  return (clpi_tally){.hits = slot->hits, .misses = *slot->misses, .releases = slot->releases};
}

/* What is on top of a slot without blocks: no stream has used it, so nobody takes it. */
extern clp_buffer clpi_no_block __attribute__((visibility("hidden")));

/* What a cache has for a far slot that it does not have. */
extern const clpi_slot clpi_empty_slot __attribute__((visibility("hidden")));

enum { CLPI_RECENT_STREAMS = 4 };

/* The slots of a pool's first bins are in the cache, where a warm call finds them without a pointer
 * more. Those of others are in chunks, since a thread may use few of very many. */
enum { CLPI_MOST_NEAR = 64 };

typedef struct clpi_slot_chunk {
  struct clpi_slot_chunk *older;
  uint32_t count, used;
  clpi_slot slots[]; /* and behind them their `misses` */
} clpi_slot_chunk;

typedef struct clpi_cache {
  alignas(128) clpi_door door; /* its lock is the stock's */
  _Atomic size_t below_peak;   /* what the owners' active bytes lack to their peak; stored by them,
                                  others load it; relaxed */
  _Atomic size_t peak_active;  /* the most that they had active since the peak was last noted
                                  (counts.h): allocated less released, wrapped; as below_peak */
  size_t ceiling; /* when active bytes pass it, the next release of any thread notes the peak */
  _Atomic uint64_t tick; /* a Lamport clock, so that ages of blocks can be compared across caches;
                            stored by the owner or the claimer; others load it; relaxed */
  uint64_t sweep_tick;   /* when the next sweep is due */
  clpi_slab *_Atomic open_slabs; /* its slabs that have spare buffers; the owner's */
  unsigned slab_count;           /* that were made for it */
  atomic_bool is_slow;           /* the owner is on the slow path, or waits for the lock; relaxed */

  /* Streams that the owner used last; NULL: none. */
  alignas(64) clpi_stream *recent[CLPI_RECENT_STREAMS];
  /* What the owner took from the device without the lock, and asks for now; as below_peak. */
  _Atomic size_t managed_bytes, reserved_bytes;
  size_t misses;        /* of the owner's that are under way without the lock, and pin the pool */
  clpi_slab *returning; /* slabs that the owner took from `returned` */

  /* Owners of other caches read this when they miss, while they are inside their own. So `far` and
   * `next` change only where all other caches are claimed, and no miss writes to these lines.
   */
  alignas(64) struct clpi_cache *_Atomic next; /* link in clpi_stock.caches */
  clpi_slot *_Atomic *far; /* by the index less CLPI_MOST_NEAR; clpi_empty_slot: none */
  uint32_t far_count;
  uint32_t near_end;   /* the index behind the last near slot that it has */
  const void *owner;   /* its clpi_self, which identifies the thread; NULL: that has ended */
  clpi_stock *stock;   /* never changes */
  clpi_list on_thread; /* link on the owner's list; guarded by the registry's lock */

  /* The sweeps so far, and the releases before the next one whose buffers were looked at
   * (transfer.c); 0: they are not. The owner's. */
  alignas(64) uint32_t sweeps;
  uint32_t looks;
  _Atomic uint64_t device_frees; /* of the owner's, without the lock; as below_peak */
  clpi_slot_chunk *chunks;       /* of far slots; the newest */
  size_t excess_bytes;  /* of managed_bytes, those taken though there were blocks (exchange.h) */
  size_t others_active; /* bytes active elsewhere when the peak was last noted */
  uint64_t seen_tick;   /* these, when another thread last looked (search.c) */
  size_t seen_active;
  clpi_slab *_Atomic returned; /* its slabs of which others returned buffers (slabs.h) */

  /* These stay when the cache serves another thread. */
  clpi_slab first_slab;            /* of first_buffers */
  struct clpi_cache *former_batch; /* clpi_stock.cache_batches */
  clp_buffer first_buffers[CLPI_FIRST_BUFFERS];

  /* By clpi_bin.index. */
  uint64_t near_misses[CLPI_MOST_NEAR];
  clpi_slot near[CLPI_MOST_NEAR];
} clpi_cache;

/* The first of a stock's places says how many there are; the others are by clpi_thread.number, and
 * NULL where the thread has no cache. There are always CLPI_LEAST_PLACES, so that a thread of a
 * lower number need not ask. */
enum { CLPI_LEAST_PLACES = 64 };

typedef union clpi_place {
  size_t count;
  clpi_cache *_Atomic cache; /* stored under the stock's lock */
} clpi_place;

/* What a stock begins with. */
extern clpi_place clpi_no_places[CLPI_LEAST_PLACES] __attribute__((visibility("hidden")));

/* Places that are too few stay for those that look at them. */
typedef struct clpi_place_table {
  struct clpi_place_table *former;
  clpi_place places[];
} clpi_place_table;

#define clpi_each_cache(stock, cache)                                                              \
  for (clpi_cache *cache = clpi_acquired((stock)->caches); cache;                                  \
       cache = clpi_acquired(cache->next))

/* The calling thread's cache, made or taken over from a thread that has ended if need be, with a
 * slot for the bin if there is host memory for it; `bin` may be NULL. NULL when the stock holds no
 * more or there is no host memory, which is no error. */
clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin);

/* A second thread has come, with a cache or without one: the only owner so far has noted no peak,
 * and need not have held anything, in a direct pool. */
void clpi_caches_begin_sharing_locked(clpi_stock *stock);

/* Locks the stock for a call of the owner's, which is not idle meanwhile. Returns its cache, for
 * clpi_cache_end_call_locked; NULL: it has none yet. */
clpi_cache *clpi_stock_begin_call(clpi_stock *stock);
void clpi_cache_end_call_locked(clpi_cache *cache);

/* Takes the calling thread's cache from it. */
void clpi_cache_disown_locked(clpi_stock *stock, clpi_cache *cache);

/* Removes an empty cache from the stock, which keeps its memory for the next one. All caches are
 * claimed. */
void clpi_cache_spare_locked(clpi_stock *stock, clpi_cache *cache);

/* Frees the caches and tables of a stock that nobody can reach any more, and whose slabs have
 * ended. */
void clpi_caches_end(clpi_stock *stock);

#endif
