/* SPDX-License-Identifier: MIT */
/* What the user of pools does with buffers and streams, as the headers allow. */
#include "model.h"

#include <string.h>

static clp_stream stream_of(const model *it, int stream)
{
  return stream < 0 ? NULL : it->streams[stream];
}

static void order(model *it, int earlier, int later)
{
  if (earlier >= 0 && earlier != later)
    clpt_late_order(&it->device, it->streams[earlier], it->streams[later]);
}

/* --- contents --- */

/* The bytes of a buffer, where the host may touch them; NULL: it may not. */
static unsigned char *content_of(model *it, const model_slot *slot)
{
  if (it->config->device == MODEL_HOST)
    return (unsigned char *)slot->memory;
  return it->is_fake && !it->has_streams ? clpt_late_content(&it->device, slot->memory, slot->bytes)
                                         : NULL;
}

static void fill(model *it, model_slot *slot)
{
  unsigned char *content = content_of(it, slot);
  if (content)
    memset(content, ++slot->pattern, slot->bytes);
}

static void check_content(model *it, const model_slot *slot)
{
  const unsigned char *content = slot->bytes ? content_of(it, slot) : NULL;
  if (content)
    REQUIRE(content[0] == slot->pattern && !memcmp(content, content + 1, slot->bytes - 1));
}

/* The new buffer is all within one block or part that the device gave, and shares no byte with a
 * buffer that the user has. Handles of the device (opaque) differ; it looks after their parts. */
static void check_place(model *it, const model_slot *new)
{
  bool is_opaque = it->config->opaque;
  size_t reach = is_opaque ? 1 : new->capacity;
  if (!new->memory)
    return;
  if (it->is_fake)
    REQUIRE(clpt_late_content(&it->device, new->memory, new->capacity));
  for (const model_slot *other = it->slots; other < it->slots + MODEL_SLOTS; other++) {
    if (other == new || !other->buffer || !other->memory)
      continue;
    size_t other_reach = is_opaque ? 1 : other->capacity;
    REQUIRE(new->memory + reach <= other->memory || other->memory + other_reach <= new->memory);
  }
}

/* Has the stream wait for all that read the buffer. */
static void order_readers(model *it, model_slot *slot, int stream)
{
  for (int reader = 0; reader < MODEL_STREAMS; reader++)
    if (slot->readers & 1u << reader)
      order(it, reader, stream);
}

static void write_to(model *it, model_slot *slot, int stream)
{
  if (!slot->buffer || !slot->memory)
    return;
  if (!it->has_streams)
    fill(it, slot);
  if (!it->has_streams || stream < 0)
    return;
  order(it, slot->last, stream);
  order_readers(it, slot, stream);
  clpt_late_write(&it->device, it->streams[stream], slot->memory);
  clpt_late_read(&it->device, it->streams[stream], slot->memory);
  slot->readers = 0;
  slot->last = stream;
  slot->is_written = true;
}

void model_do_write(model *it, const model_call *call)
{
  write_to(it, &it->slots[call->slot], call->stream);
}

/* A stream that reads beside the one that writes has to be noted; the user does not wait for it. */
void model_do_read(model *it, const model_call *call)
{
  model_slot *slot = &it->slots[call->slot];
  int stream = call->stream;
  if (!slot->buffer || !slot->memory || !slot->is_written)
    return;
  clp_status status = LIB(clp_buffer_record_use(slot->buffer, it->streams[stream]));
  model_require_success(it, status);
  if (!status)
    slot->noted |= 1u << stream;
  if (!(slot->noted & 1u << stream))
    return;
  order(it, slot->last, stream);
  clpt_late_read(&it->device, it->streams[stream], slot->memory);
  slot->readers |= 1u << stream;
}

/* --- when the host may wait --- */

static unsigned host_waits(const model *it)
{
  return it->device.calls[CLPT_LATE_HOST_WAIT];
}

/* Where memory does not run out, the host waits neither to hand a block on nor to take one back. */
static void check_host(const model *it, unsigned waits_before)
{
  if (!it->can_run_out && !it->may_fail && !it->config->arena)
    REQUIRE(host_waits(it) == waits_before);
}

/* --- buffers --- */

/* Whether the user tells the device of the parts of an arena's segments that buffers are in. */
static bool tells_parts(const model *it, const model_slot *slot)
{
  return it->config->arena && it->config->addresses && slot->memory;
}

/* As users do who try for a hit first, or as the others. */
static clp_status ask(model *it, clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out)
{
  bool is_served =
      it->config->tries && (stream ? LIB(clp_pool_try_allocate_on(pool, bytes, stream, out))
                                   : LIB(clp_pool_try_allocate(pool, bytes, out)));
  REQUIRE(is_served == (*out != NULL));
  if (is_served)
    return CLP_SUCCESS;
  return stream ? LIB(clp_pool_allocate_on(pool, bytes, stream, out))
                : LIB(clp_pool_allocate(pool, bytes, out));
}

static void check_buffer(model *it, const model_slot *slot, clp_pool *pool)
{
  REQUIRE(clp_buffer_size(slot->buffer) == slot->bytes);
  REQUIRE(slot->capacity >= slot->bytes);
  REQUIRE(!it->config->max_block_bytes || slot->bytes <= it->config->max_block_bytes);
  REQUIRE(it->config->device != MODEL_HOST || slot->memory % 64 == 0);
  REQUIRE((slot->memory == 0) == (slot->bytes == 0));
  REQUIRE(clp_buffer_pool(slot->buffer) == pool);
  check_place(it, slot);
}

void model_do_allocate(model *it, const model_call *call)
{
  model_slot *slot = &it->slots[call->slot];
  unsigned pool = call->pool;
  size_t bytes = call->value;
  model_pool *from = &it->pools[pool];
  clp_buffer *buffer = NULL;
  unsigned waits = host_waits(it), refusals = it->device.refusals;
  if (slot->buffer)
    return;
  int used_on = call->stream < 0 && it->config->has_home ? 0 : call->stream;
  it->must_hit = model_held_must_serve(it, pool, used_on, bytes);
  it->phase = MODEL_ALLOCATES;
  it->phase_pool = pool;
  it->asked = bytes;
  it->stream_waits = it->device.calls[CLPT_LATE_STREAM_WAIT];
  it->device_calls = clpt_late_all_calls(&it->device) - it->device.calls[CLPT_LATE_STREAM_RETAIN];
  it->callbacks = 0;
  clp_status status = ask(it, from->pool, bytes, stream_of(it, call->stream), &buffer);
  it->phase = MODEL_IDLE;
  from->reactions += it->device.refusals != refusals;
  if (bytes && from->largest_asked < model_block_bytes(it, pool, bytes))
    from->largest_asked = model_block_bytes(it, pool, bytes);
  REQUIRE(!status == (buffer != NULL));
  if (status) {
    const clp_error *last = clp_last_error();
    REQUIRE(last->status == status && last->message[0] != '\0');
    model_check_refusal(it, pool, bytes, status);
    return;
  }
  check_host(it, waits);
  *slot = (model_slot){.buffer = buffer,
                       .memory = clp_buffer_memory(buffer),
                       .bytes = bytes,
                       .capacity = clp_buffer_capacity(buffer),
                       .pool = pool,
                       .generation = from->generation,
                       .pattern = slot->pattern,
                       .last = used_on,
                       .bound = -1};
  from->allocated++;
  if (tells_parts(it, slot))
    clpt_late_open(&it->device, slot->memory, slot->capacity);
  model_held_serve(it, pool, slot->last, slot);
  check_buffer(it, slot, from->pool);
  model_check_capacity(it, slot, refusals);
  write_to(it, slot, slot->last);
}

/* The stream that a release is on; -1: none. */
static int release_stream(const model *it, const model_slot *slot, int stream)
{
  if (stream >= 0)
    return stream;
  return slot->bound >= 0 ? slot->bound : it->config->has_home ? 0 : -1;
}

/* Orders what a release needs ordered: all work but that of noted streams. */
static void prepare_release(model *it, const model_slot *slot, int on)
{
  if (on >= 0)
    order(it, slot->last, on);
  else if (slot->last >= 0)
    clpt_late_finish(&it->device, it->streams[slot->last]);
}

/* A release that failed: the buffer is still the user's. */
static void release_again(model *it, clp_buffer *buffer)
{
  clpt_late_run_all(&it->device);
  for (unsigned tries = 0; tries < 50; tries++) {
    clp_status status = LIB(clp_buffer_release(buffer));
    if (!status)
      return;
    REQUIRE(status != CLP_ALREADY_RELEASED);
    model_require_success(it, status);
  }
}

/* A block that is never held, which the device refused: the pool frees it with what it holds. */
static void give_back_refused(model *it, unsigned pool)
{
  it->device.failing = 0;
  REQUIRE(!LIB(clp_pool_free_held(it->pools[pool].pool)));
}

void model_do_release(model *it, const model_call *call)
{
  model_slot *slot = &it->slots[call->slot], released = *slot;
  int stream = call->stream;
  clp_buffer *buffer = slot->buffer;
  unsigned waits = host_waits(it), stays = it->stays;
  if (!buffer)
    return;
  check_content(it, slot);
  bool has_pool = model_slot_is_of(it, slot, slot->pool);
  bool is_live = has_pool && !it->pools[slot->pool].is_stopped;
  int on = release_stream(it, slot, stream);
  if (it->has_streams)
    prepare_release(it, slot, on);
  if (tells_parts(it, slot))
    clpt_late_close(&it->device, slot->memory, slot->capacity);
  if (!has_pool)
    it->device.failing = 0; /* what an ending pool cannot give back is lost */
  slot->buffer = NULL;
  model_phase phase = it->phase;
  it->phase = MODEL_IDLE;
  clp_status status = stream < 0 ? LIB(clp_buffer_release(buffer))
                                 : LIB(clp_buffer_release_on(buffer, it->streams[stream]));
  it->phase = phase;
  model_require_success(it, status);
  if (status)
    release_again(it, buffer);
  else if (is_live)
    check_host(it, waits);
  if (!is_live)
    return;
  if (stays != it->stays &&
      released.capacity != model_block_bytes(it, released.pool, released.bytes))
    give_back_refused(it, released.pool);
  model_held_add(it, &released, on);
  if (!status) {
    REQUIRE(LIB(clp_buffer_release(buffer)) == CLP_ALREADY_RELEASED);
    REQUIRE(!LIB(clp_buffer_try_release(buffer)));
    REQUIRE(!it->has_streams ||
            LIB(clp_buffer_record_use(buffer, it->streams[1])) == CLP_ALREADY_RELEASED);
  }
}

void model_do_bind(model *it, const model_call *call)
{
  model_slot *slot = &it->slots[call->slot];
  int stream = call->stream;
  if (!slot->buffer)
    return;
  if (slot->last != slot->bound) /* otherwise the pool orders it */
    order(it, slot->last, stream);
  order_readers(it, slot, stream);
  clp_status status = LIB(clp_buffer_bind(slot->buffer, it->streams[stream]));
  model_require_success(it, status);
  if (status)
    return;
  slot->readers = 0;
  slot->bound = slot->last = stream;
}

void model_do_unbind(model *it, const model_call *call)
{
  model_slot *slot = &it->slots[call->slot];
  if (!slot->buffer)
    return;
  clp_status status = LIB(clp_buffer_unbind(slot->buffer));
  model_require_success(it, status);
  if (status || slot->bound < 0)
    return;
  if (slot->last == slot->bound)
    slot->last = -1;
  slot->bound = -1;
}

/* Memory that no pool looks after. On an arena it comes from where pools have theirs. */
void model_do_without_pool(model *it, const model_call *call)
{
  size_t bytes = call->value;
  model_slot block = {.bytes = bytes, .capacity = bytes};
  if (it->has_streams)
    return;
  clp_status status = LIB(clp_allocator_allocate(it->allocator, bytes, &block.memory));
  REQUIRE((status == CLP_SUCCESS && bytes > 0) == (block.memory != 0));
  bool is_bounded = it->config->capacity || it->config->max_block_bytes;
  REQUIRE(!status || it->may_fail || is_bounded);
  if (!block.memory)
    return;
  if (tells_parts(it, &block))
    clpt_late_open(&it->device, block.memory, bytes);
  model_note_used(it);
  check_place(it, &block);
  fill(it, &block);
  check_content(it, &block);
  unsigned failing = it->device.failing;
  it->device.failing = 0;
  if (tells_parts(it, &block))
    clpt_late_close(&it->device, block.memory, bytes);
  REQUIRE(LIB(clp_allocator_free(it->allocator, block.memory, bytes)) == 0);
  it->device.failing = failing;
}

/* --- streams --- */

void model_do_mark_stream(model *it, const model_call *call)
{
  model_pool *at = &it->pools[call->pool];
  int stream = call->stream;
  const clpt_late_stream *marked = it->streams[stream];
  uint64_t position = marked->given;
  clp_status status = LIB(clp_pool_mark_stream(at->pool, it->streams[stream]));
  model_require_success(it, status);
  if (status || at->mark_count == MODEL_MARKS_MAX)
    return;
  at->marks[at->mark_count].stream = stream;
  at->marks[at->mark_count].age = it->age;
  at->marks[at->mark_count++].position = position + it->config->marks_are_work;
}

/* No buffer may need a stream that ends: its work is waited for. */
static void leave_stream(model *it, int stream)
{
  for (model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++) {
    if (!slot->buffer || (slot->last != stream && !(slot->readers & 1u << stream)))
      continue;
    clpt_late_finish(&it->device, it->streams[stream]);
    slot->readers &= ~(1u << stream);
    if (slot->last == stream)
      slot->last = -1;
  }
}

/* What forgetting a stream gives in that pool. */
static clp_status forgetting(const model *it, unsigned pool, int stream)
{
  if (it->config->has_home && stream == 0)
    return CLP_INVALID_ARGUMENT;
  for (const model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++)
    if (slot->buffer && model_slot_is_of(it, slot, pool) &&
        (slot->bound == stream || slot->noted & 1u << stream))
      return CLP_BUSY;
  return CLP_SUCCESS;
}

/* Whether the stream is known to a pool that the user does not have any more. */
static bool has_orphans(const model *it)
{
  for (const model_slot *slot = it->slots; slot < it->slots + MODEL_SLOTS; slot++)
    if (slot->buffer && !model_slot_is_of(it, slot, slot->pool))
      return true;
  return false;
}

void model_do_replace_stream(model *it, const model_call *call)
{
  bool is_forgotten = true;
  int stream = call->stream;
  for (unsigned pool = 0; pool < it->pool_count; pool++) {
    clp_status expected = forgetting(it, pool, stream);
    clp_status status = LIB(clp_pool_forget_stream(it->pools[pool].pool, it->streams[stream]));
    if (status != expected)
      model_require_success(it, status);
    REQUIRE(!expected || status);
    is_forgotten = is_forgotten && !status;
    if (!status)
      model_held_forget(it, pool, stream);
  }
  if (!is_forgotten || has_orphans(it))
    return;
  leave_stream(it, stream);
  clpt_late_stream_destroy(&it->device, it->streams[stream]);
  it->streams[stream] = clpt_late_stream_new(&it->device);
}
