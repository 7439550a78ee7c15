/* SPDX-License-Identifier: MIT */
/* Queues, and marks in them. */
#include "queue_marks.h"

#include "core/allocator/allocator.h"
#include "suite.h"
#include "wrap_opencl.h"

#include <clpool/opencl.h>

enum { DEVICES = 2 };

static const char version_1_1[] = "OpenCL 1.1 pretended";

static void make_allocator(clpt_marks *it)
{
  clpt_ok(clp_cl_deferred_allocator_create(it->cl.context, 0, &it->allocator));
  it->ops = &it->allocator->ops;
}

void clpt_marks_start(clpt_marks *it)
{
  clpt_cl_open(&it->cl, DEVICES);
  clpt_cl_reset();
  it->before = clpt_cl_live_now();
  clpt_cl_pretend_no_pocl();
  make_allocator(it);
}

void clpt_marks_end(clpt_marks *it)
{
  clp_allocator_release(it->allocator);
  clpt_cl_assert_live(&it->before);
  clpt_cl_reset();
  clpt_cl_close(&it->cl);
}

void clpt_marks_set_out(clpt_marks *it, int combination)
{
  if (!(combination & CLPT_ON_1_1))
    return;
  clp_allocator_release(it->allocator);
  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version_1_1, sizeof(version_1_1));
  make_allocator(it);
}

cl_command_queue clpt_marks_queue(const clpt_marks *it, bool out_of_order)
{
  return clpt_cl_queue(&it->cl, out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
}

void clpt_marks_end_queue(cl_command_queue queue)
{
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}

void *clpt_mark_in(const clpt_marks *it, cl_command_queue queue)
{
  void *mark = NULL;

  clpt_ok(it->ops->mark_create(it->allocator->self, queue, &mark));
  ck_assert_ptr_nonnull(mark);
  return mark;
}

void clpt_mark_end(const clpt_marks *it, void *mark)
{
  it->ops->mark_destroy(it->allocator->self, mark);
}

bool clpt_mark_is_done(const clpt_marks *it, void *mark)
{
  bool done = false;

  clpt_ok(it->ops->mark_is_done(it->allocator->self, mark, &done));
  return done;
}

void clpt_marks_assert_calls(int combination, unsigned long marks, unsigned long waits)
{
  bool on_1_1 = combination & CLPT_ON_1_1;
  unsigned long barriers = !on_1_1 && combination & CLPT_TO_OUT_OF_ORDER ? waits : 0;

  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarker), on_1_1 ? marks : 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueWaitForEvents), on_1_1 ? waits : 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarkerWithWaitList), on_1_1 ? 0 : marks + waits);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueBarrierWithWaitList), barriers);
}
