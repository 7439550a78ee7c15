/* SPDX-License-Identifier: MIT */
/* The life of shards and of their slots. */
#include "core/shard/shard.h"

#include "core/base/fork.h"
#include "core/shard/buffers.h"
#include "core/shard/counts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* glibc has adaptive mutexes, which spin briefly before they sleep. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define LOCK_INIT ((pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
#else
#define LOCK_INIT ((pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER)
#endif

/* Zeros, of a multiple of the alignment. NULL: out of host memory. */
static void *make_zeros(size_t alignment, size_t bytes)
{
  void *memory = aligned_alloc(alignment, bytes);
  return memory ? memset(memory, 0, bytes) : NULL;
}

bool clpi_shards_init(clpi_shards *shards, clp_pool *pool, unsigned leading_bits,
                      size_t max_block_bytes)
{
  clpi_threads_watch();
  shards->pool = pool;
  shards->forks = clpi_relaxed(clpi_forks);
  shards->holding = true;
  shards->all = shards->lock = LOCK_INIT;
  return clpi_bins_init(&shards->bins, leading_bits, max_block_bytes);
}

void clpi_shards_end(clpi_shards *shards)
{
  clpi_each_shard (shards, shard) {
    for (size_t i = 0; i < CLPI_INDEX_CHUNKS; i++)
      free(clpi_relaxed(shard->far[i]));
    free(shard);
  }
  clpi_buffers_end(shards);
  clpi_bins_end(&shards->bins);
  pthread_mutex_destroy(&shards->all);
  pthread_mutex_destroy(&shards->lock);
}

/* What the new shard releases is newer than all before. An only shard so far has noted no peak. */
static void look_at_others(clpi_shards *shards, clpi_shard *made)
{
  clpi_each_shard (shards, shard) {
    clpi_spinlock_lock(&shard->lock);
    clpi_note_peak_locked(shards, shard);
    made->tick = MAX(made->tick, shard->tick);
    made->others_active += clpi_relaxed(shard->active_bytes);
    clpi_spinlock_unlock(&shard->lock);
  }
}

static clpi_shard *make_shard(clpi_shards *shards, uint32_t number)
{
  clpi_shard *made = make_zeros(alignof(clpi_shard), sizeof(*made));
  pthread_mutex_lock(&shards->all);
  clpi_shard *found = clpi_relaxed(shards->by_number[number]);
  if (!found && made) {
    look_at_others(shards, made);
    made->number = number;
    clpi_set_relaxed(shards->count, clpi_relaxed(shards->count) + 1);
    clpi_publish(shards->end, MAX(clpi_relaxed(shards->end), number + 1));
    clpi_publish(shards->by_number[number], made);
    found = made;
    made = NULL;
  }
  pthread_mutex_unlock(&shards->all);
  free(made);
  return found;
}

clpi_shard *clpi_shard_of_thread(clpi_shards *shards)
{
  clpi_thread_join();
  clpi_shard *own = clpi_acquired(shards->by_number[clpi_self.number]);
  if (!own)
    own = make_shard(shards, clpi_self.number);
  if (own)
    return own;
  clpi_each_shard (shards, shard)
    return shard;
  return NULL;
}

static clpi_slot *make_slot(clpi_shard *shard, uint32_t index)
{
  unsigned chunk = clpi_place_of(index).chunk;
  clpi_slot *made = make_zeros(alignof(clpi_slot), sizeof(*made) * clpi_chunk_count(chunk));
  clpi_slot *none = NULL;
  if (made && !atomic_compare_exchange_strong(&shard->far[chunk], &none, made))
    free(made);
  return clpi_slot_at(shard, index);
}

clpi_shard *clpi_shard_for(clpi_shards *shards, uint32_t index)
{
  clpi_shard *own = clpi_shard_of_thread(shards);
  if (!own || clpi_slot_at(own, index) || make_slot(own, index))
    return own;
  clpi_each_slot (shards, index, shard, slot)
    return shard;
  return NULL;
}

clpi_shard *clpi_shards_lock(clpi_shards *shards, uint32_t index)
{
  clpi_shard *shard = clpi_shard_for(shards, index);
  clpi_spinlock_lock(&shard->lock);
  pthread_mutex_lock(&shards->lock);
  return shard;
}

void clpi_shards_unlock(clpi_shards *shards, clpi_shard *shard)
{
  pthread_mutex_unlock(&shards->lock);
  clpi_spinlock_unlock(&shard->lock);
}

void clpi_shards_set_unusual_locked(clpi_shards *shards, unsigned flag, bool is)
{
  unsigned before = clpi_relaxed(shards->unusual), now = is ? before | flag : before & ~flag;
  bool is_cold = now || !shards->streams.home.is_in_order;
  clpi_set_relaxed(shards->unusual, now);
  clpi_set_relaxed(shards->warm_bytes, is_cold ? 0 : shards->bins.max_block_bytes);
}

/* Moves the stream to the front, so that the next search finds it first. */
static void remember(clpi_shard *shard, clpi_stream *stream)
{
  size_t i = 0;
  while (i < CLPI_RECENT_STREAMS - 1 && shard->recent[i] != stream)
    i++;
  memmove((void *)&shard->recent[1], (void *)&shard->recent[0], i * sizeof(shard->recent[0]));
  shard->recent[0] = stream;
}

void clpi_shard_unpin_stream_locked(clpi_shards *shards, clpi_shard *shard, clpi_stream *stream)
{
  if (stream->is_in_order)
    remember(shard, stream);
  clpi_stream_unpin_locked(&shards->streams, stream);
}
