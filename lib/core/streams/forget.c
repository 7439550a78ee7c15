/* SPDX-License-Identifier: MIT */
/* Forgetting streams. */
#include "core/streams/forget.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

/* From now on a call with the handle gets another record. NULL: none is known, nor about to be let
 * go of by another thread. */
static clpi_stream *hide(clpi_streams *streams, clp_stream handle)
{
  pthread_mutex_lock(streams->lock);
  while (streams->ending > 0)
    pthread_cond_wait(&streams->released, streams->lock);
  clpi_stream *stream = clpi_stream_find_locked(streams, handle);
  if (stream) {
    stream->is_forgotten = true;
    stream->visitors++;
  }
  pthread_mutex_unlock(streams->lock);
  return stream;
}

static void await_unpinned_locked(clpi_streams *streams, const clpi_stream *stream)
{
  while (stream->pins > 0)
    pthread_cond_wait(&streams->released, streams->lock);
}

/* Finds out up to which use a hidden stream is needed; 0: for none. */
static clp_status find_last_use(clpi_streams *streams, clpi_stream *stream, bool may_wait,
                                uint64_t *last)
{
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(streams->lock);
  if (may_wait)
    await_unpinned_locked(streams, stream);
  clpi_streams_note_needed_locked(streams);
  *last = stream->last_use >= stream->done ? stream->last_use : 0;
  if (stream->pins > 0)
    status = clpi_error(CLP_BUSY, 0, "a call with the stream is under way");
  else if (stream->is_active)
    status = clpi_error(CLP_BUSY, 0, "an active buffer is bound to the stream or notes its use");
  pthread_mutex_unlock(streams->lock);
  return status;
}

/* Forgets it in fact, or makes it known again. */
static void conclude(clpi_streams *streams, clpi_stream *stream, clp_status status)
{
  clp_stream handle = stream->handle;
  clpi_list dead;
  clpi_list_init(&dead);
  pthread_mutex_lock(streams->lock);
  if (!status) {
    await_unpinned_locked(streams, stream); /* others may be making marks as well */
    clpi_marks_seal_locked(stream, &dead);
  } else {
    stream->is_forgotten = false;
  }
  stream->visitors--;
  pthread_mutex_unlock(streams->lock);
  clpi_marks_free(streams, &dead);
  if (!status)
    streams->allocator->ops.stream_release(streams->allocator->self, handle);
}

/* There is one record of a handle, but where a call took place while forgetting failed. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait)
{
  clp_status status = CLP_SUCCESS;
  for (clpi_stream *stream; !status && (stream = hide(streams, handle));) {
    uint64_t last;
    status = find_last_use(streams, stream, may_wait, &last);
    if (!status && last)
      status = clpi_use_cover(streams, &(clpi_use){stream, last});
    conclude(streams, stream, status);
  }
  return status;
}
