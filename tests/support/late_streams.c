/* SPDX-License-Identifier: MIT */
/* Streams that run late. */
#include "late_device.h"

#include <stdio.h>
#include <stdlib.h>

typedef clpt_late_device late;
typedef clpt_late_point point;

void *clpt_late_new(size_t bytes)
{
  void *memory = calloc(1, bytes);
  if (!memory)
    abort();
  return memory;
}

/* Only the first is kept. */
void clpt_late_wrong_locked(late *it, const char *what)
{
  if (!it->wrong[0])
    (void)snprintf(it->wrong, sizeof(it->wrong), "%s", what);
}

void clpt_late_unlock(pthread_mutex_t *const *locked)
{
  pthread_mutex_unlock(*locked);
}

static bool has_ended(const clpt_late_stream *stream)
{
  return stream->users + stream->retains == 0;
}

clpt_late_stream *clpt_late_add_stream_locked(late *it)
{
  clpt_late_stream *stream = it->streams.reuse_addresses ? it->streams.newest : NULL;
  while (stream && (!has_ended(stream) || stream->first))
    stream = stream->next;
  if (!stream) {
    stream = clpt_late_new(sizeof(*stream));
    stream->end = &stream->first;
    stream->next = it->streams.newest;
    it->streams.newest = stream;
  }
  stream->users = 1;
  return stream;
}

bool clpt_late_is_stream_locked(const late *it, const clpt_late_stream *stream)
{
  for (const clpt_late_stream *known = it->streams.newest; known; known = known->next)
    if (known == stream)
      return !has_ended(known);
  return false;
}

void clpt_late_give_locked(clpt_late_stream *stream, clpt_late_work work)
{
  clpt_late_work *given = clpt_late_new(sizeof(*given));
  *given = work;
  *stream->end = given;
  stream->end = &given->next;
  stream->given++;
}

point clpt_late_end_of(clpt_late_stream *stream)
{
  return (point){stream, stream->given};
}

bool clpt_late_is_reached(point at)
{
  return !at.stream || at.stream->done >= at.position;
}

/* False: no work is left, or it waits for another stream. */
static bool step_locked(clpt_late_stream *stream)
{
  clpt_late_work *work = stream->first;
  if (!work || !clpt_late_is_reached(work->after))
    return false;
  stream->first = work->next;
  if (!stream->first)
    stream->end = &stream->first;
  if (work->run)
    work->run(work->device, work->block, work->tag);
  free(work);
  stream->done++;
  return true;
}

void clpt_late_reach_locked(point at)
{
  while (!clpt_late_is_reached(at))
    if (!step_locked(at.stream))
      clpt_late_reach_locked(at.stream->first->after);
}

/* --- as their user has them --- */

clp_stream clpt_late_stream_new(late *it)
{
  CLPT_LATE_LOCKED(it);
  return clpt_late_add_stream_locked(it);
}

void clpt_late_stream_drop(late *it, clp_stream stream)
{
  CLPT_LATE_LOCKED(it);
  ((clpt_late_stream *)stream)->users--;
}

/* The work that is left goes on at another address, and so does who waits for it. */
void clpt_late_stream_destroy(late *it, clp_stream stream)
{
  clpt_late_stream *destroyed = stream, *rest = destroyed;
  CLPT_LATE_LOCKED(it);
  if (destroyed->retains > 0)
    clpt_late_wrong_locked(it, "a stream destroyed that the library needs");
  destroyed->users = destroyed->retains = 0;
  if (destroyed->first) {
    rest = clpt_late_new(sizeof(*rest));
    *rest = *destroyed;
    destroyed->next = rest; /* behind it, so that the address is found first */
    destroyed->first = NULL;
    destroyed->end = &destroyed->first;
    destroyed->done = destroyed->given;
  }
  for (clpt_late_stream *other = it->streams.newest; other; other = other->next)
    for (clpt_late_work *work = other->first; work; work = work->next)
      if (work->after.stream == destroyed)
        work->after.stream = rest;
  for (clpt_late_mark *mark = it->marks; mark; mark = mark->next)
    if (mark->at.stream == destroyed)
      mark->at.stream = rest;
}

unsigned clpt_late_retains(late *it)
{
  unsigned retains = 0;
  CLPT_LATE_LOCKED(it);
  for (const clpt_late_stream *stream = it->streams.newest; stream; stream = stream->next)
    retains += stream->retains;
  return retains;
}

void clpt_late_check_user_locked(late *it, const clpt_late_stream *stream)
{
  if (stream->users == 0)
    clpt_late_wrong_locked(it, "the test uses a stream that it dropped");
}

void clpt_late_order(late *it, clp_stream earlier, clp_stream later)
{
  CLPT_LATE_LOCKED(it);
  clpt_late_check_user_locked(it, later);
  clpt_late_give_locked(later, (clpt_late_work){.after = clpt_late_end_of(earlier)});
}

void clpt_late_finish(late *it, clp_stream stream)
{
  CLPT_LATE_LOCKED(it);
  clpt_late_reach_locked(clpt_late_end_of(stream));
}

/* --- time --- */

bool clpt_late_step(late *it, clp_stream stream)
{
  CLPT_LATE_LOCKED(it);
  return step_locked(stream);
}

void clpt_late_run(late *it, clp_stream stream)
{
  while (clpt_late_step(it, stream))
    ;
}

/* From some stream on, and then all in turn. */
bool clpt_late_step_any(late *it, clpt_chance *chance)
{
  size_t count = 0;
  CLPT_LATE_LOCKED(it);
  for (clpt_late_stream *stream = it->streams.newest; stream; stream = stream->next)
    count++;
  clpt_late_stream *stream = it->streams.newest;
  size_t skip = count > 0 ? (size_t)clpt_chance_below(chance, count) : 0;
  for (size_t i = 0; i < skip + count; i++) {
    if (i >= skip && step_locked(stream))
      return true;
    stream = stream->next ? stream->next : it->streams.newest;
  }
  return false;
}

void clpt_late_run_all(late *it)
{
  CLPT_LATE_LOCKED(it);
  for (clpt_late_stream *stream = it->streams.newest; stream;)
    stream = step_locked(stream) ? it->streams.newest : stream->next;
}

size_t clpt_late_left(late *it, clp_stream stream)
{
  const clpt_late_stream *asked = stream;
  CLPT_LATE_LOCKED(it);
  return (size_t)(asked->given - asked->done);
}

bool clpt_late_is_held_up(late *it, clp_stream stream)
{
  clpt_late_run(it, stream);
  return clpt_late_left(it, stream) > 0;
}
