/* SPDX-License-Identifier: MIT */
/* An allocator of OpenCL's, as tests of its stream order need it: with queues, and marks in them.
 */
#ifndef CLPT_QUEUE_MARKS_H
#define CLPT_QUEUE_MARKS_H

#include "opencl_fixture.h"
#include "opencl_live.h"

#include <clpool/allocator.h>

/** Tests on a pair of queues are run for each combination of these. */
enum {
  CLPT_FROM_OUT_OF_ORDER = 1,
  CLPT_TO_OUT_OF_ORDER = 2,
  CLPT_ON_1_1 = 4,
  CLPT_QUEUE_COMBINATIONS = 8
};

typedef struct clpt_marks {
  clpt_cl cl;
  clp_allocator *allocator;
  const clp_allocator_ops *ops; /**< the allocator's */
  clpt_cl_live before;          /**< the allocator */
} clpt_marks;

/** Up to two devices, which are not known to be PoCL's, and a deferred allocator on them. */
void clpt_marks_start(clpt_marks *it);

/** Asserts that the allocator leaves nothing behind. */
void clpt_marks_end(clpt_marks *it);

/** Makes the allocator anew where OpenCL is 1.1, if the combination has that. */
void clpt_marks_set_out(clpt_marks *it, int combination);

/** A queue, and its end, after its work. */
cl_command_queue clpt_marks_queue(const clpt_marks *it, bool out_of_order);
void clpt_marks_end_queue(cl_command_queue queue);

/** A mark, and its end. */
void *clpt_mark_in(const clpt_marks *it, cl_command_queue queue);
void clpt_mark_end(const clpt_marks *it, void *mark);

bool clpt_mark_is_done(const clpt_marks *it, void *mark);

/** Asserts the calls for so many marks, and waits of a queue, since clpt_cl_reset: with wait lists
 * or as OpenCL 1.1 has it. */
void clpt_marks_assert_calls(int combination, unsigned long marks, unsigned long waits);

#endif
