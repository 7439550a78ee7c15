/* SPDX-License-Identifier: MIT */
/* A device whose streams run late: the functions of its allocator. */
#include "late_device.h"

#include "core/allocator/allocator.h"
#include "late_blocks.h"
#include "suite.h"

struct clpt_late_mark {
  clpt_late_device *device;
  clpt_late_point point;
  bool released;
  clpt_late_mark *next;
};

/* What the trace has of each call; a blank is left out. */
static const char letters[CLPT_LATE_CALLS + 1] = "AFOD      H  ";

static void note_locked(clpt_late_device *device, char letter)
{
  if (letter == ' ' || device->trace_length + 1 >= sizeof(device->trace))
    return;
  device->trace[device->trace_length++] = letter;
  device->trace[device->trace_length] = '\0';
}

void clpt_late_clear(clpt_late_device *device)
{
  pthread_mutex_lock(&device->lock);
  memset(device->calls, 0, sizeof(device->calls));
  device->trace_length = 0;
  device->trace[0] = '\0';
  pthread_mutex_unlock(&device->lock);
}

/* --- every call begins and ends like this --- */

/* Whether this call is one of those that fail. */
static clp_status fault_locked(clpt_late_device *device, clpt_late_call call)
{
  if (!(device->failing & 1u << call))
    return CLP_SUCCESS;
  if (device->fault.after > 0) {
    device->fault.after--;
    return CLP_SUCCESS;
  }
  if (device->fault.count == 0)
    return CLP_SUCCESS;
  device->fault.count--;
  device->faults++;
  return device->fault.status;
}

static clp_status begin(clpt_late_device *device, clpt_late_call call)
{
  if (device->outside != NULL)
    device->outside(true);
  if (device->on_call != NULL)
    device->on_call(device, call);
  pthread_mutex_lock(&device->lock);
  device->calls[call]++;
  note_locked(device, letters[call]);
  if (device->destroyed > 0)
    clpt_late_wrong_locked(device, "a call after the end");
  return fault_locked(device, call);
}

static clp_status end(clpt_late_device *device, clpt_late_call call, clp_status status)
{
  clpt_fault fault = device->fault;

  if (status != CLP_SUCCESS && letters[call] != ' ')
    note_locked(device, '!');
  device->refusals += call == CLPT_LATE_ALLOCATE && status == CLP_OUT_OF_DEVICE_MEMORY;
  pthread_mutex_unlock(&device->lock);
  if (device->outside != NULL)
    device->outside(false);
  if (status != CLP_SUCCESS && fault.message != NULL)
    return clp_set_last_error(status, fault.native_code, fault.message);
  return status;
}

/* --- memory --- */

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  clpt_late_device *device = self;
  clp_status status = begin(self, CLPT_LATE_ALLOCATE);

  if (status == CLP_SUCCESS)
    status = clpt_late_take_locked(self, bytes, out);
  if (status == CLP_SUCCESS && device->ops.allocate_uses_home)
    clpt_late_write_locked(device, device->ops.home_stream, *out);
  return end(self, CLPT_LATE_ALLOCATE, status);
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  clp_status status = begin(self, CLPT_LATE_FREE);

  if (status == CLP_SUCCESS)
    clpt_late_give_back_locked(self, memory, bytes);
  return end(self, CLPT_LATE_FREE, status);
}

static clp_status device_drain(void *self)
{
  clpt_late_device *device = self;
  clp_status status = begin(device, CLPT_LATE_DRAIN);
  clpt_late_stream *stream = device->streams.newest;

  for (; status == CLP_SUCCESS && stream != NULL && device->leaving_blocks > 0;
       stream = stream->next)
    clpt_late_reach(clpt_late_point_of(stream));
  return end(device, CLPT_LATE_DRAIN, status);
}

static clp_status device_split(void *self, clp_memory block, size_t offset, size_t bytes,
                               clp_memory *part)
{
  clp_status status = begin(self, CLPT_LATE_SPLIT);

  if (status == CLP_SUCCESS)
    *part = clpt_late_split_locked(self, block, offset, bytes);
  return end(self, CLPT_LATE_SPLIT, status);
}

static clp_status device_unsplit(void *self, clp_memory part, size_t bytes)
{
  clp_status status = begin(self, CLPT_LATE_UNSPLIT);

  if (status == CLP_SUCCESS)
    clpt_late_unite_locked(self, part, bytes);
  return end(self, CLPT_LATE_UNSPLIT, status);
}

static void device_destroy(void *self)
{
  clpt_late_device *device = self;

  pthread_mutex_lock(&device->lock);
  device->destroyed++;
  pthread_mutex_unlock(&device->lock);
}

/* --- streams --- */

static bool know_locked(clpt_late_device *device, const clpt_late_stream *stream)
{
  bool known = clpt_late_streams_know(&device->streams, stream);

  if (!known)
    clpt_late_wrong_locked(device, "a stream that is none, or is no more");
  return known;
}

/* The home stream is kept by the allocator. */
static bool may_call_with_locked(clpt_late_device *device, const clpt_late_stream *stream)
{
  bool known = know_locked(device, stream);

  if (known && stream->retains == 0 && stream != device->ops.home_stream)
    clpt_late_wrong_locked(device, "a call with a stream that was not retained");
  return known;
}

static clp_status device_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  clp_status status = begin(self, CLPT_LATE_FREE_ON);

  if (status == CLP_SUCCESS && may_call_with_locked(self, stream))
    clpt_late_give_back_on_locked(self, memory, bytes, stream);
  return end(self, CLPT_LATE_FREE_ON, status);
}

static clp_status device_stream_retain(void *self, clp_stream stream)
{
  clpt_late_device *device = self;
  clpt_late_stream *known = stream;
  clp_status status = begin(device, CLPT_LATE_STREAM_RETAIN);

  if (status == CLP_SUCCESS && !clpt_late_streams_know(&device->streams, known))
    status = CLP_INVALID_ARGUMENT;
  if (status == CLP_SUCCESS)
    known->retains++;
  return end(device, CLPT_LATE_STREAM_RETAIN, status);
}

static void device_stream_release(void *self, clp_stream stream)
{
  clpt_late_device *device = self;
  clpt_late_stream *known = stream;

  (void)begin(device, CLPT_LATE_STREAM_RELEASE);
  if (know_locked(device, known)) {
    if (known->retains == 0)
      clpt_late_wrong_locked(device, "a stream released that was not retained");
    else
      known->retains--;
  }
  (void)end(device, CLPT_LATE_STREAM_RELEASE, CLP_SUCCESS);
}

void clpt_late_stream_destroy(clpt_late_device *device, clp_stream stream)
{
  clpt_late_stream *destroyed = stream, *rest;

  pthread_mutex_lock(&device->lock);
  if (destroyed->retains > 0)
    clpt_late_wrong_locked(device, "a stream destroyed that the library needs");
  rest = clpt_late_streams_destroy(&device->streams, destroyed);
  for (clpt_late_mark *mark = device->marks; mark != NULL; mark = mark->next)
    if (mark->point.stream == destroyed)
      mark->point.stream = rest;
  pthread_mutex_unlock(&device->lock);
}

/* --- marks --- */

static clpt_late_point point_for_mark_locked(clpt_late_device *device, clpt_late_stream *stream)
{
  clpt_late_point point;

  if (device->marks_are_work)
    clpt_late_give(stream, &(clpt_late_work){0});
  point = clpt_late_point_of(stream);
  if (device->defect == CLPT_LATE_MARKS_MISS_THE_LAST_WORK && point.position > 0)
    point.position--;
  return point;
}

static clp_status device_mark_create(void *self, clp_stream stream, void **out)
{
  clpt_late_device *device = self;
  clp_status status = begin(device, CLPT_LATE_MARK_CREATE);

  if (status == CLP_SUCCESS && !may_call_with_locked(device, stream))
    status = CLP_INVALID_ARGUMENT;
  if (status == CLP_SUCCESS) {
    clpt_late_mark *mark = clpt_late_new(sizeof(*mark));

    *mark = (clpt_late_mark){device, point_for_mark_locked(device, stream), false, device->marks};
    device->marks = mark;
    device->live_marks++;
    *out = mark;
  }
  return end(device, CLPT_LATE_MARK_CREATE, status);
}

static void check_mark_locked(clpt_late_device *device, const clpt_late_mark *mark)
{
  if (mark->device != device)
    clpt_late_wrong_locked(device, "a mark of another device");
  if (mark->released)
    clpt_late_wrong_locked(device, "a mark used after its release");
}

static void device_mark_destroy(void *self, void *released)
{
  clpt_late_device *device = self;
  clpt_late_mark *mark = released;

  (void)begin(device, CLPT_LATE_MARK_RELEASE);
  check_mark_locked(device, mark);
  device->live_marks -= !mark->released;
  mark->released = true;
  (void)end(device, CLPT_LATE_MARK_RELEASE, CLP_SUCCESS);
}

static clp_status device_mark_is_done(void *self, void *asked, bool *done)
{
  clpt_late_device *device = self;
  clpt_late_mark *mark = asked;
  clp_status status = begin(device, CLPT_LATE_MARK_IS_DONE);

  check_mark_locked(device, mark);
  if (status == CLP_SUCCESS)
    *done = clpt_late_reached(mark->point) || device->defect == CLPT_LATE_MARKS_ARE_DONE_AT_ONCE;
  return end(device, CLPT_LATE_MARK_IS_DONE, status);
}

static clp_status device_stream_wait(void *self, clp_stream stream, void *awaited)
{
  clpt_late_device *device = self;
  clpt_late_mark *mark = awaited;
  clp_status status = begin(device, CLPT_LATE_STREAM_WAIT);

  check_mark_locked(device, mark);
  if (status == CLP_SUCCESS && !may_call_with_locked(device, stream))
    status = CLP_INVALID_ARGUMENT;
  if (status == CLP_SUCCESS && device->defect != CLPT_LATE_STREAMS_DO_NOT_WAIT)
    clpt_late_give(stream, &(clpt_late_work){.after = mark->point});
  return end(device, CLPT_LATE_STREAM_WAIT, status);
}

static clp_status device_host_wait(void *self, void *awaited)
{
  clpt_late_device *device = self;
  clpt_late_mark *mark = awaited;
  clp_status status = begin(device, CLPT_LATE_HOST_WAIT);

  check_mark_locked(device, mark);
  if (status == CLP_SUCCESS && device->defect != CLPT_LATE_HOST_DOES_NOT_WAIT)
    clpt_late_reach(mark->point);
  return end(device, CLPT_LATE_HOST_WAIT, status);
}

static clp_status device_free_stream(void *self, clp_stream *out)
{
  clpt_late_device *device = self;
  *out = device->frees;
  return CLP_SUCCESS;
}

/* --- its life --- */

void clpt_late_init(clpt_late_device *device)
{
  memset(device, 0, sizeof(*device));
  device->ops = (clp_allocator_ops){.struct_size = sizeof(clp_allocator_ops),
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
  pthread_mutex_init(&device->lock, NULL);
}

void clpt_late_set_freeing(clpt_late_device *device, clpt_late_freeing freeing)
{
  device->ops.free_is_ordered = freeing == CLPT_LATE_FREES_IN_ORDER;
  device->ops.free_on = freeing == CLPT_LATE_FREES_ON_STREAMS ? device_free_on : NULL;
  device->ops.free_stream = freeing == CLPT_LATE_FREES_AT_ONCE ? NULL : device_free_stream;
  if (device->ops.free_stream && !device->frees)
    device->frees = clpt_late_streams_add(&device->streams);
}

void clpt_late_set_addresses(clpt_late_device *device)
{
  device->addresses = true;
  device->ops.split = clpi_split_address;
  device->ops.unsplit = clpi_unsplit_address;
}

void clpt_late_open(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  pthread_mutex_lock(&device->lock);
  clp_memory whole = clpt_late_whole_locked(device, memory);
  if (clpt_late_split_locked(device, whole, memory - whole, bytes) != memory)
    clpt_late_wrong_locked(device, "a block that is no part of the device's memory");
  pthread_mutex_unlock(&device->lock);
}

void clpt_late_close(clpt_late_device *device, clp_memory memory, size_t bytes)
{
  pthread_mutex_lock(&device->lock);
  clpt_late_unite_locked(device, memory, bytes);
  pthread_mutex_unlock(&device->lock);
}

void clpt_late_without_streams(clpt_late_device *device)
{
  device->ops.stream_retain = NULL;
  device->ops.stream_release = NULL;
  device->ops.mark_create = NULL;
  device->ops.mark_destroy = NULL;
  device->ops.mark_is_done = NULL;
  device->ops.stream_wait = NULL;
  device->ops.host_wait = NULL;
  device->ops.drain = NULL;
  clpt_late_set_freeing(device, CLPT_LATE_FREES_AT_ONCE);
}

clp_allocator *clpt_late_allocator(clpt_late_device *device)
{
  clp_allocator *allocator = NULL;

  clpt_ok(clp_allocator_create(&device->ops, device, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

unsigned clpt_late_all_calls(clpt_late_device *device)
{
  unsigned calls = 0;

  pthread_mutex_lock(&device->lock);
  for (size_t call = 0; call < CLPT_LATE_CALLS; call++)
    calls += device->calls[call];
  pthread_mutex_unlock(&device->lock);
  return calls;
}

unsigned clpt_late_retains(clpt_late_device *device)
{
  unsigned retains = 0;

  pthread_mutex_lock(&device->lock);
  for (const clpt_late_stream *stream = device->streams.newest; stream; stream = stream->next)
    retains += stream->retains;
  pthread_mutex_unlock(&device->lock);
  return retains;
}

const char *clpt_late_find_wrong(clpt_late_device *device)
{
  clpt_late_run_all(device);
  if (device->wrong[0] != '\0')
    return device->wrong;
  if (device->destroyed != 1)
    return "the allocator has not ended, or more than once";
  if (device->live_blocks > 0 || device->live_bytes > 0)
    return "memory did not come back";
  if (device->live_marks > 0)
    return "marks did not come back";
  return clpt_late_retains(device) > 0 ? "streams did not come back" : NULL;
}

void clpt_late_assert_ended(clpt_late_device *device)
{
  const char *wrong = clpt_late_find_wrong(device);
  ck_assert_msg(wrong == NULL, "%s", wrong);
  clpt_late_end(device);
}

void clpt_late_end(clpt_late_device *device)
{
  clpt_late_streams_end(&device->streams);
  clpt_late_blocks_end(device);
  for (clpt_late_mark *mark = device->marks, *next; mark != NULL; mark = next) {
    next = mark->next;
    free(mark);
  }
  pthread_mutex_destroy(&device->lock);
}
