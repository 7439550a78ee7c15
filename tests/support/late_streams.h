/* SPDX-License-Identifier: MIT */
/* Streams that run late: the work that they are given is done when the test says so. They are those
 * of a late device, whose lock all functions take but those that end in _locked, which need it. */
#ifndef CLPT_LATE_STREAMS_H
#define CLPT_LATE_STREAMS_H

#include "chance.h"

#include <clpool/allocator.h>
#include <pthread.h>
#include <stdint.h>

typedef struct clpt_late_device clpt_late_device;
typedef struct clpt_late_block clpt_late_block;

/** Where a stream is when it has done its first `position` pieces of work. */
typedef struct clpt_late_point {
  struct clpt_late_stream *stream;
  uint64_t position;
} clpt_late_point;

/** A stream. */
typedef struct clpt_late_stream {
  struct clpt_late_work *first, **end; /* given, and not yet done */
  uint64_t given, done;    /* never fall, also where a stream is made anew at one address */
  unsigned users, retains; /* references: the test's, and the library's */
  struct clpt_late_stream *next;
} clpt_late_stream;

/** Streams, as their user has them: a new one, of which the caller has a reference, or lets it go;
 * or ends it at once, as cuStreamDestroy does: its work goes on, but no call may be made with it,
 * nor may the library have references. With reuse_addresses the next one is made there. */
clp_stream clpt_late_stream_new(clpt_late_device *device);
void clpt_late_stream_drop(clpt_late_device *device, clp_stream stream);
void clpt_late_stream_destroy(clpt_late_device *device, clp_stream stream);

/** Makes `later`, or the host, wait for all that a stream has been given; not counted as the
 * library's. */
void clpt_late_order(clpt_late_device *device, clp_stream earlier, clp_stream later);
void clpt_late_finish(clpt_late_device *device, clp_stream stream);

/** Lets time pass: does one piece of the stream's work, or of a stream's by chance (false: none is
 * left, or it waits for another stream); all of it, as far as it goes; all work, that of newer
 * streams before that of older ones, wherever it may. */
bool clpt_late_step(clpt_late_device *device, clp_stream stream);
bool clpt_late_step_any(clpt_late_device *device, clpt_chance *chance);
void clpt_late_run(clpt_late_device *device, clp_stream stream);
void clpt_late_run_all(clpt_late_device *device);

/** How many pieces of work the stream has left; does its work as far as it goes, and says whether
 * it then waits for another stream. */
size_t clpt_late_left(clpt_late_device *device, clp_stream stream);
bool clpt_late_is_held_up(clpt_late_device *device, clp_stream stream);

/** How many references to streams the library has. */
unsigned clpt_late_retains(clpt_late_device *device);

/* --- for the device --- */

/** One piece of work, which waits for `after`. Without `run` it does no more. */
typedef struct clpt_late_work {
  clpt_late_point after;
  void (*run)(clpt_late_device *device, clpt_late_block *block, uint64_t tag);
  clpt_late_device *device;
  clpt_late_block *block;
  uint64_t tag;
  struct clpt_late_work *next;
} clpt_late_work;

typedef struct clpt_late_mark {
  clpt_late_device *device;
  clpt_late_point at;
  bool released;
  struct clpt_late_mark *next;
} clpt_late_mark;

/** Has the device's lock to the end of the function. */
#define CLPT_LATE_LOCKED(it)                                                                       \
  __attribute__((cleanup(clpt_late_unlock), unused)) pthread_mutex_t *const locked_ =              \
      (pthread_mutex_lock(&((clpt_late_device *)(it))->lock), &((clpt_late_device *)(it))->lock)
void clpt_late_unlock(pthread_mutex_t *const *locked);

/** Memory of the test's own, zeroed. */
void *clpt_late_new(size_t bytes);

/** Notes what is wrong. */
void clpt_late_wrong_locked(clpt_late_device *device, const char *what);

clpt_late_stream *clpt_late_add_stream_locked(clpt_late_device *device);
bool clpt_late_is_stream_locked(const clpt_late_device *device, const clpt_late_stream *stream);
void clpt_late_give_locked(clpt_late_stream *stream, clpt_late_work work);
void clpt_late_check_user_locked(clpt_late_device *device, const clpt_late_stream *stream);

/** Where the stream is when it has done all that it was given; and whether it is there. */
clpt_late_point clpt_late_end_of(clpt_late_stream *stream);
bool clpt_late_is_reached(clpt_late_point at);

/** Does what is needed to get there, on other streams too, and no more. It always gets there: work
 * waits only for points that were there before it. */
void clpt_late_reach_locked(clpt_late_point at);

#endif
