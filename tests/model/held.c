/* SPDX-License-Identifier: MIT */
/* Held blocks as the model has them, where each block of a pool is one of the fake device's: which
 * of them must serve an allocation and which may not, and in which order they go back. */
#include "model.h"

static model_held *find(model *it, clp_memory memory)
{
  for (size_t i = 0; i < it->held_count; i++)
    if (it->held[i].memory == memory)
      return &it->held[i];
  return NULL;
}

static void take_out(model *it, model_held *held)
{
  *held = it->held[--it->held_count];
}

/* --- blocks that go back to the device --- */

/* A trim frees the oldest block. A request frees the largest of its own pool, and where that has
 * none, the largest of another pool. */
static void check_order(const model *it, const model_held *freed)
{
  for (const model_held *other = it->held; other < it->held + it->held_count; other++) {
    bool is_same_pool = other->pool == freed->pool;
    if (it->phase == MODEL_TRIMS && is_same_pool)
      REQUIRE(other->age >= freed->age);
    if (it->phase == MODEL_ALLOCATES && is_same_pool)
      REQUIRE(other->bytes <= freed->bytes);
    if (it->phase == MODEL_ALLOCATES && freed->pool != it->phase_pool)
      REQUIRE(other->pool != it->phase_pool);
  }
}

/* Called by the device, under its lock. */
static void see_free(clpt_late_device *device, clp_memory memory)
{
  model *it = device->on_free_data;
  model_held *freed = find(it, memory);
  if (!freed)
    return; /* of a pool that ended or holds no more, or never handed out */
  if (!it->may_fail)
    check_order(it, freed);
  if (it->phase == MODEL_TRIMS && !it->may_fail) {
    REQUIRE(it->pools[it->phase_pool].managed > it->phase_bytes);
    it->pools[it->phase_pool].managed -= freed->bytes;
  }
  it->followed++;
  take_out(it, freed);
}

void model_held_begin(model *it)
{
  it->follows_held = it->is_fake && !it->config->arena;
  it->device.on_free = it->follows_held ? see_free : NULL;
  it->device.on_free_data = it;
}

void model_held_add(model *it, const model_slot *released, int stream)
{
  if (!it->follows_held || !released->memory)
    return;
  if (model_is_never_held(it, released))
    return;
  REQUIRE(it->held_count < MODEL_HELD_MAX);
  model_held *held = &it->held[it->held_count++];
  *held = (model_held){
      .memory = released->memory,
      .bytes = released->capacity,
      .bin = clp_pool_bin_number(it->pools[released->pool].pool, released->bytes),
      .pool = released->pool,
      .age = ++it->age,
      .streams = it->has_streams ? released->noted | (stream >= 0 ? 1u << stream : 0) : 0};
  for (int i = 0; i < MODEL_STREAMS; i++)
    if (held->streams & 1u << i)
      held->positions[i] = ((const clpt_late_stream *)it->streams[i])->given;
}

void model_held_drop(model *it, unsigned pool)
{
  for (size_t i = it->held_count; i-- > 0;)
    if (it->held[i].pool == pool)
      take_out(it, &it->held[i]);
}

void model_held_forget(model *it, unsigned pool, int stream)
{
  model_pool *at = &it->pools[pool];
  for (model_held *held = it->held; held < it->held + it->held_count; held++)
    if (held->pool == pool && held->streams & 1u << stream)
      held->is_forgotten = true;
  for (size_t i = at->mark_count; i-- > 0;)
    if (at->marks[i].stream == stream)
      at->marks[i] = at->marks[--at->mark_count];
}

/* --- blocks that serve --- */

static bool are_done(const model *it, const model_held *held, unsigned streams)
{
  for (int i = 0; i < MODEL_STREAMS; i++)
    if (streams & 1u << i && ((const clpt_late_stream *)it->streams[i])->done < held->positions[i])
      return false;
  return true;
}

/* Whether a mark that the user asked for, or else could have been made and is done at once, tells
 * that the use is done. */
static bool is_known_done(const model *it, const model_held *held, int stream)
{
  const model_pool *pool = &it->pools[held->pool];
  const clpt_late_stream *used = it->streams[stream];
  if (!it->config->marks_are_work && used->done == used->given)
    return true;
  for (size_t i = 0; i < pool->mark_count; i++)
    if (pool->marks[i].stream == stream && pool->marks[i].age >= held->age &&
        pool->marks[i].position <= used->done)
      return true;
  return false;
}

/* Streams other than `stream` that used the block last, by their bits. */
static unsigned others(const model_held *held, int stream)
{
  return stream < 0 ? held->streams : held->streams & ~(1u << stream);
}

/* Whether the pool may know of streams that they are done without CLP_REUSE_OPPORTUNISTIC: the host
 * waited for them, or their user had them marked. */
static bool may_know_done(const model *it, unsigned pool)
{
  return it->device.calls[CLPT_LATE_HOST_WAIT] > 0 || it->device.calls[CLPT_LATE_DRAIN] > 0 ||
         it->pools[pool].mark_count > 0;
}

static bool may_serve(const model *it, const model_held *held, int stream)
{
  unsigned others_left = others(held, stream);
  bool may_wait = !it->config->no_dependencies && stream >= 0;
  if (!others_left || held->is_forgotten || may_wait)
    return true;
  if (it->device.calls[CLPT_LATE_STREAM_WAIT]) /* what a stream waited for once needs no wait */
    return true;
  return (!it->config->no_opportunistic || may_know_done(it, held->pool)) &&
         are_done(it, held, others_left);
}

static bool must_serve(const model *it, const model_held *held, int stream)
{
  unsigned others_left = others(held, stream);
  if (!others_left)
    return true;
  if (held->is_forgotten)
    return false;
  if (!it->config->no_dependencies && stream >= 0)
    return true;
  bool is_only_use = (held->streams & (held->streams - 1)) == 0;
  for (int i = 0; i < MODEL_STREAMS; i++)
    if (others_left & 1u << i)
      return is_only_use && !it->config->no_opportunistic && is_known_done(it, held, i);
  return true;
}

/* Whether the pool is not sure to find a block that may serve. The blocks of one stream and bin
 * form a queue, of which the pool looks at the ends, so a block behind one that several streams
 * used may be missed; and it looks at the queues of a few streams only. */
static bool may_miss(const model *it, unsigned pool, size_t bin)
{
  enum { FEW_STREAMS = 4 };
  unsigned streams = 0;
  for (const model_held *held = it->held; held < it->held + it->held_count; held++) {
    if (held->pool != pool || held->bin != bin)
      continue;
    if (held->is_forgotten || (held->streams & (held->streams - 1)) != 0)
      return true;
    streams |= held->streams;
  }
  return __builtin_popcount(streams) > FEW_STREAMS;
}

static const model_held *youngest(const model *it, unsigned pool, size_t bin)
{
  const model_held *found = NULL;
  for (const model_held *held = it->held; held < it->held + it->held_count; held++)
    if (held->pool == pool && held->bin == bin && (!found || found->age < held->age))
      found = held;
  return found;
}

/* Where a stream has to wait for another one, it gets the block that was released first. Once
 * streams have waited, more blocks than the model knows of need no wait. */
static void check_wait(const model *it, const model_held *taken, int stream)
{
  if (it->may_fail || it->stream_waits || it->config->allocate_uses_home ||
      may_miss(it, taken->pool, taken->bin))
    return;
  unsigned left = others(taken, stream);
  if (are_done(it, taken, left))
    return;
  for (const model_held *other = it->held; other < it->held + it->held_count; other++)
    if (other->pool == taken->pool && other->bin == taken->bin)
      REQUIRE(!others(other, stream) || other->age >= taken->age);
}

/* A stream waits once for each other one at most, and for none the device is not called at all, but
 * that a stream that the pool does not know is retained. */
static void check_calls(model *it, const model_held *taken, int stream)
{
  unsigned left = others(taken, stream);
  unsigned waits = it->device.calls[CLPT_LATE_STREAM_WAIT] - it->stream_waits;
  if (it->may_fail || it->callbacks || taken->is_forgotten)
    return;
  REQUIRE(waits <= (unsigned)__builtin_popcount(left));
  REQUIRE(left || clpt_late_all_calls(&it->device) - it->device.calls[CLPT_LATE_STREAM_RETAIN] ==
                      it->device_calls);
}

bool model_held_must_serve(const model *it, unsigned pool, int stream, size_t bytes)
{
  size_t bin = clp_pool_bin_number(it->pools[pool].pool, bytes);
  if (!it->follows_held || !bytes || it->may_fail || may_miss(it, pool, bin))
    return false;
  for (const model_held *held = it->held; held < it->held + it->held_count; held++)
    if (held->pool == pool && held->bin == bin && must_serve(it, held, stream))
      return true;
  return false;
}

/* The buffer that an allocation on the stream got: a held block that may serve it, the newest if
 * there are no streams; or new memory, and then no held block had to serve. */
void model_held_serve(model *it, unsigned pool, int stream, const model_slot *got)
{
  size_t bin = clp_pool_bin_number(it->pools[pool].pool, got->bytes);
  if (!it->follows_held || !got->memory)
    return;
  model_held *taken = find(it, got->memory);
  if (taken) {
    REQUIRE(taken->pool == pool && taken->bin == bin);
    REQUIRE(taken->bytes == got->capacity);
    REQUIRE(it->may_fail || may_serve(it, taken, stream));
    REQUIRE(it->has_streams || it->may_fail || taken == youngest(it, pool, bin));
    check_wait(it, taken, stream);
    check_calls(it, taken, stream);
    it->served++;
    take_out(it, taken);
    return;
  }
  REQUIRE(it->may_fail || !it->must_hit);
}
