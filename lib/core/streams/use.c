/* SPDX-License-Identifier: MIT */
/* Marks: made only when a thread asks about a use, and shared by all the uses that they cover. */
#include "core/streams/stream.h"

#include "core/allocator/allocator.h"
#include "core/base/nap.h"

#include <stdlib.h>

/* The most marks of a stream. The next newer mark covers the uses of one that is dropped. */
enum { MOST_MARKS = 16 };

/* Guarded by the streams' lock, except members that never change. */
typedef struct clpi_mark {
  clpi_list on_stream;
  void *mark;          /* the allocator's; never changes */
  uint64_t epoch;      /* covers all uses of lower epochs */
  unsigned references; /* the list's, and one for each thread that looks at it */
} clpi_mark;

static clpi_mark *mark_at(clpi_list *link)
{
  return clpi_list_entry(link, clpi_mark, on_stream);
}

/* Drops a reference; the last one puts the mark on `dead`, for clpi_marks_free. */
static void put_locked(clpi_mark *mark, clpi_list *dead)
{
  if (--mark->references == 0)
    clpi_list_push_back(dead, &mark->on_stream);
}

static void unlist_locked(clpi_stream *stream, clpi_mark *mark, clpi_list *dead)
{
  clpi_list_remove(&mark->on_stream);
  stream->mark_count--;
  put_locked(mark, dead);
}

void clpi_marks_free(clpi_streams *streams, clpi_list *dead)
{
  while (!clpi_list_is_empty(dead)) {
    clpi_mark *mark = mark_at(dead->next);
    clpi_list_remove(&mark->on_stream);
    streams->allocator->ops.mark_destroy(streams->allocator->self, mark->mark);
    free(mark);
  }
}

void clpi_marks_end(clpi_streams *streams, clpi_stream *stream)
{
  clpi_marks_free(streams, &stream->marks);
  stream->mark_count = 0;
}

/* The oldest mark that covers the use, with a reference; NULL: there is none. */
static clpi_mark *find_covering_locked(const clpi_use *use)
{
  clpi_list_each (clpi_mark, mark, &use->stream->marks, on_stream)
    if (mark->epoch > use->epoch) {
      mark->references++;
      return mark;
    }
  return NULL;
}

/* With two references: the caller's, and that of the list to which it is added next. */
static clp_status make_mark(clpi_streams *streams, clpi_stream *stream, uint64_t epoch,
                            clpi_mark **out)
{
  clpi_mark *mark = malloc(sizeof(*mark));
  if (!mark)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a mark on a stream");
  *mark = (clpi_mark){.epoch = epoch, .references = 2};
  clp_status status = clpi_allocator_call(streams->allocator, "marking a stream", mark_create,
                                          stream->handle, &mark->mark);
  if (status)
    free(mark);
  else
    *out = mark;
  return status;
}

/* Returns the mark whose loss moves the fewest uses to the next mark. It is never the oldest: if
 * work is far behind, that one is done first. Nor is it the newest, which the caller looks at. */
static clpi_mark *find_dispensable_locked(const clpi_stream *stream)
{
  clpi_mark *found = NULL;
  uint64_t least = UINT64_MAX;
  for (clpi_list *link = stream->marks.next->next; link->next != &stream->marks;
       link = link->next) {
    uint64_t gap = mark_at(link->next)->epoch - mark_at(link->previous)->epoch;
    found = gap < least ? mark_at(link) : found;
    least = gap < least ? gap : least;
  }
  return found;
}

/* The list is sorted by epoch, and another thread may have listed a later mark already. */
static void list_locked(clpi_stream *stream, clpi_mark *mark, clpi_list *dead)
{
  clpi_list *after = stream->marks.previous;
  while (after != &stream->marks && mark_at(after)->epoch > mark->epoch)
    after = after->previous;
  clpi_list_push_front(after, &mark->on_stream);
  if (++stream->mark_count > MOST_MARKS)
    unlist_locked(stream, find_dispensable_locked(stream), dead);
}

/* Makes and lists a mark at the end of the stream's work. Unpins the stream, on failure too. */
static clp_status add_mark(clpi_streams *streams, clpi_stream *stream, uint64_t epoch,
                           clpi_mark **out)
{
  clpi_list dead;
  clpi_list_init(&dead);
  clp_status status = make_mark(streams, stream, epoch, out);
  pthread_mutex_lock(streams->lock);
  if (!status)
    list_locked(stream, *out, &dead);
  clpi_stream_unpin_locked(streams, stream);
  pthread_mutex_unlock(streams->lock);
  clpi_marks_free(streams, &dead);
  return status;
}

/* Finds or makes a mark that covers the use, with a reference; NULL: it is settled for `by`. */
static clp_status obtain_mark(clpi_streams *streams, const clpi_use *use, const clpi_stream *by,
                              clpi_mark **out)
{
  clpi_stream *stream = use->stream;
  *out = NULL;
  pthread_mutex_lock(streams->lock);
  bool is_settled = clpi_use_is_settled_locked(use, by);
  if (!is_settled)
    *out = find_covering_locked(use);
  bool is_there = is_settled || *out;
  uint64_t epoch = 0;
  if (!is_there) {
    epoch = atomic_fetch_add_explicit(&stream->epoch, 1, memory_order_relaxed) + 1;
    stream->pins++;
  }
  pthread_mutex_unlock(streams->lock);
  return is_there ? CLP_SUCCESS : add_mark(streams, stream, epoch, out);
}

void clpi_marks_seal_locked(clpi_stream *stream, clpi_list *unneeded)
{
  if (stream->last_use >= stream->done) {
    mark_at(stream->marks.previous)->epoch = UINT64_MAX;
    return;
  }
  stream->done = UINT64_MAX;
  while (!clpi_list_is_empty(&stream->marks))
    unlist_locked(stream, mark_at(stream->marks.next), unneeded);
}

static void note_done_locked(clpi_stream *stream, const clpi_mark *done, clpi_list *dead)
{
  stream->is_stalled = false;
  if (stream->done < done->epoch)
    stream->done = done->epoch;
  while (!clpi_list_is_empty(&stream->marks)) {
    clpi_mark *oldest = mark_at(stream->marks.next);
    if (oldest->epoch > stream->done)
      break;
    unlist_locked(stream, oldest, dead);
  }
}

/* Notes that a mark is done, or that a stream (else NULL) waits for it, and drops a reference. */
static void finish(clpi_streams *streams, clpi_stream *stream, clpi_mark *mark, bool done,
                   clpi_stream *waiting)
{
  clpi_list dead;
  clpi_list_init(&dead);
  pthread_mutex_lock(streams->lock);
  if (done)
    note_done_locked(stream, mark, &dead);
  if (waiting)
    clpi_stream_note_wait_locked(waiting, stream, mark->epoch);
  put_locked(mark, &dead);
  pthread_mutex_unlock(streams->lock);
  clpi_marks_free(streams, &dead);
}

static bool is_done(const clp_allocator *allocator, const clpi_mark *mark)
{
  bool done = false;
  return !clpi_allocator_call(allocator, "querying a mark", mark_is_done, mark->mark, &done) &&
         done;
}

static bool makes_wait(const clp_allocator *allocator, const clpi_stream *by, const clpi_mark *mark)
{
  return !clpi_allocator_call(allocator, "making a stream wait", stream_wait, by->handle,
                              mark->mark);
}

bool clpi_use_settle(clpi_streams *streams, const clpi_use *use, clpi_stream *by, unsigned ways)
{
  clpi_mark *mark;
  if (obtain_mark(streams, use, by, &mark))
    return false;
  if (!mark)
    return true;
  bool done = (ways & CLPI_POLL) && is_done(streams->allocator, mark);
  bool waits =
      !done && (ways & CLPI_WAIT) && by->is_ordered && makes_wait(streams->allocator, by, mark);
  finish(streams, use->stream, mark, done, waits ? by : NULL);
  return done || waits;
}

clp_status clpi_use_wait(clpi_streams *streams, const clpi_use *use)
{
  clpi_mark *mark;
  clp_status status = obtain_mark(streams, use, NULL, &mark);
  if (status || !mark)
    return status;
  status = clpi_allocator_call(streams->allocator, "waiting for a stream", host_wait, mark->mark);
  finish(streams, use->stream, mark, !status, NULL);
  return status;
}

static bool naps_until_done(const clp_allocator *allocator, const clpi_mark *mark)
{
  bool done = is_done(allocator, mark);
  for (unsigned naps = 0; !done && clpi_nap(&naps);)
    done = is_done(allocator, mark);
  return done;
}

bool clpi_use_wait_briefly(clpi_streams *streams, const clpi_use *use)
{
  clpi_stream *stream = use->stream;
  clpi_mark *mark;
  if (obtain_mark(streams, use, NULL, &mark))
    return false;
  if (!mark)
    return true;
  pthread_mutex_lock(streams->lock);
  bool is_stalled = stream->is_stalled;
  pthread_mutex_unlock(streams->lock);
  bool done =
      is_stalled ? is_done(streams->allocator, mark) : naps_until_done(streams->allocator, mark);
  pthread_mutex_lock(streams->lock);
  stream->is_stalled = !done;
  pthread_mutex_unlock(streams->lock);
  finish(streams, stream, mark, done, NULL);
  return done;
}

clp_status clpi_use_order(clpi_streams *streams, const clpi_use *use, clpi_stream *by)
{
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  if (clpi_use_settle(streams, use, by, CLPI_WAIT))
    return CLP_SUCCESS;
  clp_status status = clp_last_error()->status;
  if (status == CLP_NOT_SUPPORTED)
    status = clpi_use_wait(streams, use);
  if (!status)
    clpi_error_restore(&kept);
  return status;
}

/* Asks the mark at once: usually it is done, and need not be kept. */
clp_status clpi_use_cover(clpi_streams *streams, const clpi_use *use)
{
  clpi_mark *mark;
  clp_status status = obtain_mark(streams, use, NULL, &mark);
  if (status || !mark)
    return status;
  CLPI_KEEPS_ERROR;
  bool done = is_done(streams->allocator, mark);
  finish(streams, use->stream, mark, done, NULL);
  return CLP_SUCCESS;
}

void clpi_use_note_freed_locked(const clpi_use *use)
{
  if (use->stream->freed < use->epoch)
    use->stream->freed = use->epoch;
}

static bool wait_for_freed(clpi_streams *streams, clpi_stream *stream)
{
  pthread_mutex_lock(streams->lock);
  clpi_use last = {stream, stream->freed};
  bool is_pending = last.epoch && !clpi_use_is_settled_locked(&last, NULL);
  pthread_mutex_unlock(streams->lock);
  return is_pending && !clpi_use_wait(streams, &last);
}

bool clpi_streams_drain(clpi_streams *streams)
{
  return clpi_streams_visit(streams, wait_for_freed) > 0;
}

static bool poll_all(clpi_streams *streams, clpi_stream *stream)
{
  clpi_use all = clpi_use_now(stream);
  return clpi_use_settle(streams, &all, NULL, CLPI_POLL);
}

void clpi_streams_poll(clpi_streams *streams)
{
  CLPI_KEEPS_ERROR;
  (void)clpi_streams_visit(streams, poll_all);
}
