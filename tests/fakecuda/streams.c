/* SPDX-License-Identifier: MIT */
/* Streams: queues of commands that threads of their own work off. A place in the table keeps its
 * thread when a stream ends, for the next stream there. */
#include "fake.h"

#include <stdlib.h>

struct CUstream_st fake_streams[FAKE_MOST_STREAMS];
bool fake_reuse_handles;

static uint64_t endings;
static bool stopping; /* for a reset: threads end */

static unsigned long thread_count;
static _Thread_local unsigned long own_number; /* from 1 on; 0: none yet */
static pthread_key_t at_thread_end;
static pthread_once_t at_thread_end_once = PTHREAD_ONCE_INIT;

/* --- a stream's thread --- */

static bool may_go_on_locked(const struct CUstream_st *stream)
{
  return stream->first != NULL && !stream->held && fake_is_done_locked(stream->first->after);
}

static void delete_command(fake_command *command)
{
  free(command->known);
  free(command->staged);
  free(command);
}

static void run_host_function_locked(const fake_command *command)
{
  fake_observe_locked(command->known);
  fake_unlock_it();
  fake_in_host_function = true;
  command->host_function(command->user_data);
  fake_in_host_function = false;
  fake_lock_it();
}

static void do_next_locked(CUstream stream)
{
  fake_command *command = stream->first;

  if (command->run_locked != NULL)
    command->run_locked(command);
  if (command->host_function != NULL)
    run_host_function_locked(command);
  stream->first = command->next;
  if (stream->first == NULL)
    stream->end = &stream->first;
  stream->done++;
  if (stream->state == FAKE_ENDING && stream->first == NULL)
    stream->state = FAKE_UNUSED;
  delete_command(command);
  pthread_cond_broadcast(&fake_progress);
}

static void *work_off(void *argument)
{
  CUstream stream = argument;

  fake_lock_it();
  while (!stopping) {
    if (may_go_on_locked(stream))
      do_next_locked(stream);
    else
      pthread_cond_wait(&fake_progress, &fake_lock);
  }
  fake_unlock_it();
  return NULL;
}

/* --- making and ending --- */

static CUstream unused_locked(void)
{
  CUstream best = NULL;

  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream->state == FAKE_UNUSED &&
        (best == NULL || (stream->ended > best->ended) == fake_reuse_handles))
      best = stream;
  return best;
}

CUstream fake_stream_new_locked(CUcontext ctx, fake_stream_kind kind, bool blocking)
{
  CUstream stream = unused_locked();

  if (stream == NULL) {
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
  stream->state = stream->first != NULL ? FAKE_ENDING : FAKE_UNUSED;
  stream->ended = ++endings;
}

void fake_streams_end_of_locked(const struct CUctx_st *ctx)
{
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream->state == FAKE_LIVE && stream->ctx == ctx)
      fake_stream_end_locked(stream);
}

/* --- the default streams --- */

static CUstream legacy_locked(CUcontext ctx)
{
  if (ctx->legacy == NULL)
    ctx->legacy = fake_stream_new_locked(ctx, FAKE_LEGACY, false);
  return ctx->legacy;
}

static void end_streams_of_thread(void *unused)
{
  (void)unused;
  fake_lock_it();
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream->state == FAKE_LIVE && stream->kind == FAKE_PER_THREAD &&
        stream->owner == own_number)
      fake_stream_end_locked(stream);
  fake_unlock_it();
}

static void make_key(void)
{
  if (pthread_key_create(&at_thread_end, end_streams_of_thread) != 0)
    abort();
}

static void number_thread_locked(void)
{
  if (own_number != 0)
    return;
  own_number = ++thread_count;
  pthread_once(&at_thread_end_once, make_key);
  pthread_setspecific(at_thread_end, &thread_count); /* anything but NULL */
}

static CUstream per_thread_locked(CUcontext ctx)
{
  number_thread_locked();
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream->state == FAKE_LIVE && stream->kind == FAKE_PER_THREAD && stream->ctx == ctx &&
        stream->owner == own_number)
      return stream;
  return fake_stream_new_locked(ctx, FAKE_PER_THREAD, true);
}

static bool is_place(CUstream handle)
{
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream == handle)
      return true;
  return false;
}

CUstream fake_stream_locked(CUstream handle, CUresult *code)
{
  if (handle == NULL || handle == FAKECUDA_STREAM_LEGACY || handle == FAKECUDA_STREAM_PER_THREAD) {
    CUcontext ctx = fake_current_locked("a default stream");

    *code = ctx != NULL ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_CONTEXT;
    if (ctx == NULL)
      return NULL;
    return handle == FAKECUDA_STREAM_PER_THREAD ? per_thread_locked(ctx) : legacy_locked(ctx);
  }
  if (is_place(handle) && handle->state == FAKE_LIVE && handle->kind == FAKE_CREATED) {
    *code = CLPI_CUDA_SUCCESS;
    return handle;
  }
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
  if (stream->blocking && legacy != NULL)
    wait_for_all_of_locked(stream, legacy);
  if (stream->kind != FAKE_LEGACY)
    return;
  for (CUstream other = fake_streams; other < fake_streams + FAKE_MOST_STREAMS; other++)
    if (other->state != FAKE_UNUSED && other->blocking && other->ctx == stream->ctx)
      wait_for_all_of_locked(stream, other);
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
  if (!stream->has_thread) {
    if (pthread_create(&stream->thread, NULL, work_off, stream) != 0)
      abort();
    stream->has_thread = true;
  }
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
  uint64_t given[FAKE_MOST_STREAMS] = {0};
  fake_clock clock = {{0}};

  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++) {
    if (fake_streams[i].state == FAKE_UNUSED || (ctx != NULL && fake_streams[i].ctx != ctx))
      continue;
    given[i] = fake_streams[i].given;
    fake_clock_join(&clock, &fake_streams[i].clock);
  }
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    fake_reach_locked((fake_point){&fake_streams[i], given[i]});
  fake_synchronized_locked(&clock);
}

/* --- a reset --- */

void fake_streams_check_locked(void)
{
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    if (stream->state == FAKE_LIVE && stream->kind == FAKE_CREATED)
      (void)fake_violation_locked(0, "a stream was not destroyed");
}

/* Without the lock, which the threads need to end. */
static void join_threads_locked(void)
{
  stopping = true;
  pthread_cond_broadcast(&fake_progress);
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++) {
    if (!stream->has_thread)
      continue;
    fake_unlock_it();
    pthread_join(stream->thread, NULL);
    fake_lock_it();
    stream->has_thread = false;
  }
  stopping = false;
}

void fake_streams_reset_locked(void)
{
  join_threads_locked();
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    fake_streams[i] = (struct CUstream_st){.ctx = NULL};
  fake_observed = (fake_clock){{0}};
  fake_reuse_handles = false;
  endings = 0;
}

/* --- what tests set --- */

/* Also one that is ending, and still held. */
static CUstream found_locked(CUstream handle)
{
  CUresult code;

  if (is_place(handle) && handle->state == FAKE_ENDING)
    return handle;
  return fake_stream_locked(handle, &code);
}

static void set_held(CUstream handle, bool held)
{
  CUstream stream;

  fake_lock_it();
  stream = found_locked(handle);
  if (stream != NULL)
    stream->held = held;
  pthread_cond_broadcast(&fake_progress);
  fake_unlock_it();
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
  CUstream stream;
  size_t left = 0;

  fake_lock_it();
  stream = found_locked(handle);
  if (stream != NULL)
    left = (size_t)(stream->given - stream->done);
  fake_unlock_it();
  return left;
}

void fakecuda_reuse_stream_handles(bool reuse)
{
  fake_lock_it();
  fake_reuse_handles = reuse;
  fake_unlock_it();
}
