/* SPDX-License-Identifier: MIT */
/* Streams that run late: queues of work that is done only when somebody steps them. They know
 * nothing of memory, and have no lock: whoever has them has one. */
#ifndef CLPT_LATE_STREAMS_H
#define CLPT_LATE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpt_late_stream clpt_late_stream;
typedef struct clpt_late_work clpt_late_work;

/** Where a stream is when it has done its first `position` pieces of work. */
typedef struct clpt_late_point {
  clpt_late_stream *stream;
  uint64_t position;
} clpt_late_point;

/** One piece of work. */
struct clpt_late_work {
  clpt_late_point after;             /**< not before this is reached; without a stream: at once */
  void (*run)(clpt_late_work *work); /**< NULL: it only waits */
  void *device, *block;              /**< for `run` */
  uint64_t tag;
  clpt_late_work *next;
};

struct clpt_late_stream {
  clpt_late_work *first, **end; /* given, and not yet done */
  uint64_t given, done;         /* never fall, also where a stream is made anew at one address */
  unsigned users, retains;      /* references: the test's, and the library's */
  clpt_late_stream *next;
};

/** All streams of a device; all zero is none. */
typedef struct clpt_late_streams {
  clpt_late_stream *newest;
  bool reuse_addresses; /**< a new stream is made where one was that ended */
} clpt_late_streams;

/** A stream with one reference of a user's. */
clpt_late_stream *clpt_late_streams_add(clpt_late_streams *all);

/** Whether it is one of them and has references: alone then may it be given work. */
bool clpt_late_streams_know(const clpt_late_streams *all, const clpt_late_stream *stream);

/** Ends a stream, whatever references it has: what work it has left goes on at another address,
 * which it returns, so that a new stream may be made where it was. */
clpt_late_stream *clpt_late_streams_destroy(clpt_late_streams *all, clpt_late_stream *stream);

/** Frees them all, with what work they have left. */
void clpt_late_streams_end(clpt_late_streams *all);

/** Gives a copy of `work` to the stream. */
void clpt_late_give(clpt_late_stream *stream, const clpt_late_work *work);

/** The end of all work that the stream has been given. */
clpt_late_point clpt_late_point_of(clpt_late_stream *stream);

bool clpt_late_reached(clpt_late_point point);

/** Does the stream's next piece of work; false: there is none, or it waits for another stream. */
bool clpt_late_step_one(clpt_late_stream *stream);

/** Does what is needed to get there, on other streams too, and no more. It always gets there: work
 * waits only for points that were there before it. */
void clpt_late_reach(clpt_late_point point);

/** Memory of the fake's own, zeroed; the program ends where there is none. */
void *clpt_late_new(size_t bytes);

#endif
