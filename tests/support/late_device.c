/* SPDX-License-Identifier: MIT */
/* A device whose streams run late: its memory, and the functions of its allocator. What ends in
 * _locked needs the device's lock. */
#include "late_device.h"

#include "core/allocator/allocator.h"
#include "suite.h"

enum { GRAIN = 256 /* bytes; offsets of parts are multiples of it */ };

typedef clpt_late_device late;

/* --- blocks --- */

static clpt_late_block *add_block_locked(late *it, void *content, size_t bytes)
{
  clpt_late_block *block = clpt_late_new(sizeof(*block));
  block->content = content;
  block->memory = it->opaque ? ++it->last_handle : (clp_memory)content;
  block->bytes = bytes;
  block->next = it->blocks;
  it->blocks = block;
  return block;
}

static clpt_late_block *find_locked(late *it, clp_memory memory)
{
  clpt_late_block *block = it->blocks;
  while (block && (block->memory != memory || block->leaving))
    block = block->next;
  if (!block)
    clpt_late_wrong_locked(it, "memory that is none, or was freed");
  return block;
}

static void remove_locked(late *it, clpt_late_block *block)
{
  clpt_late_block **link = &it->blocks;
  while (*link != block)
    link = &(*link)->next;
  *link = block->next;
  if (!block->whole) {
    it->live_blocks--;
    it->live_bytes -= block->bytes;
    it->leaving_blocks--;
    it->leaving_bytes -= block->bytes;
    free(block->content);
  }
  free(block);
}

/* Marks the block as freed; NULL: it cannot be. */
static clpt_late_block *leave_locked(late *it, clp_memory memory, size_t bytes)
{
  clpt_late_block *block = find_locked(it, memory);
  if (!block)
    return NULL;
  if (block->bytes != bytes)
    clpt_late_wrong_locked(it, "memory freed with another size");
  if (block->parts > 0)
    clpt_late_wrong_locked(it, "memory freed of which there are parts");
  block->leaving = true;
  if (block->whole)
    return block;
  it->leaving_blocks++;
  it->leaving_bytes += bytes;
  if (it->on_free)
    it->on_free(it, memory);
  return block;
}

/* Whether that memory has another part, which streams still use or which was not united yet. */
static bool has_part_locked(const late *it, const unsigned char *content, size_t bytes,
                            bool is_in_use)
{
  for (const clpt_late_block *block = it->blocks; block; block = block->next)
    if (block->whole && block->content < content + bytes &&
        content < block->content + block->bytes && (is_in_use ? block->uses > 0 : !block->leaving))
      return true;
  return false;
}

/* A part that begins where its block does is found before that. */
static clp_memory split_locked(late *it, clp_memory memory, size_t offset, size_t bytes)
{
  clpt_late_block *whole = it->blocks;
  while (whole && (whole->memory != memory || whole->whole))
    whole = whole->next;
  if (!whole || whole->leaving || offset % GRAIN || bytes > whole->bytes ||
      offset > whole->bytes - bytes) {
    clpt_late_wrong_locked(it, "a part of what is no block, or not within one");
    return 0;
  }
  if (it->ops.exclusive_parts && has_part_locked(it, whole->content + offset, bytes, true))
    clpt_late_wrong_locked(it, "a part over one that streams still use");
  if ((it->opaque || it->addresses) && has_part_locked(it, whole->content + offset, bytes, false))
    clpt_late_wrong_locked(it, "a part over another one");
  clpt_late_block *part = add_block_locked(it, whole->content + offset, bytes);
  part->whole = whole;
  whole->parts++;
  return part->memory;
}

static void unite_locked(late *it, clp_memory memory, size_t bytes)
{
  clpt_late_block *part = leave_locked(it, memory, bytes);
  if (!part)
    return;
  if (part->whole)
    part->whole->parts--;
  else
    clpt_late_wrong_locked(it, "a block united that is no part");
  if (part->uses == 0)
    remove_locked(it, part);
}

unsigned char *clpt_late_content(late *it, clp_memory memory, size_t bytes)
{
  CLPT_LATE_LOCKED(it);
  for (const clpt_late_block *block = it->blocks; block; block = block->next)
    if (block->memory == memory && !block->leaving && block->bytes >= bytes)
      return block->content;
  return NULL;
}

/* --- work on blocks --- */

static void finish_use_locked(late *it, clpt_late_block *block)
{
  clpt_late_block *whole = block->whole;
  if (--block->uses == 0 && block->leaving)
    remove_locked(it, block);
  if (whole && --whole->uses == 0 && whole->leaving)
    remove_locked(it, whole);
}

static uint64_t *tag_at(const clpt_late_block *block, size_t offset)
{
  return (uint64_t *)(void *)(block->content + offset);
}

/* Tags grow in the order in which writes were given, and so must they in each block. */
static void run_write(late *it, clpt_late_block *block, uint64_t tag)
{
  for (size_t i = 0; i < block->bytes; i += GRAIN) {
    if (*tag_at(block, i) > tag)
      clpt_late_wrong_locked(it, "a write came after one that was given later");
    *tag_at(block, i) = tag;
  }
  finish_use_locked(it, block);
}

static void run_read(late *it, clpt_late_block *block, uint64_t tag)
{
  for (size_t i = 0; i < block->bytes; i += GRAIN)
    if (*tag_at(block, i) != tag)
      clpt_late_wrong_locked(it, *tag_at(block, i) < tag ? "a read came before its write"
                                                         : "a read came after a later write");
  it->reads++;
  finish_use_locked(it, block);
}

static void run_free(late *it, clpt_late_block *block, uint64_t tag)
{
  if (block->uses > 1)
    clpt_late_wrong_locked(it, "memory freed on a stream while another was to use it");
  finish_use_locked(it, block);
}

static void use_locked(late *it, clpt_late_stream *stream, clpt_late_block *block,
                       void (*run)(late *, clpt_late_block *, uint64_t))
{
  if (!block)
    return;
  if (run == run_write)
    block->given = ++it->last_tag;
  block->uses++;
  if (block->whole)
    block->whole->uses++;
  clpt_late_give_locked(
      stream, (clpt_late_work){.run = run, .device = it, .block = block, .tag = block->given});
}

/* --- the allocator: every call begins and ends like this --- */

/* Whether this call is one of those that fail. */
static clp_status fault_locked(late *it, clpt_late_call call)
{
  clp_status status = it->failing & 1u << call ? clpt_fault_next(&it->fault) : CLP_SUCCESS;
  it->faults += status != CLP_SUCCESS;
  return status;
}

static clp_status begin(late *it, clpt_late_call call)
{
  if (it->outside)
    it->outside(true);
  if (it->on_call)
    it->on_call(it, call);
  pthread_mutex_lock(&it->lock);
  it->calls[call]++;
  if (it->destroyed > 0)
    clpt_late_wrong_locked(it, "a call after the end");
  return fault_locked(it, call);
}

static clp_status end(late *it, clp_status status)
{
  clpt_fault fault = it->fault;
  pthread_mutex_unlock(&it->lock);
  if (it->outside)
    it->outside(false);
  if (status && fault.message)
    return clp_set_last_error(status, fault.native_code, fault.message);
  return status;
}

/* --- the allocator: memory --- */

static clp_status take_locked(late *it, size_t bytes, clp_memory *out)
{
  if (bytes == 0)
    clpt_late_wrong_locked(it, "zero bytes were asked for");
  if (it->capacity && (it->live_bytes > it->capacity || bytes > it->capacity - it->live_bytes))
    return CLP_OUT_OF_DEVICE_MEMORY;
  *out = add_block_locked(it, clpt_late_new(bytes + GRAIN), bytes)->memory;
  it->live_blocks++;
  it->live_bytes += bytes;
  if (it->peak_bytes < it->live_bytes)
    it->peak_bytes = it->live_bytes;
  return CLP_SUCCESS;
}

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  late *it = self;
  clp_status status = begin(it, CLPT_LATE_ALLOCATE);
  if (!status)
    status = take_locked(it, bytes, out);
  if (!status && it->ops.allocate_uses_home)
    use_locked(it, it->ops.home_stream, find_locked(it, *out), run_write);
  it->refusals += status == CLP_OUT_OF_DEVICE_MEMORY;
  return end(it, status);
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  late *it = self;
  clp_status status = begin(it, CLPT_LATE_FREE);
  clpt_late_block *block = status ? NULL : leave_locked(it, memory, bytes);
  if (block && block->uses == 0)
    remove_locked(it, block);
  else if (block && !it->ops.free_is_ordered)
    clpt_late_wrong_locked(it, "memory freed while work was to use it");
  return end(it, status);
}

static clp_status device_drain(void *self)
{
  late *it = self;
  clp_status status = begin(it, CLPT_LATE_DRAIN);
  for (clpt_late_stream *stream = it->streams.newest; !status && stream && it->leaving_blocks > 0;
       stream = stream->next)
    clpt_late_reach_locked(clpt_late_end_of(stream));
  return end(it, status);
}

static clp_status device_split(void *self, clp_memory block, size_t offset, size_t bytes,
                               clp_memory *part)
{
  clp_status status = begin(self, CLPT_LATE_SPLIT);
  if (!status)
    *part = split_locked(self, block, offset, bytes);
  return end(self, status);
}

static clp_status device_unsplit(void *self, clp_memory part, size_t bytes)
{
  clp_status status = begin(self, CLPT_LATE_UNSPLIT);
  if (!status)
    unite_locked(self, part, bytes);
  return end(self, status);
}

static void device_destroy(void *self)
{
  CLPT_LATE_LOCKED(self);
  ((late *)self)->destroyed++;
}

/* --- the allocator: streams and marks --- */

static bool know_locked(late *it, const clpt_late_stream *stream)
{
  bool is_known = clpt_late_is_stream_locked(it, stream);
  if (!is_known)
    clpt_late_wrong_locked(it, "a stream that is none, or is no more");
  return is_known;
}

/* The home stream is kept by the allocator. */
static clp_status begin_on(late *it, clpt_late_call call, const clpt_late_stream *stream)
{
  clp_status status = begin(it, call);
  if (!status && !know_locked(it, stream))
    return CLP_INVALID_ARGUMENT;
  if (!status && stream->retains == 0 && stream != it->ops.home_stream)
    clpt_late_wrong_locked(it, "a call with a stream that was not retained");
  return status;
}

static clp_status device_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  clp_status status = begin_on(self, CLPT_LATE_FREE_ON, stream);
  if (!status)
    use_locked(self, stream, leave_locked(self, memory, bytes), run_free);
  return end(self, status);
}

static clp_status device_stream_retain(void *self, clp_stream stream)
{
  clp_status status = begin(self, CLPT_LATE_STREAM_RETAIN);
  if (!status && !clpt_late_is_stream_locked(self, stream))
    status = CLP_INVALID_ARGUMENT;
  if (!status)
    ((clpt_late_stream *)stream)->retains++;
  return end(self, status);
}

static void device_stream_release(void *self, clp_stream stream)
{
  clpt_late_stream *released = stream;
  (void)begin(self, CLPT_LATE_STREAM_RELEASE);
  bool is_known = know_locked(self, released);
  if (is_known && released->retains == 0)
    clpt_late_wrong_locked(self, "a stream released that was not retained");
  else
    released->retains -= is_known;
  (void)end(self, CLP_SUCCESS);
}

static clp_status device_mark_create(void *self, clp_stream stream, void **out)
{
  late *it = self;
  clp_status status = begin_on(it, CLPT_LATE_MARK_CREATE, stream);
  if (status)
    return end(it, status);
  if (it->marks_are_work)
    clpt_late_give_locked(stream, (clpt_late_work){.run = NULL});
  clpt_late_mark *mark = clpt_late_new(sizeof(*mark));
  *mark = (clpt_late_mark){.device = it, .at = clpt_late_end_of(stream), .next = it->marks};
  mark->at.position -= it->defect == CLPT_LATE_MARKS_MISS_THE_LAST_WORK && mark->at.position > 0;
  it->marks = mark;
  it->live_marks++;
  *out = mark;
  return end(it, status);
}

static void check_mark_locked(late *it, const clpt_late_mark *mark)
{
  if (mark->device != it)
    clpt_late_wrong_locked(it, "a mark of another device");
  if (mark->released)
    clpt_late_wrong_locked(it, "a mark used after its release");
}

static void device_mark_destroy(void *self, void *mark)
{
  late *it = self;
  clpt_late_mark *released = mark;
  (void)begin(it, CLPT_LATE_MARK_RELEASE);
  check_mark_locked(it, released);
  it->live_marks -= !released->released;
  released->released = true;
  (void)end(it, CLP_SUCCESS);
}

static clp_status device_mark_is_done(void *self, void *mark, bool *done)
{
  late *it = self;
  clp_status status = begin(it, CLPT_LATE_MARK_IS_DONE);
  check_mark_locked(it, mark);
  if (!status)
    *done = clpt_late_is_reached(((clpt_late_mark *)mark)->at) ||
            it->defect == CLPT_LATE_MARKS_ARE_DONE_AT_ONCE;
  return end(it, status);
}

static clp_status device_stream_wait(void *self, clp_stream stream, void *mark)
{
  late *it = self;
  clp_status status = begin_on(it, CLPT_LATE_STREAM_WAIT, stream);
  check_mark_locked(it, mark);
  if (!status && it->defect != CLPT_LATE_STREAMS_DO_NOT_WAIT)
    clpt_late_give_locked(stream, (clpt_late_work){.after = ((clpt_late_mark *)mark)->at});
  return end(it, status);
}

static clp_status device_host_wait(void *self, void *mark)
{
  late *it = self;
  clp_status status = begin(it, CLPT_LATE_HOST_WAIT);
  check_mark_locked(it, mark);
  if (!status && it->defect != CLPT_LATE_HOST_DOES_NOT_WAIT)
    clpt_late_reach_locked(((clpt_late_mark *)mark)->at);
  return end(it, status);
}

static clp_status device_free_stream(void *self, clp_stream *out)
{
  *out = ((late *)self)->frees;
  return CLP_SUCCESS;
}

/* --- its life --- */

void clpt_late_init(late *it)
{
  memset(it, 0, sizeof(*it));
  it->ops = (clp_allocator_ops){.struct_size = sizeof(clp_allocator_ops),
                                .name = "late-device",
                                .allocate = device_allocate,
                                .free = device_free,
                                .destroy = device_destroy,
                                .memory_kind = CLP_MEMORY_HOST,
                                .drain = device_drain,
                                .split = device_split,
                                .unsplit = device_unsplit,
                                .stream_retain = device_stream_retain,
                                .stream_release = device_stream_release,
                                .mark_create = device_mark_create,
                                .mark_destroy = device_mark_destroy,
                                .mark_is_done = device_mark_is_done,
                                .stream_wait = device_stream_wait,
                                .host_wait = device_host_wait};
  pthread_mutex_init(&it->lock, NULL);
}

void clpt_late_set_freeing(late *it, clpt_late_freeing freeing)
{
  it->ops.free_is_ordered = freeing == CLPT_LATE_FREES_IN_ORDER;
  it->ops.free_on = freeing == CLPT_LATE_FREES_ON_STREAMS ? device_free_on : NULL;
  it->ops.free_stream = freeing == CLPT_LATE_FREES_AT_ONCE ? NULL : device_free_stream;
  if (it->ops.free_stream && !it->frees)
    it->frees = clpt_late_add_stream_locked(it);
}

void clpt_late_set_addresses(late *it)
{
  it->addresses = true;
  it->ops.split = clpi_split_address;
  it->ops.unsplit = clpi_unsplit_address;
}

void clpt_late_without_streams(late *it)
{
  it->ops.stream_retain = NULL;
  it->ops.stream_release = NULL;
  it->ops.mark_create = NULL;
  it->ops.mark_destroy = NULL;
  it->ops.mark_is_done = NULL;
  it->ops.stream_wait = NULL;
  it->ops.host_wait = NULL;
  it->ops.drain = NULL;
  clpt_late_set_freeing(it, CLPT_LATE_FREES_AT_ONCE);
}

void clpt_late_open(late *it, clp_memory memory, size_t bytes)
{
  CLPT_LATE_LOCKED(it);
  const clpt_late_block *whole = it->blocks;
  while (whole && (whole->whole || whole->leaving || memory - whole->memory >= whole->bytes))
    whole = whole->next;
  if (!whole || split_locked(it, whole->memory, memory - whole->memory, bytes) != memory)
    clpt_late_wrong_locked(it, "a block that is no part of the device's memory");
}

void clpt_late_close(late *it, clp_memory memory, size_t bytes)
{
  CLPT_LATE_LOCKED(it);
  unite_locked(it, memory, bytes);
}

clp_allocator *clpt_late_allocator(late *it)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_allocator_create(&it->ops, it, &allocator));
  return allocator;
}

unsigned clpt_late_all_calls(late *it)
{
  unsigned calls = 0;
  CLPT_LATE_LOCKED(it);
  for (size_t call = 0; call < CLPT_LATE_CALLS; call++)
    calls += it->calls[call];
  return calls;
}

void clpt_late_clear(late *it)
{
  CLPT_LATE_LOCKED(it);
  memset(it->calls, 0, sizeof(it->calls));
}

const char *clpt_late_find_wrong(late *it)
{
  clpt_late_run_all(it);
  return it->wrong[0]                                ? it->wrong
         : it->destroyed != 1                        ? "the allocator has not ended, or twice"
         : it->live_blocks > 0 || it->live_bytes > 0 ? "memory did not come back"
         : it->live_marks > 0                        ? "marks did not come back"
         : clpt_late_retains(it) > 0                 ? "streams did not come back"
                                                     : NULL;
}

void clpt_late_assert_ended(late *it)
{
  const char *wrong = clpt_late_find_wrong(it);
  ck_assert_msg(wrong == NULL, "%s", wrong);
  clpt_late_end(it);
}

/* Frees a list, whose links are at that offset. */
#define FREE_ALL(type, first)                                                                      \
  for (type *at = (first), *next; at; at = next) {                                                 \
    next = at->next;                                                                               \
    free(at);                                                                                      \
  }

void clpt_late_end(late *it)
{
  for (clpt_late_stream *stream = it->streams.newest; stream; stream = stream->next)
    FREE_ALL(clpt_late_work, stream->first)
  FREE_ALL(clpt_late_stream, it->streams.newest)
  for (clpt_late_block *block = it->blocks; block; block = block->next)
    if (!block->whole)
      free(block->content);
  FREE_ALL(clpt_late_block, it->blocks)
  FREE_ALL(clpt_late_mark, it->marks)
  pthread_mutex_destroy(&it->lock);
}

#define USE_BY_TEST(name)                                                                          \
  void clpt_late_##name(late *it, clp_stream stream, clp_memory memory)                            \
  {                                                                                                \
    CLPT_LATE_LOCKED(it);                                                                          \
    clpt_late_check_user_locked(it, stream);                                                       \
    use_locked(it, stream, find_locked(it, memory), run_##name);                                   \
  }
USE_BY_TEST(write)
USE_BY_TEST(read)
