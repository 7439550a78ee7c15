/* SPDX-License-Identifier: MIT */
/* Threads that pass the blocks of one pool around among several queues, in every way that there is.
 * Kernels write a pattern and look for it later: what they do not find again, they count. */
#include "opencl/driver_lock.h"
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/opencl.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 4, QUEUES = 4, SIZES = 3, SHELVES = 8 };

/* What the passes are run for: both kinds of memory, with a home stream or without, on an arena or
 * not. */
enum { HOMES = 2, ARENAS = 2, PASSES = CLPT_ORDER_KINDS * HOMES * ARENAS };

static const char source[] =
    "kernel void fill(global uint *words, uint word, global uint *wrong)"
    "{ words[get_global_id(0)] = word + (uint)get_global_id(0); }"
    "kernel void check(global uint *words, uint word, global uint *wrong)"
    "{ if (words[get_global_id(0)] != word + (uint)get_global_id(0)) atomic_inc(wrong); }";

/* A buffer that one thread left for another, which finds the pattern of `word` there once `ready`
 * is done. Its last use was on `queue`. */
typedef struct shelf {
  clp_buffer *buffer; /* NULL: it is free */
  cl_uint word;
  cl_command_queue queue;
  cl_event ready;
} shelf;

typedef struct shared {
  clpt_cl cl;
  cl_program program;
  clpt_order_kind kind;
  bool has_home, is_pocl;
  clp_pool *pool;
  cl_command_queue queues[QUEUES]; /* the second half is out of order */
  struct timespec end;
  pthread_mutex_t lock; /* guards the shelves */
  shelf shelves[SHELVES];
} shared;

/* A worker's own tools. */
typedef struct tools {
  clpt_worker *worker;
  shared *shared;
  cl_kernel fill, check;
  cl_mem wrong; /* how many words kernels did not find */
  cl_uint word; /* of the last pattern */
} tools;

static bool is_over(const struct timespec *end)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* Check's assertions are not for threads: the first that goes wrong is noted. */
static void must(tools *own, clp_status status, const char *what)
{
  if (status)
    clpt_wrong(own->worker, "%s: %s", what, clp_last_error()->message);
}

static void cl_must(tools *own, cl_int code, const char *what)
{
  if (code)
    clpt_wrong(own->worker, "%s gave %d", what, code);
}

static uint64_t chance(tools *own, uint64_t bound)
{
  return clpt_chance_below(&own->worker->chance, bound);
}

static cl_command_queue some_queue(tools *own)
{
  return own->shared->queues[chance(own, QUEUES)];
}

static size_t some_size(tools *own)
{
  static const size_t words[SIZES] = {64, 256, 1024};
  return words[chance(own, SIZES)] * sizeof(cl_uint);
}

/* A pattern that no other thread has, and this one has not had for long. */
static cl_uint next_word(tools *own)
{
  own->word = (own->word + 4096) % (1u << 28) | own->worker->number << 28;
  return own->word;
}

/* --- Work on queues --- */

/* Between commands of one queue for one buffer, order is its user's affair. */
static void keep_order(tools *own, cl_command_queue queue)
{
  cl_must(own, clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), "a barrier");
}

static void run(tools *own, cl_kernel kernel, cl_command_queue queue, clp_buffer *buffer,
                cl_uint word)
{
  size_t words = clp_buffer_size(buffer) / sizeof(word);
  cl_mem mem = own->shared->kind == CLPT_BUFFERS ? clp_buffer_cl_mem(buffer) : NULL;
  cl_must(own,
          mem ? clSetKernelArg(kernel, 0, sizeof(mem), &mem)
              : clSetKernelArgSVMPointer(kernel, 0, clp_buffer_svm_pointer(buffer)),
          "clSetKernelArg");
  cl_must(own, clSetKernelArg(kernel, 1, sizeof(word), &word), "clSetKernelArg");
  cl_must(own, clSetKernelArg(kernel, 2, sizeof(own->wrong), &own->wrong), "clSetKernelArg");
  cl_must(own, clpt_cl_enqueue(queue, kernel, words), "clEnqueueNDRangeKernel");
}

static void fill(tools *own, cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  run(own, own->fill, queue, buffer, word);
}

static void check(tools *own, cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  keep_order(own, queue);
  run(own, own->check, queue, buffer, word);
}

/* An event behind all work of the queue, which is sent off. */
static cl_event event_of(tools *own, cl_command_queue queue)
{
  cl_event event = NULL;
  cl_must(own, clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "a marker");
  cl_must(own, clFlush(queue), "clFlush");
  return event;
}

/* Makes a queue wait for an event, which is released. */
static void wait_for(tools *own, cl_command_queue queue, cl_event event)
{
  if (!event)
    return;
  cl_must(own, clEnqueueMarkerWithWaitList(queue, 1, &event, NULL),
          "a marker"); /* check keeps it */
  cl_must(own, clReleaseEvent(event), "clReleaseEvent");
}

static clp_buffer *allocate_on(tools *own, cl_command_queue queue)
{
  clp_buffer *buffer = NULL;
  must(own, clp_pool_allocate_on(own->shared->pool, some_size(own), queue, &buffer), "allocate_on");
  return buffer;
}

/* --- Ways to use a buffer --- */

static void use_on_one_queue(tools *own)
{
  cl_command_queue queue = some_queue(own);
  cl_uint word = next_word(own);
  clp_buffer *buffer = allocate_on(own, queue);
  if (!buffer)
    return;
  fill(own, queue, buffer, word);
  check(own, queue, buffer, word);
  must(own, clp_buffer_release_on(buffer, queue), "release_on");
}

/* The second queue reads what the first wrote, and is not the one that it is released on. */
static void use_on_two_queues(tools *own)
{
  cl_command_queue queue = some_queue(own), reader = some_queue(own);
  cl_uint word = next_word(own);
  clp_buffer *buffer = allocate_on(own, queue);
  if (!buffer)
    return;
  fill(own, queue, buffer, word);
  wait_for(own, reader, event_of(own, queue));
  must(own, clp_buffer_record_use(buffer, reader), "record_use");
  check(own, reader, buffer, word);
  must(own, clp_buffer_release_on(buffer, queue), "release_on");
}

static void use_bound(tools *own)
{
  cl_command_queue queue = some_queue(own), next = some_queue(own);
  cl_uint word = next_word(own);
  clp_buffer *buffer = allocate_on(own, queue);
  if (!buffer)
    return;
  must(own, clp_buffer_bind(buffer, queue), "bind");
  fill(own, queue, buffer, word);
  must(own, clp_buffer_bind(buffer, next), "bind to another");
  check(own, next, buffer, word);
  must(own, clp_buffer_release(buffer), "release");
}

/* Without a queue, on the home stream or by waiting. */
static void use_without_a_queue(tools *own)
{
  clp_stream home = own->shared->queues[0];
  cl_uint word = next_word(own);
  clp_buffer *buffer = NULL;
  must(own, clp_pool_allocate(own->shared->pool, some_size(own), &buffer), "allocate");
  if (!buffer)
    return;
  fill(own, home, buffer, word);
  check(own, home, buffer, word);
  cl_must(own, clFinish(home), "clFinish");
  must(own, clp_buffer_release(buffer), "release");
}

/* Leaves a buffer for another thread, and takes what lay there. */
static void exchange(tools *own)
{
  shared *it = own->shared;
  cl_command_queue queue = some_queue(own), reader = some_queue(own);
  shelf left = {.word = next_word(own), .queue = queue, .buffer = allocate_on(own, queue)};
  if (!left.buffer)
    return;
  fill(own, queue, left.buffer, left.word);
  left.ready = event_of(own, queue);

  pthread_mutex_lock(&it->lock);
  shelf *place = &it->shelves[chance(own, SHELVES)];
  shelf found = *place;
  *place = left;
  pthread_mutex_unlock(&it->lock);
  if (!found.buffer)
    return;
  wait_for(own, reader, found.ready);
  check(own, reader, found.buffer, found.word);
  must(own, clp_buffer_release_on(found.buffer, reader), "release_on");
}

/* NVIDIA's driver (580) crashes now and then in a release while another thread makes a buffer or
 * releases one, so there it is the library's lock that keeps them apart; and at work on sub-buffers
 * that overlap. */
static void use_as_cl_mem(tools *own)
{
  shared *it = own->shared;
  cl_uint word = next_word(own);
  cl_mem mem = NULL;
  if (it->kind != CLPT_BUFFERS || !it->has_home)
    return;
  must(own, clp_pool_create_cl_mem(it->pool, some_size(own), 0, &mem), "create_cl_mem");
  if (!mem)
    return;
  if (it->is_pocl)
    cl_must(own,
            clEnqueueFillBuffer(it->queues[0], mem, &word, sizeof(word), 0, sizeof(word), 0, NULL,
                                NULL),
            "clEnqueueFillBuffer");
  else
    pthread_mutex_lock(&clpi_cl_driver_lock);
  cl_must(own, clReleaseMemObject(mem), "clReleaseMemObject");
  if (!it->is_pocl)
    pthread_mutex_unlock(&clpi_cl_driver_lock);
}

static void give_back(tools *own)
{
  if (chance(own, 2))
    must(own, clp_pool_trim_to(own->shared->pool, 20000), "trim_to");
  else
    must(own, clp_pool_free_held(own->shared->pool), "free_held");
}

static void use_somehow(tools *own)
{
  static void (*const ways[])(tools *) = {use_on_one_queue, use_on_two_queues, use_bound, exchange,
                                          use_as_cl_mem};
  enum { RARELY = 32 };
  uint64_t rare = chance(own, RARELY);
  if (rare == 0)
    give_back(own);
  else if (rare < 4)
    use_without_a_queue(own);
  else
    ways[chance(own, sizeof(ways) / sizeof(ways[0]))](own);
}

/* --- A worker --- */

/* Kernels for a thread of its own: their arguments are a state. */
static bool get_ready(tools *own)
{
  const shared *it = own->shared;
  const cl_uint none = 0;
  cl_int code;
  own->fill = clCreateKernel(it->program, "fill", &code);
  cl_must(own, code, "clCreateKernel");
  own->check = clCreateKernel(it->program, "check", &code);
  cl_must(own, code, "clCreateKernel");
  own->wrong = clCreateBuffer(it->cl.context, CL_MEM_READ_WRITE, sizeof(none), NULL, &code);
  cl_must(own, code, "clCreateBuffer");
  cl_must(own,
          clEnqueueWriteBuffer(it->cl.queue, own->wrong, CL_TRUE, 0, sizeof(none), &none, 0, NULL,
                               NULL),
          "clEnqueueWriteBuffer");
  return own->worker->wrong[0] == '\0';
}

static void finish(tools *own)
{
  cl_uint wrong = 0;
  for (int i = 0; i < QUEUES; i++)
    cl_must(own, clFinish(own->shared->queues[i]), "clFinish");
  cl_must(own,
          clEnqueueReadBuffer(own->shared->cl.queue, own->wrong, CL_TRUE, 0, sizeof(wrong), &wrong,
                              0, NULL, NULL),
          "clEnqueueReadBuffer");
  if (wrong)
    clpt_wrong(own->worker, "%u words were overwritten", wrong);
  cl_must(own, clReleaseMemObject(own->wrong), "clReleaseMemObject");
  cl_must(own, clReleaseKernel(own->fill), "clReleaseKernel");
  cl_must(own, clReleaseKernel(own->check), "clReleaseKernel");
}

static void work(clpt_worker *self)
{
  enum { BATCH = 32 };
  tools own = {.worker = self, .shared = self->shared};
  if (!get_ready(&own))
    return;
  do {
    for (int i = 0; i < BATCH && !self->wrong[0]; i++)
      use_somehow(&own);
    /* No queue gets far ahead of its device. */
    cl_must(&own, clFinish(some_queue(&own)), "clFinish");
  } while (!self->wrong[0] && !is_over(&own.shared->end));
  finish(&own);
}

/* --- The passes --- */

static void open_shared(shared *it, bool at_home, bool on_arena)
{
  const char *text = source;
  cl_int code;
  it->has_home = at_home;
  it->is_pocl = clpt_cl_is_pocl(&it->cl);
  it->program = clCreateProgramWithSource(it->cl.context, 1, &text, NULL, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clBuildProgram(it->program, 0, NULL, "", NULL, NULL));
  for (int i = 0; i < QUEUES; i++)
    it->queues[i] =
        clpt_cl_queue(&it->cl, i < QUEUES / 2 ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  it->pool = (on_arena ? clpt_order_pool_on_arena : clpt_order_pool)(
      &it->cl, it->kind, CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,
      at_home ? it->queues[0] : NULL);
  pthread_mutex_init(&it->lock, NULL);
}

static void close_shared(shared *it)
{
  clp_pool_release(it->pool);
  for (int i = 0; i < QUEUES; i++) {
    clpt_cl_ok(clFinish(it->queues[i]));
    clpt_cl_ok(clReleaseCommandQueue(it->queues[i]));
  }
  clpt_cl_ok(clReleaseProgram(it->program));
  pthread_mutex_destroy(&it->lock);
}

static void clear_shelves(shared *it)
{
  for (int i = 0; i < SHELVES; i++) {
    if (!it->shelves[i].buffer)
      continue;
    clpt_ok(clp_buffer_release_on(it->shelves[i].buffer, it->shelves[i].queue));
    clpt_cl_ok(clReleaseEvent(it->shelves[i].ready));
  }
}

/* CLPT_STRESS_PASS chooses one: a driver that crashes tells no more. */
static bool is_chosen(int pass)
{
  const char *chosen = getenv("CLPT_STRESS_PASS");
  return !chosen || atoi(chosen) == pass;
}

START_TEST(test_blocks_go_round)
{
  static const clpt_work works[] = {work};
  const char *seconds = getenv("CLPT_STRESS_SECONDS"); /* default: a quarter */
  shared it = {.kind = (clpt_order_kind)(_i % CLPT_ORDER_KINDS)};
  clpt_workers workers;

  if (!is_chosen(_i))
    return;
  clpt_cl_open(&it.cl, 1);
  if (clpt_order_has(&it.cl, it.kind)) {
    open_shared(&it, _i / CLPT_ORDER_KINDS % HOMES, _i / CLPT_ORDER_KINDS / HOMES);
    clock_gettime(CLOCK_MONOTONIC, &it.end);
    it.end.tv_nsec += seconds ? 0 : 250000000;
    it.end.tv_sec += seconds ? atoi(seconds) : it.end.tv_nsec / 1000000000;
    it.end.tv_nsec %= 1000000000;
    clpt_workers_start(&workers, THREADS, works, 1, 0, &it);
    clpt_workers_join(&workers);
    clear_shelves(&it);
    while (clpt_stats(it.pool).active_blocks > 0)
      sched_yield(); /* cl_mems may come back from a thread of the driver's */
    ck_assert_uint_gt(clpt_stats(it.pool).hits, 0);
    close_shared(&it);
  }
  clpt_cl_close(&it.cl);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cl_order_stress");
  TCase *tests = clpt_case(suite, "stress");

  tcase_add_loop_test(tests, test_blocks_go_round, 0, PASSES);
  return clpt_cl_run(suite);
}
