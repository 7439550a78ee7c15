/* SPDX-License-Identifier: MIT */
/* The device and the pools that are fuzzed, and what their user has: see subject.h. */
#include "subject.h"

#include <clpool/arena.h>
#include <string.h>
#include <time.h>

static clp_stream stream_of(const subject *it, int stream)
{
  return stream < 0 ? NULL : it->streams[stream];
}

/* A call fails for what was made to fail alone. */
static void require_success(const subject *it, clp_status status)
{
  fuzz_require(status == CLP_SUCCESS || (it->has_faults && status == CLP_BACKEND_ERROR));
}

/* --- what is in a buffer --- */

static void order(subject *it, int earlier, int later)
{
  if (earlier >= 0 && earlier != later)
    clpt_late_order(&it->device, it->streams[earlier], it->streams[later]);
}

/* Makes the stream wait for the streams that have only read. */
static void join_readers(subject *it, subject_slot *slot, int stream)
{
  for (int reader = 0; reader < SUBJECT_STREAMS; reader++)
    if (slot->readers & 1u << reader)
      order(it, reader, stream);
  slot->readers = 0;
}

static void note_use(subject *it, subject_slot *slot, int stream)
{
  clp_status status = clp_buffer_record_use(slot->buffer, it->streams[stream]);
  require_success(it, status);
  if (status == CLP_SUCCESS)
    slot->noted |= 1u << stream;
}

void subject_write(subject *it, unsigned at, int stream)
{
  subject_slot *slot = &it->slots[at];
  clp_memory memory = clp_buffer_memory(slot->buffer);
  if (!slot->buffer || !memory)
    return;
  if (it->kind == SUBJECT_HOST)
    memset((void *)memory, ++slot->pattern, slot->bytes);
  if (it->kind != SUBJECT_LATE || stream < 0)
    return;
  order(it, slot->last, stream);
  join_readers(it, slot, stream);
  clpt_late_write(&it->device, it->streams[stream], memory);
  clpt_late_read(&it->device, it->streams[stream], memory);
  slot->last = stream;
  slot->is_written = true;
}

/* What reads beside the chain of writers has to be noted, and is not waited for by the user. */
void subject_read(subject *it, unsigned at, int stream)
{
  subject_slot *slot = &it->slots[at];
  clp_memory memory = clp_buffer_memory(slot->buffer);
  if (it->kind != SUBJECT_LATE || !slot->is_written || !slot->buffer || !memory)
    return;
  note_use(it, slot, stream);
  if (!(slot->noted & 1u << stream))
    return;
  order(it, slot->last, stream);
  clpt_late_read(&it->device, it->streams[stream], memory);
  slot->readers |= 1u << stream;
}

static void check_content(const subject *it, const subject_slot *slot)
{
  const unsigned char *content = (const unsigned char *)clp_buffer_memory(slot->buffer);
  if (it->kind != SUBJECT_HOST || !content)
    return;
  for (size_t i = 0; i < slot->bytes; i++)
    fuzz_require(content[i] == slot->pattern);
}

/* The buffer in a slot shares no byte with another one. */
static void check_overlaps(const subject *it, unsigned at)
{
  const clp_buffer *new = it->slots[at].buffer;
  clp_memory begin = clp_buffer_memory(new), end = begin + clp_buffer_capacity(new);
  for (unsigned i = 0; i < SUBJECT_SLOTS; i++) {
    const clp_buffer *other = i == at ? NULL : it->slots[i].buffer;
    clp_memory first = clp_buffer_memory(other);
    fuzz_require(end <= first || first + clp_buffer_capacity(other) <= begin);
  }
}

/* --- calls on buffers --- */

static size_t held_blocks(const subject *it, unsigned pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  fuzz_require(clp_pool_get_stats(it->pools[pool], &stats) == CLP_SUCCESS);
  return stats.held_blocks;
}

/* Nothing is refused while there is something to give back. */
static void check_refusal(const subject *it, clp_status status, unsigned pool, size_t bytes)
{
  clp_pool *refused = it->pools[pool];
  size_t limit = clp_pool_get_limit(refused);
  fuzz_require(bytes > 0 || it->has_faults);
  if (it->has_faults)
    fuzz_require(status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED ||
                 status == CLP_BACKEND_ERROR);
  else if (status == CLP_LIMIT_EXCEEDED)
    fuzz_require(limit > 0 &&
                 (held_blocks(it, pool) == 0 ||
                  clp_pool_alloc_size(refused, clp_pool_bin_number(refused, bytes)) > limit));
  else
    fuzz_require(status == CLP_OUT_OF_DEVICE_MEMORY && !held_blocks(it, 0) && !held_blocks(it, 1));
}

/* As users do who try for a hit first, or as the others. */
static clp_status ask(clp_pool *pool, size_t bytes, clp_stream stream, bool tries, clp_buffer **out)
{
  bool served = tries && (stream ? clp_pool_try_allocate_on(pool, bytes, stream, out)
                                 : clp_pool_try_allocate(pool, bytes, out));
  fuzz_require(served == (*out != NULL));
  if (served)
    return CLP_SUCCESS;
  return stream ? clp_pool_allocate_on(pool, bytes, stream, out)
                : clp_pool_allocate(pool, bytes, out);
}

void subject_allocate(subject *it, unsigned at, unsigned pool, size_t bytes, int stream)
{
  subject_slot *slot = &it->slots[at];
  clp_buffer *buffer = NULL;
  clp_status status = ask(it->pools[pool], bytes, stream_of(it, stream), at % 2, &buffer);
  if (status) {
    fuzz_require(!buffer);
    check_refusal(it, status, pool, bytes);
    return;
  }
  fuzz_require(clp_buffer_size(buffer) == bytes);
  fuzz_require(clp_buffer_capacity(buffer) >= bytes);
  fuzz_require((clp_buffer_memory(buffer) == 0) == (bytes == 0));
  fuzz_require(clp_buffer_pool(buffer) == it->pools[pool]);
  *slot = (subject_slot){.buffer = buffer,
                         .bytes = bytes,
                         .pool = pool,
                         .generation = it->generations[pool],
                         .pattern = slot->pattern,
                         .last = stream < 0 && it->has_home ? 0 : stream,
                         .bound = -1};
  it->allocated[pool]++;
  check_overlaps(it, at);
  subject_write(it, at, slot->last);
  if (it->kind == SUBJECT_HOST)
    subject_write(it, at, -1);
}

/* Orders what a release needs ordered, which is what the user must do: all but what was noted. */
static void prepare_release(subject *it, const subject_slot *slot, int stream)
{
  int on = stream >= 0 ? stream : slot->bound >= 0 ? slot->bound : it->has_home ? 0 : -1;
  if (on >= 0)
    order(it, slot->last, on);
  else if (slot->last >= 0)
    clpt_late_finish(&it->device, it->streams[slot->last]);
}

void subject_release(subject *it, unsigned at, int stream)
{
  subject_slot *slot = &it->slots[at];
  clp_buffer *buffer = slot->buffer;
  if (!buffer)
    return;
  check_content(it, slot);
  if (it->kind == SUBJECT_LATE)
    prepare_release(it, slot, stream);
  bool is_orphan = slot->generation != it->generations[slot->pool];
  bool is_live = !is_orphan && !it->stopped[slot->pool];
  if (is_orphan)
    it->device.failing = 0; /* so that the buffer is gone, and maybe its pool */
  slot->buffer = NULL;
  clp_status status =
      stream < 0 ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, it->streams[stream]);
  require_success(it, status);
  if (status) { /* the stream was refused, so that it is still the user's; or the memory was */
    clpt_late_run_all(&it->device);
    if (clp_buffer_release(buffer) == CLP_SUCCESS)
      return;
  }
  if (is_live) {
    fuzz_require(clp_buffer_release(buffer) == CLP_ALREADY_RELEASED);
    fuzz_require(clp_buffer_record_use(buffer, stream_of(it, 1)) != CLP_SUCCESS);
  }
}

void subject_bind(subject *it, unsigned at, int stream)
{
  subject_slot *slot = &it->slots[at];
  if (it->kind != SUBJECT_LATE || !slot->buffer)
    return;
  if (slot->last != slot->bound) /* otherwise it is the pool's to order */
    order(it, slot->last, stream);
  join_readers(it, slot, stream);
  clp_status status = clp_buffer_bind(slot->buffer, it->streams[stream]);
  require_success(it, status);
  if (status)
    return;
  slot->bound = stream;
  slot->last = stream;
}

void subject_unbind(subject *it, unsigned at)
{
  subject_slot *slot = &it->slots[at];
  if (it->kind != SUBJECT_LATE || !slot->buffer)
    return;
  clp_status status = clp_buffer_unbind(slot->buffer);
  require_success(it, status);
  if (status || slot->bound < 0)
    return;
  if (slot->last == slot->bound)
    slot->last = -1;
  slot->bound = -1;
}

/* --- streams --- */

/* A stream that ends must be the last of no buffer's: its work is waited for. */
static void leave_stream(subject *it, int stream)
{
  for (subject_slot *slot = it->slots; slot < it->slots + SUBJECT_SLOTS; slot++) {
    if (!slot->buffer || (slot->last != stream && !(slot->readers & 1u << stream)))
      continue;
    clpt_late_finish(&it->device, it->streams[stream]);
    slot->readers &= ~(1u << stream);
    if (slot->last == stream)
      slot->last = -1;
  }
}

/* What forgetting a stream gives in that pool. */
static clp_status forgetting(const subject *it, unsigned pool, int stream)
{
  if (it->has_home && stream == 0)
    return CLP_INVALID_ARGUMENT;
  for (const subject_slot *slot = it->slots; slot < it->slots + SUBJECT_SLOTS; slot++)
    if (slot->buffer && slot->pool == pool && slot->generation == it->generations[pool] &&
        (slot->bound == stream || slot->noted & 1u << stream))
      return CLP_BUSY;
  return CLP_SUCCESS;
}

/* Whether the stream is known to a pool that the user does not have any more. */
static bool has_orphans(const subject *it)
{
  for (const subject_slot *slot = it->slots; slot < it->slots + SUBJECT_SLOTS; slot++)
    if (slot->buffer && slot->generation != it->generations[slot->pool])
      return true;
  return false;
}

void subject_replace_stream(subject *it, int stream)
{
  bool is_forgotten = true;
  if (it->kind != SUBJECT_LATE)
    return;
  for (unsigned pool = 0; pool < SUBJECT_POOLS; pool++) {
    clp_status status = clp_pool_forget_stream(it->pools[pool], it->streams[stream]);
    fuzz_require(status == forgetting(it, pool, stream) ||
                 (it->has_faults && status == CLP_BACKEND_ERROR));
    is_forgotten = is_forgotten && !status;
  }
  if (!is_forgotten || has_orphans(it))
    return;
  leave_stream(it, stream);
  clpt_late_stream_destroy(&it->device, it->streams[stream]);
  it->streams[stream] = clpt_late_stream_new(&it->device);
}

/* --- figures --- */

static void check_pool(subject *it, unsigned pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  size_t blocks = 0, empty = 0, asked = 0, capacity = 0;
  for (const subject_slot *slot = it->slots; slot < it->slots + SUBJECT_SLOTS; slot++) {
    if (!slot->buffer || slot->pool != pool || slot->generation != it->generations[pool])
      continue;
    blocks++;
    empty += slot->bytes == 0;
    asked += slot->bytes;
    capacity += clp_buffer_capacity(slot->buffer);
  }
  fuzz_require(clp_pool_get_stats(it->pools[pool], &stats) == CLP_SUCCESS);
  fuzz_require(stats.active_blocks == blocks);
  fuzz_require(stats.active_bytes == asked);
  fuzz_require(stats.managed_bytes == stats.held_bytes + capacity);
  fuzz_require(stats.device_allocations - stats.device_frees == stats.held_blocks + blocks - empty);
  fuzz_require(stats.peak_managed_bytes >= stats.managed_bytes);
  fuzz_require(stats.peak_active_bytes >= stats.active_bytes);
  fuzz_require(stats.allocations == stats.hits + stats.misses);
  fuzz_require(stats.allocations == it->allocated[pool]);
  fuzz_require(!it->stopped[pool] || it->has_faults || stats.held_blocks == 0);
  size_t limit = clp_pool_get_limit(it->pools[pool]);
  fuzz_require(!limit || stats.managed_bytes <= limit || stats.managed_bytes <= it->managed[pool]);
  it->managed[pool] = stats.managed_bytes;
}

void subject_check(subject *it)
{
  for (unsigned pool = 0; pool < SUBJECT_POOLS; pool++)
    check_pool(it, pool);
  fuzz_require(it->inside == 0);
  if (it->kind == SUBJECT_LATE && it->device.wrong[0])
    (void)fprintf(stderr, "%s\n", it->device.wrong);
  fuzz_require(it->kind != SUBJECT_LATE || !it->device.wrong[0]);
}

/* --- begin and end --- */

static void count_in(const clp_hook_event *event, void *user_data)
{
  (void)event;
  ++*(int *)user_data;
}

static void count_out(const clp_hook_event *event, void *user_data)
{
  (void)event;
  fuzz_require(--*(int *)user_data >= 0);
}

/* Releases a buffer, for as long as the program has some to spare. */
static bool spare_one(clp_pool *pool, size_t bytes, void *user_data)
{
  subject *it = user_data;
  (void)pool, (void)bytes;
  for (unsigned slot = 0; it->spares > 0 && slot < SUBJECT_SLOTS; slot++)
    if (it->slots[slot].buffer) {
      it->spares--;
      subject_release(it, slot, -1);
      return true;
    }
  return false;
}

static void make_pool(subject *it, unsigned pool)
{
  it->allocated[pool] = 0;
  it->stopped[pool] = false;
  it->managed[pool] = 0;
  fuzz_require(clp_pool_create(it->allocator, &it->options, &it->pools[pool]) == CLP_SUCCESS);
}

void subject_replace_pool(subject *it, unsigned pool)
{
  it->device.failing = 0; /* what an ending pool cannot give back is lost */
  clp_pool_release(it->pools[pool]);
  it->generations[pool]++;
  make_pool(it, pool);
}

/* The library's naps, during which each stream does a piece of its work. */
static subject *napping;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration;
  (void)left;
  for (int i = 0; i < SUBJECT_STREAMS; i++)
    (void)clpt_late_step(&napping->device, napping->streams[i]);
  return 0;
}

static clp_allocator *make_late(subject *it, uint8_t kind, size_t capacity)
{
  clp_allocator *made = NULL;
  napping = it;
  clpt_late_init(&it->device);
  clpt_late_set_freeing(&it->device, kind / 4 % CLPT_LATE_FREEINGS);
  it->device.capacity = capacity;
  it->device.streams.reuse_addresses = true;
  it->device.marks_are_work = kind & 64;
  it->device.ops.exclusive_parts = kind & 128;
  for (int i = 0; i < SUBJECT_STREAMS; i++)
    it->streams[i] = clpt_late_stream_new(&it->device);
  it->has_home = kind & 32;
  it->device.ops.home_stream = it->has_home ? it->streams[0] : NULL;
  fuzz_require(clp_allocator_create(&it->device.ops, &it->device, &made) == CLP_SUCCESS);
  return made;
}

static clp_allocator *make_allocator(subject *it, uint8_t kind, size_t capacity)
{
  clp_allocator *made = NULL;
  if (it->kind == SUBJECT_LATE)
    return make_late(it, kind, capacity);
  clp_status status = it->kind == SUBJECT_HOST ? clp_host_allocator_create(0, &made)
                                               : clp_simulated_allocator_create(capacity, &made);
  fuzz_require(status == CLP_SUCCESS);
  return made;
}

static void put_arena(subject *it, uint8_t choice)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *upstream = it->allocator;
  options.slack = (choice & 3) / 4.0;
  options.min_segment_bytes = choice & 4 ? 1 << 12 : 1 << 14;
  fuzz_require(clp_arena_allocator_create(upstream, &options, &it->allocator) == CLP_SUCCESS);
  clp_allocator_release(upstream);
}

void subject_begin(subject *it, const uint8_t *bytes)
{
  static const subject_kind kinds[] = {SUBJECT_LATE, SUBJECT_LATE, SUBJECT_HOST, SUBJECT_SIMULATED};
  memset(it, 0, sizeof(*it));
  it->kind = kinds[bytes[0] % 4];
  it->allocator = make_allocator(it, bytes[0], (size_t)bytes[1] << 8);
  if (bytes[2] & 128)
    put_arena(it, bytes[2] >> 4);
  it->options = (clp_pool_options)CLP_POOL_OPTIONS_INIT;
  it->options.reuse_flags = bytes[2] & 3;
  it->options.leading_bits_in_bin_id = bytes[2] >> 2 & 3;
  it->options.on_out_of_memory = spare_one;
  it->options.user_data = it;
  it->hook = (clp_hook){sizeof(clp_hook), "fuzz",   &it->inside, count_in, count_out, count_in,
                        count_out,        count_in, count_out,   count_in, count_out};
  for (unsigned pool = 0; pool < SUBJECT_POOLS; pool++)
    make_pool(it, pool);
}

void subject_end(subject *it)
{
  it->device.failing = 0;
  (void)clp_hook_pop(&it->hook);
  for (unsigned slot = 0; slot < SUBJECT_SLOTS; slot++)
    subject_release(it, slot, -1);
  for (unsigned pool = 0; pool < SUBJECT_POOLS; pool++)
    clp_pool_release(it->pools[pool]);
  clp_allocator_release(it->allocator);
  if (it->kind != SUBJECT_LATE)
    return;
  const char *left = clpt_late_find_wrong(&it->device);
  if (left)
    (void)fprintf(stderr, "%s\n", left);
  fuzz_require(!left);
  clpt_late_end(&it->device);
}
