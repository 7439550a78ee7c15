/* SPDX-License-Identifier: MIT */
/* Streams: queues of commands that threads of their own work off. A place in the table keeps its
 * thread when a stream ends, for the next stream there. */
#include "fake.h"

#include <stdlib.h>

struct CUstream_st fake_streams[FAKE_MOST_STREAMS];

#define EACH_STREAM(it) (CUstream it = fake_streams; it < fake_streams + FAKE_MOST_STREAMS; it++)

static bool reuses_handles;
static uint64_t endings;
static bool stopping; /* for a reset: threads end */

static unsigned long thread_count;
static _Thread_local unsigned long own_number; /* from 1 on; 0: none yet */
static pthread_key_t at_thread_end;
static pthread_once_t at_thread_end_once = PTHREAD_ONCE_INIT;

/* --- a stream's thread --- */

static void run_host_function_locked(const fake_command *command)
{
  fake_clock_join(&fake_observed, command->known);
  pthread_mutex_unlock(&fake_lock);
  fake_in_host_function = true;
  command->host_function(command->user_data);
  fake_in_host_function = false;
  pthread_mutex_lock(&fake_lock);
}

static void do_next_locked(CUstream stream)
{
  fake_command *command = stream->first;
  if (command->run_locked)
    command->run_locked(command);
  if (command->host_function)
    run_host_function_locked(command);
  stream->first = command->next;
  if (!stream->first)
    stream->end = &stream->first;
  stream->done++;
  if (stream->state == FAKE_ENDING && !stream->first)
    stream->state = FAKE_UNUSED;
  free(command->known);
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

/* --- making and ending --- */

/* What ended longest ago, or last. */
static CUstream unused_locked(void)
{
  CUstream best = NULL;
  for
    EACH_STREAM(it)
  if (it->state == FAKE_UNUSED && (!best || (it->ended > best->ended) == reuses_handles))
    best = it;
  return best;
}

CUstream fake_stream_new_locked(CUcontext ctx, fake_stream_kind kind, bool blocking)
{
  CUstream stream = unused_locked();
  if (!stream) {
    (void)fake_violation_locked(0, "more than %d streams", FAKE_MOST_STREAMS);
    return NULL;
  }
  stream->ctx = ctx;
  stream->state = FAKE_LIVE;
  stream->kind = kind;
  stream->blocking = blocking;
  stream->held = false;
  stream->owner = own_number;
  stream->end = &stream->first;
  stream->clock = fake_observed;
  stream->clock.of[stream - fake_streams] = stream->given;
  return stream;
}

void fake_stream_end_locked(CUstream stream)
{
  stream->state = stream->first ? FAKE_ENDING : FAKE_UNUSED;
  stream->ended = ++endings;
}

void fake_streams_end_of_locked(const struct CUctx_st *ctx)
{
  for
    EACH_STREAM(it)
  if (it->state == FAKE_LIVE && it->ctx == ctx)
    fake_stream_end_locked(it);
}

/* --- the default streams --- */

static CUstream legacy_locked(CUcontext ctx)
{
  if (!ctx->legacy)
    ctx->legacy = fake_stream_new_locked(ctx, FAKE_LEGACY, false);
  return ctx->legacy;
}

static void end_streams_of_thread(void *unused)
{
  (void)unused;
  FAKE_LOCK;
  for
    EACH_STREAM(it)
  if (it->state == FAKE_LIVE && it->kind == FAKE_PER_THREAD && it->owner == own_number)
    fake_stream_end_locked(it);
}

static void make_key(void)
{
  if (pthread_key_create(&at_thread_end, end_streams_of_thread) != 0)
    abort();
}

static CUstream per_thread_locked(CUcontext ctx)
{
  if (!own_number) {
    own_number = ++thread_count;
    pthread_once(&at_thread_end_once, make_key);
    pthread_setspecific(at_thread_end, &thread_count); /* anything but NULL */
  }
  for
    EACH_STREAM(it)
  if (it->state == FAKE_LIVE && it->kind == FAKE_PER_THREAD && it->ctx == ctx &&
      it->owner == own_number)
    return it;
  return fake_stream_new_locked(ctx, FAKE_PER_THREAD, true);
}

static bool is_place(CUstream handle)
{
  for
    EACH_STREAM(it)
  if (it == handle)
    return true;
  return false;
}

CUstream fake_stream_locked(CUstream handle, CUresult *code)
{
  if (!handle || handle == FAKECUDA_STREAM_LEGACY || handle == FAKECUDA_STREAM_PER_THREAD) {
    CUcontext ctx = fake_current_locked();
    *code = ctx ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_CONTEXT;
    if (!ctx)
      return NULL;
    return handle == FAKECUDA_STREAM_PER_THREAD ? per_thread_locked(ctx) : legacy_locked(ctx);
  }
  *code = CLPI_CUDA_SUCCESS;
  if (is_place(handle) && handle->state == FAKE_LIVE && handle->kind == FAKE_CREATED)
    return handle;
  *code = fake_violation_locked(CLPI_CUDA_INVALID_HANDLE, "a stream that is none, or is no more");
  return NULL;
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
  if (fake_defect == FAKECUDA_LEGACY_STREAM_IS_LIKE_ANY)
    return;
  if (stream->blocking && legacy)
    wait_for_all_of_locked(stream, legacy);
  for
    EACH_STREAM(it)
  if (stream->kind == FAKE_LEGACY && it->state != FAKE_UNUSED && it->blocking &&
      it->ctx == stream->ctx)
    wait_for_all_of_locked(stream, it);
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
  while (!fake_is_done_locked(point) && fake_defect != FAKECUDA_HOST_DOES_NOT_WAIT)
    pthread_cond_wait(&fake_progress, &fake_lock);
}

void fake_reach_all_locked(const struct CUctx_st *ctx)
{
  uint64_t given[FAKE_MOST_STREAMS] = {0};
  fake_clock clock = {{0}};

  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++) {
    if (fake_streams[i].state == FAKE_UNUSED || fake_streams[i].ctx != ctx)
      continue;
    given[i] = fake_streams[i].given;
    fake_clock_join(&clock, &fake_streams[i].clock);
  }
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    fake_reach_locked((fake_point){&fake_streams[i], given[i]});
  fake_synchronized_locked(&clock);
}

/* --- a reset --- */

/* Streams that are held go on. */
void fake_streams_finish_locked(void)
{
  for
    EACH_STREAM(it)
  it->held = false;
  pthread_cond_broadcast(&fake_progress);
  for
    EACH_STREAM(it)
    {
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
  for
    EACH_STREAM(it)
    {
      if (it->state == FAKE_LIVE && it->kind == FAKE_CREATED)
        (void)fake_violation_locked(0, "a stream was not destroyed");
      if (it->has_thread) {
        pthread_mutex_unlock(&fake_lock);
        pthread_join(it->thread, NULL);
        pthread_mutex_lock(&fake_lock);
      }
      *it = (struct CUstream_st){.ctx = NULL};
    }
  fake_observed = (fake_clock){{0}};
  stopping = reuses_handles = false;
  endings = 0;
}

/* --- what tests set --- */

/* Also one that is ending, and still held. */
static CUstream found_locked(CUstream handle)
{
  CUresult code;
  return is_place(handle) && handle->state == FAKE_ENDING ? handle
                                                          : fake_stream_locked(handle, &code);
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

void fakecuda_reuse_stream_handles(bool reuse)
{
  FAKE_LOCK;
  reuses_handles = reuse;
}
