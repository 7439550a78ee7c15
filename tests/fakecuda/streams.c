/* SPDX-License-Identifier: MIT */
/* Streams: queues of commands that threads of their own work off. A place in the table keeps its
 * thread when a stream ends, for the next stream there. And events, and which commands come before
 * which: by what the program said and heard, not by when they ran. And stream capture, as
 * far as callers notice it who capture nothing: what a captured stream is given is lost, and graphs
 * are empty. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct CUstream_st fake_streams[FAKE_MOST_STREAMS];
fake_clock fake_observed;
static bool stopping; /* for a reset: threads end */

/* --- order --- */

void fake_clock_join(fake_clock *clock, const fake_clock *other)
{
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    if (clock->of[i] < other->of[i])
      clock->of[i] = other->of[i];
}

bool fake_clock_has(const fake_clock *clock, fake_point point)
{
  return !point.stream || clock->of[point.stream - fake_streams] >= point.position;
}

bool fake_is_done_locked(fake_point point)
{
  return !point.stream || point.stream->done >= point.position;
}

void fake_synchronized_locked(const fake_clock *clock)
{
  fake_clock_join(&fake_observed, clock);
  fake_mempools_settle_locked();
}

/* --- a stream's thread --- */

static void do_next_locked(CUstream stream)
{
  fake_command *command = stream->first;
  if (command->to && command->from)
    memmove(command->to, command->from, command->bytes);
  else if (command->to)
    memset(command->to, command->byte, command->bytes);
  if (command->host_function) {
    pthread_mutex_unlock(&fake_lock);
    fake_in_host_function = true;
    command->host_function(command->user_data);
    fake_in_host_function = false;
    pthread_mutex_lock(&fake_lock);
  }
  stream->first = command->next;
  if (!stream->first)
    stream->end = &stream->first;
  stream->done++;
  if (stream->state == FAKE_ENDING && !stream->first)
    stream->state = FAKE_UNUSED;
  free(command);
  pthread_cond_broadcast(&fake_progress);
}

static void *work_off(void *argument)
{
  CUstream stream = argument;
  FAKE_LOCK;
  while (!stopping)
    if (stream->first && !stream->held && fake_is_done_locked(stream->first->after))
      do_next_locked(stream);
    else
      pthread_cond_wait(&fake_progress, &fake_lock);
  return NULL;
}

/* --- making, finding and ending --- */

static CUstream new_locked(CUcontext ctx, bool is_default, bool blocking)
{
  CUstream stream = fake_streams;
  while (stream->state != FAKE_UNUSED)
    if (++stream == fake_streams + FAKE_MOST_STREAMS)
      abort();
  stream->ctx = ctx;
  stream->state = FAKE_LIVE;
  stream->is_default = is_default;
  stream->blocking = blocking;
  stream->held = false;
  stream->end = &stream->first;
  stream->clock = fake_observed;
  stream->clock.of[stream - fake_streams] = stream->given;
  return stream;
}

static bool is_place(CUstream handle)
{
  fake_each_stream (it) {
    if (it == handle)
      return true;
  }
  return false;
}

CUresult fake_stream_locked(CUstream *handle)
{
  CUresult code;
  CUcontext ctx;
  if (!*handle || *handle == FAKECUDA_STREAM_LEGACY || *handle == FAKECUDA_STREAM_PER_THREAD) {
    bool is_legacy = *handle != FAKECUDA_STREAM_PER_THREAD;
    FAKE_TRY(fake_current_locked(&ctx));
    CUstream *stream = is_legacy ? &ctx->legacy : &ctx->per_thread;
    *handle = *stream = *stream ? *stream : new_locked(ctx, true, !is_legacy);
    return CLPI_CUDA_SUCCESS;
  }
  if (is_place(*handle) && (*handle)->state == FAKE_LIVE && !(*handle)->is_default)
    return CLPI_CUDA_SUCCESS;
  return fake_wrong(CLPI_CUDA_INVALID_HANDLE, "a stream that is none, or is no more");
}

static void end_locked(CUstream stream)
{
  stream->state = stream->first ? FAKE_ENDING : FAKE_UNUSED;
}

/* --- giving commands --- */

void fake_wait_for_locked(CUstream stream, fake_point point, const fake_clock *clock)
{
  if (!fake_is_done_locked(point))
    (void)fake_give_locked(stream, &(fake_command){.after = point});
  fake_clock_join(&stream->clock, clock);
}

static void wait_for_all_of_locked(CUstream stream, CUstream earlier)
{
  fake_wait_for_locked(stream, (fake_point){earlier, earlier->given}, &earlier->clock);
}

void fake_begin_locked(CUstream stream)
{
  CUstream legacy = stream->ctx->legacy;
  fake_clock_join(&stream->clock, &fake_observed);
  if (stream->blocking && legacy)
    wait_for_all_of_locked(stream, legacy);
  fake_each_stream (it) {
    if (stream == legacy && it->state != FAKE_UNUSED && it->blocking && it->ctx == stream->ctx)
      wait_for_all_of_locked(stream, it);
  }
}

uint64_t fake_give_locked(CUstream stream, const fake_command *command)
{
  fake_command *copy = fake_new(sizeof(*copy));
  *copy = *command;
  copy->next = NULL;
  *stream->end = copy;
  stream->end = &copy->next;
  stream->given++;
  stream->clock.of[stream - fake_streams] = stream->given;
  if (!stream->has_thread && pthread_create(&stream->thread, NULL, work_off, stream) != 0)
    abort();
  stream->has_thread = true;
  pthread_cond_broadcast(&fake_progress);
  return stream->given;
}

void fake_reach_locked(fake_point point)
{
  while (!fake_is_done_locked(point))
    pthread_cond_wait(&fake_progress, &fake_lock);
}

void fake_reach_all_locked(const struct CUctx_st *ctx)
{
  fake_clock clock = {{0}};
  fake_each_stream (it) {
    if (it->state != FAKE_UNUSED && it->ctx == ctx) {
      fake_clock_join(&clock, &it->clock);
      fake_reach_locked((fake_point){it, it->given});
    }
  }
  fake_synchronized_locked(&clock);
}

/* --- the driver's calls --- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
  FAKE_ENTER(cuStreamCreate);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  if (flags & ~(unsigned)FAKECUDA_STREAM_NON_BLOCKING)
    return CLPI_CUDA_INVALID_VALUE;
  *stream = new_locked(ctx, false, flags == FAKECUDA_STREAM_DEFAULT);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream)
{
  FAKE_ENTER(cuStreamDestroy);
  FAKE_TRY(fake_stream_locked(&stream));
  if (stream->is_default)
    return fake_wrong(CLPI_CUDA_INVALID_HANDLE, "a default stream is destroyed");
  end_locked(stream);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
  FAKE_ENTER(cuStreamGetCtx);
  FAKE_TRY(fake_stream_locked(&stream));
  *ctx = stream->ctx;
  return CLPI_CUDA_SUCCESS;
}

/* The legacy stream is done when what it would wait for is. */
CUresult cuStreamSynchronize(CUstream stream)
{
  FAKE_ENTER(cuStreamSynchronize);
  FAKE_TRY(fake_stream_locked(&stream));
  if (stream == stream->ctx->legacy)
    fake_begin_locked(stream);
  fake_clock clock = stream->clock;
  fake_reach_locked((fake_point){stream, stream->given});
  fake_synchronized_locked(&clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user_data)
{
  FAKE_ENTER(cuLaunchHostFunc);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  fake_begin_locked(stream);
  (void)fake_give_locked(stream,
                         &(fake_command){.host_function = function, .user_data = user_data});
  return CLPI_CUDA_SUCCESS;
}

/* --- events --- */

struct CUevent_st {
  CUcontext ctx;
  bool alive;
  fake_point point; /* what it was recorded after last; no stream: it never was */
  fake_clock clock; /* what was known there */
  CUevent next;
};

static CUevent events; /* all since the reset: the next use of one that is no more is noticed */
static CUresult check_locked(const struct CUevent_st *event)
{
  if (event && event->alive)
    return CLPI_CUDA_SUCCESS;
  return fake_wrong(CLPI_CUDA_INVALID_HANDLE, "an event that is none, or is no more");
}

void fake_streams_end_of_locked(const struct CUctx_st *ctx)
{
  fake_each_stream (it) {
    if (it->state == FAKE_LIVE && it->ctx == ctx)
      end_locked(it);
  }
  for (CUevent event = events; event; event = event->next)
    if (event->alive && event->ctx == ctx) {
      (void)fake_wrong(0, "an event is left when its context ends");
      event->alive = false;
    }
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
  FAKE_ENTER(cuEventCreate);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  if (flags & ~(unsigned)CLPI_CUDA_EVENT_DISABLE_TIMING)
    return CLPI_CUDA_INVALID_VALUE; /* no test needs another */
  *out = fake_new(sizeof(**out));
  **out = (struct CUevent_st){.ctx = ctx, .alive = true, .next = events};
  events = *out;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
  FAKE_ENTER(cuEventDestroy);
  FAKE_TRY(check_locked(event));
  event->alive = false;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
  FAKE_ENTER(cuEventRecord);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(check_locked(event));
  if (event->ctx != stream->ctx)
    return fake_wrong(CLPI_CUDA_INVALID_HANDLE, "an event on a stream of another context");
  fake_begin_locked(stream);
  event->point = (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})};
  event->clock = stream->clock;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
  FAKE_ENTER(cuEventQuery);
  FAKE_TRY(check_locked(event));
  if (!fake_is_done_locked(event->point))
    return CLPI_CUDA_NOT_READY;
  fake_clock_join(&fake_observed, &event->clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
  FAKE_ENTER(cuEventSynchronize);
  FAKE_TRY(check_locked(event));
  fake_clock clock = event->clock; /* it may be recorded anew meanwhile */
  fake_reach_locked(event->point);
  fake_synchronized_locked(&clock);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
  FAKE_ENTER(cuStreamWaitEvent);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(check_locked(event));
  if (flags)
    return CLPI_CUDA_INVALID_VALUE;
  fake_begin_locked(stream);
  fake_wait_for_locked(stream, event->point, &event->clock);
  return CLPI_CUDA_SUCCESS;
}

/* --- stream capture --- */

struct CUgraph_st {
  int unused;
};

static _Thread_local clpi_cuda_capture_mode thread_mode = FAKECUDA_CAPTURE_GLOBAL;

static bool is_captured(const struct CUstream_st *stream)
{
  return stream->state == FAKE_LIVE && stream->capture.status != CLPI_CUDA_CAPTURE_NONE;
}

/* As cuThreadExchangeStreamCaptureMode is documented. */
static bool forbids(const struct CUstream_st *stream)
{
  if (!is_captured(stream) || thread_mode == CLPI_CUDA_CAPTURE_RELAXED)
    return false;
  if (pthread_equal(stream->capture.thread, pthread_self()))
    return stream->capture.mode != CLPI_CUDA_CAPTURE_RELAXED;
  return thread_mode == FAKECUDA_CAPTURE_GLOBAL && stream->capture.mode == FAKECUDA_CAPTURE_GLOBAL;
}

CUresult fake_end_captures_locked(const struct CUctx_st *ctx)
{
  CUresult code = CLPI_CUDA_SUCCESS;
  fake_each_stream (it) {
    if (ctx ? is_captured(it) && it->ctx == ctx : forbids(it)) {
      it->capture.status = FAKECUDA_CAPTURE_INVALIDATED;
      code = CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return code;
}

/* Whether the stream is the legacy one, and waits for one that is captured. */
static bool waits_for_captured(const struct CUstream_st *stream)
{
  fake_each_stream (it) {
    if (is_captured(it) && it->blocking && stream == it->ctx->legacy)
      return true;
  }
  return false;
}

CUresult fake_uncaptured_locked(CUstream *handle)
{
  CUresult code = fake_stream_locked(handle);
  if (code || (!is_captured(*handle) && !waits_for_captured(*handle)))
    return code;
  return fake_wrong(CLPI_CUDA_STREAM_CAPTURE_IMPLICIT,
                    "a stream that is captured, or waits for one");
}

CUresult cuThreadExchangeStreamCaptureMode(clpi_cuda_capture_mode *mode)
{
  FAKE_ENTER(cuThreadExchangeStreamCaptureMode);
  clpi_cuda_capture_mode before = thread_mode;
  thread_mode = *mode;
  *mode = before;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, clpi_cuda_capture_status *status)
{
  FAKE_ENTER(cuStreamIsCapturing);
  FAKE_TRY(fake_stream_locked(&stream));
  if (waits_for_captured(stream))
    return CLPI_CUDA_STREAM_CAPTURE_IMPLICIT;
  *status = stream->capture.status;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream stream, clpi_cuda_capture_mode mode)
{
  FAKE_ENTER(cuStreamBeginCapture);
  FAKE_TRY(fake_stream_locked(&stream));
  if (is_captured(stream) || stream == stream->ctx->legacy)
    return CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED;
  stream->capture = (fake_capture){FAKECUDA_CAPTURE_ACTIVE, mode, pthread_self()};
  return CLPI_CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
  FAKE_ENTER(cuStreamEndCapture);
  FAKE_TRY(fake_stream_locked(&stream));
  bool is_valid = stream->capture.status == FAKECUDA_CAPTURE_ACTIVE;
  stream->capture.status = CLPI_CUDA_CAPTURE_NONE;
  *graph = is_valid ? fake_new(sizeof(**graph)) : NULL;
  return is_valid ? CLPI_CUDA_SUCCESS : FAKECUDA_STREAM_CAPTURE_INVALIDATED;
}

CUresult cuGraphDestroy(CUgraph graph)
{
  FAKE_ENTER(cuGraphDestroy);
  free(graph);
  return CLPI_CUDA_SUCCESS;
}

/* --- a reset --- */

/* Streams that are held go on. */
void fake_streams_finish_locked(void)
{
  fake_each_stream (it) {
    it->held = false;
  }
  pthread_cond_broadcast(&fake_progress);
  fake_each_stream (it) {
    while (it->first)
      pthread_cond_wait(&fake_progress, &fake_lock);
    fake_clock_join(&fake_observed, &it->clock);
  }
  fake_mempools_settle_locked();
}

/* The threads need the lock to end. */
void fake_streams_reset_locked(void)
{
  if (thread_mode != FAKECUDA_CAPTURE_GLOBAL)
    (void)fake_wrong(0, "the thread's capture mode was not restored");
  thread_mode = FAKECUDA_CAPTURE_GLOBAL;
  while (events) {
    CUevent event = events;
    if (event->alive)
      (void)fake_wrong(0, "an event was not destroyed");
    events = event->next;
    free(event);
  }
  stopping = true;
  pthread_cond_broadcast(&fake_progress);
  fake_each_stream (it) {
    if (it->state == FAKE_LIVE && !it->is_default)
      (void)fake_wrong(0, "a stream was not destroyed");
    if (it->has_thread) {
      pthread_mutex_unlock(&fake_lock);
      pthread_join(it->thread, NULL);
      pthread_mutex_lock(&fake_lock);
    }
    *it = (struct CUstream_st){.ctx = NULL};
  }
  fake_observed = (fake_clock){{0}};
  stopping = false;
}

/* --- what tests set and ask --- */

/* Also one that is ending, and still held. */
static CUstream found_locked(CUstream handle)
{
  bool is_ending = is_place(handle) && handle->state == FAKE_ENDING;
  return is_ending || !fake_stream_locked(&handle) ? handle : NULL;
}

static void set_held(CUstream handle, bool held)
{
  FAKE_LOCK;
  CUstream stream = found_locked(handle);
  if (stream)
    stream->held = held;
  pthread_cond_broadcast(&fake_progress);
}

void fakecuda_hold(CUstream stream)
{
  set_held(stream, true);
}

void fakecuda_go_on(CUstream stream)
{
  set_held(stream, false);
}

size_t fakecuda_commands_left(CUstream handle)
{
  FAKE_LOCK;
  CUstream stream = found_locked(handle);
  return stream ? (size_t)(stream->given - stream->done) : 0;
}
