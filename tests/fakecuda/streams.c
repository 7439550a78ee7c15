/* SPDX-License-Identifier: MIT */
/* Streams: queues of commands that threads of their own work off. A place in the table keeps its
 * thread when a stream ends, for the next stream there. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct CUstream_st fake_streams[FAKE_MOST_STREAMS];
static bool stopping; /* for a reset: threads end */

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
  return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "a stream that is none, or is no more");
}

static void end_locked(CUstream stream)
{
  stream->state = stream->first ? FAKE_ENDING : FAKE_UNUSED;
}

void fake_streams_end_of_locked(const struct CUctx_st *ctx)
{
  fake_each_stream (it) {
    if (it->state == FAKE_LIVE && it->ctx == ctx)
      end_locked(it);
  }
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
  if (fakecuda_planted == FAKECUDA_LEGACY_STREAM_IS_LIKE_ANY)
    return;
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
  while (!fake_is_done_locked(point) && fakecuda_planted != FAKECUDA_HOST_DOES_NOT_WAIT)
    pthread_cond_wait(&fake_progress, &fake_lock);
}

void fake_reach_all_locked(const struct CUctx_st *ctx)
{
  uint64_t given[FAKE_MOST_STREAMS] = {0};
  fake_clock clock = {{0}};

  fake_each_stream (it) {
    if (it->state != FAKE_UNUSED && it->ctx == ctx) {
      given[it - fake_streams] = it->given;
      fake_clock_join(&clock, &it->clock);
    }
  }
  fake_each_stream (it) {
    fake_reach_locked((fake_point){it, given[it - fake_streams]});
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
    return fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "a default stream is destroyed");
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
  stopping = true;
  pthread_cond_broadcast(&fake_progress);
  fake_each_stream (it) {
    if (it->state == FAKE_LIVE && !it->is_default)
      (void)fake_violation_locked(0, "a stream was not destroyed");
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
