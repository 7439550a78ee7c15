/* SPDX-License-Identifier: MIT */
/* A device whose streams run late: what its users and its tests do, under its lock. */
#include "late_blocks.h"

/* --- streams, as their user has them --- */

clp_stream clpt_late_stream_new(clpt_late_device *device)
{
  clp_stream stream;

  pthread_mutex_lock(&device->lock);
  stream = clpt_late_streams_add(&device->streams);
  pthread_mutex_unlock(&device->lock);
  return stream;
}

void clpt_late_stream_drop(clpt_late_device *device, clp_stream stream)
{
  clpt_late_stream *dropped = stream;

  pthread_mutex_lock(&device->lock);
  dropped->users--;
  pthread_mutex_unlock(&device->lock);
}

static void check_user_locked(clpt_late_device *device, const clpt_late_stream *stream)
{
  if (stream->users == 0)
    clpt_late_wrong_locked(device, "the test uses a stream that it dropped");
}

void clpt_late_write(clpt_late_device *device, clp_stream stream, clp_memory memory)
{
  pthread_mutex_lock(&device->lock);
  check_user_locked(device, stream);
  clpt_late_write_locked(device, stream, memory);
  pthread_mutex_unlock(&device->lock);
}

void clpt_late_read(clpt_late_device *device, clp_stream stream, clp_memory memory)
{
  pthread_mutex_lock(&device->lock);
  check_user_locked(device, stream);
  clpt_late_read_locked(device, stream, memory);
  pthread_mutex_unlock(&device->lock);
}

void clpt_late_order(clpt_late_device *device, clp_stream earlier, clp_stream later)
{
  pthread_mutex_lock(&device->lock);
  check_user_locked(device, later);
  clpt_late_give(later, &(clpt_late_work){.after = clpt_late_point_of(earlier)});
  pthread_mutex_unlock(&device->lock);
}

void clpt_late_finish(clpt_late_device *device, clp_stream stream)
{
  pthread_mutex_lock(&device->lock);
  clpt_late_reach(clpt_late_point_of(stream));
  pthread_mutex_unlock(&device->lock);
}

/* --- time --- */

bool clpt_late_step(clpt_late_device *device, clp_stream stream)
{
  bool stepped;

  pthread_mutex_lock(&device->lock);
  stepped = clpt_late_step_one(stream);
  pthread_mutex_unlock(&device->lock);
  return stepped;
}

void clpt_late_run(clpt_late_device *device, clp_stream stream)
{
  while (clpt_late_step(device, stream))
    ;
}

/* From some stream on, and then all in turn. */
bool clpt_late_step_any(clpt_late_device *device, clpt_chance *chance)
{
  clpt_late_stream *stream;
  size_t count = 0, skip;
  bool stepped = false;

  pthread_mutex_lock(&device->lock);
  for (stream = device->streams.newest; stream != NULL; stream = stream->next)
    count++;
  skip = count > 0 ? (size_t)clpt_chance_below(chance, count) : 0;
  for (size_t i = 0; !stepped && i < skip + count; i++) {
    stream = stream == NULL ? device->streams.newest : stream;
    stepped = i >= skip && clpt_late_step_one(stream);
    stream = stream->next;
  }
  pthread_mutex_unlock(&device->lock);
  return stepped;
}

void clpt_late_run_all(clpt_late_device *device)
{
  clpt_late_stream *stream;

  pthread_mutex_lock(&device->lock);
  for (stream = device->streams.newest; stream != NULL;)
    stream = clpt_late_step_one(stream) ? device->streams.newest : stream->next;
  pthread_mutex_unlock(&device->lock);
}

size_t clpt_late_left(clpt_late_device *device, clp_stream stream)
{
  const clpt_late_stream *asked = stream;
  size_t left;

  pthread_mutex_lock(&device->lock);
  left = (size_t)(asked->given - asked->done);
  pthread_mutex_unlock(&device->lock);
  return left;
}

bool clpt_late_is_held_up(clpt_late_device *device, clp_stream stream)
{
  clpt_late_run(device, stream);
  return clpt_late_left(device, stream) > 0;
}
