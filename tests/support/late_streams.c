/* SPDX-License-Identifier: MIT */
/* Streams that run late. */
#include "late_streams.h"

#include <stdlib.h>

void *clpt_late_new(size_t bytes)
{
  void *memory = calloc(1, bytes);

  if (memory == NULL)
    abort();
  return memory;
}

static bool has_ended(const clpt_late_stream *stream)
{
  return stream->users + stream->retains == 0;
}

static clpt_late_stream *find_ended(const clpt_late_streams *all)
{
  clpt_late_stream *stream = all->newest;

  while (stream != NULL && !(has_ended(stream) && stream->first == NULL))
    stream = stream->next;
  return stream;
}

clpt_late_stream *clpt_late_streams_add(clpt_late_streams *all)
{
  clpt_late_stream *stream = all->reuse_addresses ? find_ended(all) : NULL;

  if (stream == NULL) {
    stream = clpt_late_new(sizeof(*stream));
    stream->end = &stream->first;
    stream->next = all->newest;
    all->newest = stream;
  }
  stream->users = 1;
  return stream;
}

bool clpt_late_streams_know(const clpt_late_streams *all, const clpt_late_stream *stream)
{
  for (const clpt_late_stream *known = all->newest; known != NULL; known = known->next)
    if (known == stream)
      return !has_ended(known);
  return false;
}

/* Makes those who wait for the one wait for the other. */
static void redirect(const clpt_late_streams *all, const clpt_late_stream *from,
                     clpt_late_stream *to)
{
  for (clpt_late_stream *stream = all->newest; stream != NULL; stream = stream->next)
    for (clpt_late_work *work = stream->first; work != NULL; work = work->next)
      if (work->after.stream == from)
        work->after.stream = to;
}

clpt_late_stream *clpt_late_streams_destroy(clpt_late_streams *all, clpt_late_stream *stream)
{
  clpt_late_stream *rest;

  stream->users = stream->retains = 0;
  if (stream->first == NULL)
    return stream;
  rest = clpt_late_new(sizeof(*rest));
  *rest = *stream;
  stream->next = rest; /* behind it, so that the address is found first */
  stream->first = NULL;
  stream->end = &stream->first;
  stream->done = stream->given;
  redirect(all, stream, rest);
  return rest;
}

void clpt_late_streams_end(clpt_late_streams *all)
{
  for (clpt_late_stream *stream = all->newest, *next; stream != NULL; stream = next) {
    next = stream->next;
    for (clpt_late_work *work = stream->first, *later; work != NULL; work = later) {
      later = work->next;
      free(work);
    }
    free(stream);
  }
  all->newest = NULL;
}

void clpt_late_give(clpt_late_stream *stream, const clpt_late_work *work)
{
  clpt_late_work *given = clpt_late_new(sizeof(*given));

  *given = *work;
  given->next = NULL;
  *stream->end = given;
  stream->end = &given->next;
  stream->given++;
}

clpt_late_point clpt_late_point_of(clpt_late_stream *stream)
{
  return (clpt_late_point){stream, stream->given};
}

bool clpt_late_reached(clpt_late_point point)
{
  return point.stream == NULL || point.stream->done >= point.position;
}

bool clpt_late_step_one(clpt_late_stream *stream)
{
  clpt_late_work *work = stream->first;

  if (work == NULL || !clpt_late_reached(work->after))
    return false;
  stream->first = work->next;
  if (stream->first == NULL)
    stream->end = &stream->first;
  if (work->run != NULL)
    work->run(work);
  free(work);
  stream->done++;
  return true;
}

void clpt_late_reach(clpt_late_point point)
{
  while (!clpt_late_reached(point))
    if (!clpt_late_step_one(point.stream))
      clpt_late_reach(point.stream->first->after);
}
