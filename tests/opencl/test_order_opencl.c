/* SPDX-License-Identifier: MIT */
/* Stream order, over OpenCL: the table of cases, and what comes of queues out of order as the
 * driver has them. Queues are held up by events of the test's. */
#include "support/order_suite.h"
#include "support/pools.h"
#include "support/watch_opencl.h"

#include <clpool/opencl.h>
#include <sched.h>

/* Both kinds of memory, with a home stream or without, each of two queues in order or not. */
enum { HOMES = 2, ORDERS = 4, VARIANTS = CLPT_CL_KINDS * HOMES * ORDERS, ROUNDS = 2 };

static clpt_cl cl; /* one for all: a context takes NVIDIA's driver 160 ms */
static clpt_cl_kind kind;
static cl_command_queue queues[CLPT_ORDER_STREAMS]; /* NULL: dropped */
static cl_event ends[CLPT_ORDER_STREAMS];           /* of queues that were dropped */
static size_t end_count;

/* What is read goes to memory of the device first: to the host's, a driver may copy at once and
 * wait for what is held up. */
static clp_buffer *copies[CLPT_CL_KINDS]; /* NULL: there is no such memory */
static uint32_t *reads[CLPT_MOST_READS];  /* where to */
static size_t read_count;

static cl_command_queue new_queue(bool out_of_order)
{
  return clpt_cl_queue(&cl, out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
}

static cl_event marker(cl_command_queue queue)
{
  cl_event event;
  clpt_cl_ok(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
  clpt_cl_ok(clFlush(queue));
  return event;
}

static void drop(clp_stream queue)
{
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    queues[i] = queues[i] == queue ? NULL : queues[i];
  ends[end_count++] = marker(queue);
  clpt_cl_ok(clReleaseCommandQueue(queue));
}

static void finish(clp_stream queue)
{
  clpt_cl_ok(clFinish(queue));
}

static void finish_all(void)
{
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (queues[i])
      clpt_cl_ok(clFinish(queues[i]));
  while (end_count > 0) {
    clpt_cl_ok(clWaitForEvents(1, &ends[--end_count]));
    clpt_cl_ok(clReleaseEvent(ends[end_count]));
  }
  for (size_t i = 0; i < read_count; i++)
    clpt_cl_ok(clpt_cl_read(cl.queue, kind, clp_buffer_memory(copies[kind]), i * CLPT_ORDER_BYTES,
                            CLPT_ORDER_BYTES, CL_TRUE, reads[i]));
}

static void close_queues(void)
{
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (queues[i])
      clpt_cl_ok(clReleaseCommandQueue(queues[i]));
  memset(queues, 0, sizeof(queues));
}

/* What a case that failed has left must not use what is about to go. */
static void end_failed_case(void)
{
  clpt_cl_go_all();
  read_count = 0;
  finish_all();
  close_queues();
}

static bool open_queues(int variant, clpt_order_setting *out)
{
  const bool has_home = variant / CLPT_CL_KINDS % HOMES;
  kind = (clpt_cl_kind)(variant % CLPT_CL_KINDS);
  if (!clpt_cl_has(&cl, kind))
    return false;
  end_failed_case();
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    out->streams[i] = queues[i] = new_queue(i < 2 && variant / CLPT_CL_KINDS / HOMES >> i & 1);
  out->allocator = clpt_cl_allocator(&cl, kind, has_home ? queues[CLPT_H] : NULL);
  out->are_apart = clpt_cl_is(&cl, CLPT_POCL_PLATFORM);
  return true;
}

/* Commands of one queue that is out of order have it by a barrier: by the last, in PoCL, so that
 * one which waits for an event alone does not replace those before. */
static void keep_order(cl_command_queue queue)
{
  clpt_cl_ok(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
  clpt_cl_ok(clFlush(queue));
}

static void *gate(clp_stream queue)
{
  cl_event stop = clpt_cl_stop(&cl, queue);
  keep_order(queue);
  return stop;
}

static void go(void *stop)
{
  clpt_cl_go(stop);
}

static bool is_held_up(clp_stream queue)
{
  cl_event event = marker(queue);
  cl_int progress;
  clpt_cl_ok(
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL));
  clpt_cl_ok(clReleaseEvent(event));
  return progress != CL_COMPLETE;
}

/* As in the guide, doc/queues-and-order.md: the program's own barrier, which must not undo what the
 * pool has ordered. */
static void wait_for(cl_command_queue later, cl_command_queue earlier)
{
  cl_event event = marker(earlier);
  clpt_cl_ok(clEnqueueBarrierWithWaitList(later, 1, &event, NULL));
  clpt_cl_ok(clReleaseEvent(event));
}

static void order(clp_stream earlier, clp_stream later)
{
  wait_for(later, earlier);
  keep_order(later);
}

static void write_words(clp_stream queue, clp_buffer *buffer, uint32_t word)
{
  clpt_cl_fill_buffer(queue, buffer, word);
  keep_order(queue);
}

static void read_words(clp_stream queue, clp_buffer *buffer, uint32_t *to)
{
  const size_t at = read_count * CLPT_ORDER_BYTES;
  const clp_memory from = clp_buffer_memory(buffer), copy = clp_buffer_memory(copies[kind]);
  clpt_cl_ok(kind == CLPT_SVM ? clEnqueueSVMMemcpy(queue, CL_FALSE, (void *)(copy + at),
                                                   (void *)from, CLPT_ORDER_BYTES, 0, NULL, NULL)
                              : clEnqueueCopyBuffer(queue, (cl_mem)from, (cl_mem)copy, 0, at,
                                                    CLPT_ORDER_BYTES, 0, NULL, NULL));
  reads[read_count++] = to;
  keep_order(queue);
}

static clp_stream renew(clp_stream queue)
{
  int i = 0;
  while (queues[i] != queue)
    i++;
  drop(queue);
  return queues[i] = new_queue(false);
}

static const clpt_order_backend opencl = {
    VARIANTS,    ROUNDS,     open_queues, close_queues, gate,       go,   order,
    write_words, read_words, is_held_up,  finish,       finish_all, drop, renew};

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  /* PoCL's queues do not wait if they are out of order. */
  clpt_cl_pretend_text(NULL, CL_DEVICE_VERSION, "OpenCL 3.0 pretended");
  for (clpt_cl_kind i = CLPT_BUFFERS; i < CLPT_CL_KINDS; i++)
    if (clpt_cl_has(&cl, i)) {
      clp_pool *pool = clpt_cl_pool(&cl, i, 0, NULL, false);
      copies[i] = clpt_allocate(pool, (size_t)CLPT_MOST_READS * CLPT_ORDER_BYTES);
      clp_pool_release(pool);
    }
}

static void teardown(void)
{
  end_failed_case();
  for (int i = 0; i < CLPT_CL_KINDS; i++)
    clpt_ok(clp_buffer_release(copies[i]));
  memset(copies, 0, sizeof(copies));
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

/* --- queues out of order, as the driver has them --- */

/* A stale write is held up by an event of the test's, so that it comes last wherever nobody orders
 * it. This thread alone lets it go, after all that it asks of the pool: were the host to wait, the
 * test would hang. */

enum { STALE = 1, FRESH = 2, ARENAS = 2, FLAGS = 4, OWNERS = 3 };
enum { OUT_OF_ORDER = CLPT_CL_KINDS * ARENAS * FLAGS };

static clp_buffer *allocate(clp_pool *pool, cl_command_queue queue)
{
  clp_buffer *buffer = NULL;
  clpt_ok(queue ? clp_pool_allocate_on(pool, CLPT_ORDER_BYTES, queue, &buffer)
                : clp_pool_allocate(pool, CLPT_ORDER_BYTES, &buffer));
  return buffer;
}

/* The block goes on in its home queue, without a name; in the same queue; in another. */
START_TEST(the_next_owner_comes_after_the_stale_write)
{
  const int owner = _i / OUT_OF_ORDER;
  const unsigned flags = (unsigned)_i / CLPT_CL_KINDS / ARENAS % FLAGS;
  cl_command_queue first = cl.out_of_order, next = owner < 2 ? first : new_queue(true);
  kind = (clpt_cl_kind)(_i % CLPT_CL_KINDS);
  if (clpt_cl_has(&cl, kind)) {
    clp_pool *pool =
        clpt_cl_pool(&cl, kind, flags, owner ? NULL : first, _i / CLPT_CL_KINDS % ARENAS);
    clp_buffer *stale = allocate(pool, owner ? first : NULL);
    cl_event stop = clpt_cl_stop(&cl, NULL);
    clpt_cl_ok(clpt_cl_fill(first, kind, clp_buffer_memory(stale), STALE, CLPT_ORDER_BYTES, &stop));
    clpt_ok(owner ? clp_buffer_release_on(stale, first) : clp_buffer_release(stale));
    clp_buffer *fresh = allocate(pool, owner ? next : NULL);
    if (owner)
      wait_for(next, cl.queue);
    clpt_cl_fill_buffer(next, fresh, FRESH);
    clpt_cl_ok(clFlush(next));
    clpt_cl_ok(clFinish(cl.queue));
    for (int i = 0; i < 100; i++)
      sched_yield(); /* for what nobody holds up */
    clpt_cl_go(stop);
    clpt_cl_ok(clFinish(first));
    clpt_cl_assert_buffer(next, fresh, FRESH);
    clpt_cl_ok(clFinish(next));
    clpt_ok(clp_buffer_release_on(fresh, next));
    clp_pool_release(pool);
  }
  if (owner == 2)
    clpt_cl_ok(clReleaseCommandQueue(next));
}
END_TEST

int main(void)
{
  Suite *suite = clpt_order_suite("order: OpenCL", &opencl, setup, teardown);
  TCase *tests = clpt_cl_case(suite, "out of order", &cl);
  tcase_add_loop_test(tests, the_next_owner_comes_after_the_stale_write, 0, OWNERS * OUT_OF_ORDER);
  return clpt_cl_run(suite);
}
