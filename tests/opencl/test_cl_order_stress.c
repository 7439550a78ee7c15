/* SPDX-License-Identifier: MIT */
/* Threads that pass the blocks of one pool around among several queues, in every way that there is.
 * What was written is read by the queue that uses the block last, and compared later. */
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/workers.h"

#include <clpool/opencl.h>
#include <sched.h>

enum { THREADS = 4, QUEUES = 3, BATCH = 32, ROUNDS = 20, MOST_WORDS = 1024 };

/* Both kinds of memory, with a home stream or without, on an arena or not. */
enum { HOMES = 2, ARENAS = 2, PASSES = CLPT_CL_KINDS * HOMES * ARENAS };

/* By one queue; read by another, which is recorded; bound to one, then another; with no queue
 * named; as a plain cl_mem. */
typedef enum way { ONE, TWO, BOUND, HOME, CL_MEM, WAYS } way;

static clpt_cl cl;
static clpt_cl_kind kind;
/* Not on NVIDIA's driver (580), which ends them in a thread of its own: no lock keeps that apart
 * from threads that make buffers or release them, and now and then it crashes then. */
static bool has_cl_mems;

static clp_pool *pool;
static cl_command_queue queues[QUEUES]; /* the last is out of order */

typedef struct tools {
  clpt_worker *worker;
  cl_uint word; /* the last that was written */
  unsigned count;
  struct {
    size_t words;
    cl_uint word, found[MOST_WORDS];
  } reads[BATCH];
} tools;

/* Check's assertions are not for threads: the first that goes wrong is noted. */
#define MUST(call) must(own, (int)(call), #call)
static void must(tools *own, int code, const char *call)
{
  if (code)
    clpt_wrong(own->worker, "%s gave %d: %s", call, code, clp_last_error()->message);
}

static uint64_t chance(tools *own, uint64_t bound)
{
  return clpt_chance_below(&own->worker->chance, bound);
}

/* Between commands of one queue for one buffer, order is its user's affair. */
static void read_words(tools *own, cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  const size_t bytes = clp_buffer_size(buffer);
  own->reads[own->count].words = bytes / sizeof(word);
  own->reads[own->count].word = word;
  MUST(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
  MUST(clpt_cl_read(queue, kind, clp_buffer_memory(buffer), 0, bytes, CL_FALSE,
                    own->reads[own->count++].found));
}

static void check_reads(tools *own)
{
  for (int i = 0; i < QUEUES; i++)
    MUST(clFinish(queues[i]));
  for (; own->count > 0; own->count--)
    for (size_t i = 0; i < own->reads[own->count - 1].words; i++)
      if (own->reads[own->count - 1].found[i] != own->reads[own->count - 1].word)
        clpt_wrong(own->worker, "word %zu is %x, not %x", i, own->reads[own->count - 1].found[i],
                   own->reads[own->count - 1].word);
}

static void use(tools *own, way how)
{
  cl_command_queue queue = queues[how == HOME ? 0 : chance(own, QUEUES)];
  cl_command_queue reader = how == ONE || how == HOME ? queue : queues[chance(own, QUEUES)];
  const size_t bytes = ((size_t)64 << 2 * chance(own, 3)) * sizeof(cl_uint);
  const cl_uint word = own->word = (own->word + 1) % (1u << 28) | own->worker->number << 28;
  clp_buffer *buffer = NULL;
  cl_event event = NULL;
  cl_mem mem = NULL;
  if (how == CL_MEM) {
    MUST(clp_pool_create_cl_mem(pool, bytes, 0, &mem));
    MUST(clpt_cl_fill(queues[0], kind, (clp_memory)mem, word, bytes, NULL));
    MUST(clReleaseMemObject(mem));
    return;
  }
  MUST(how == HOME ? clp_pool_allocate(pool, bytes, &buffer)
                   : clp_pool_allocate_on(pool, bytes, queue, &buffer));
  if (!buffer)
    return;
  if (how == BOUND)
    MUST(clp_buffer_bind(buffer, queue));
  MUST(clpt_cl_fill(queue, kind, clp_buffer_memory(buffer), word, bytes, NULL));
  if (how == TWO) {
    MUST(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event));
    MUST(clFlush(queue));
    MUST(clEnqueueMarkerWithWaitList(reader, 1, &event, NULL)); /* read_words keeps it */
    MUST(clReleaseEvent(event));
    MUST(clp_buffer_record_use(buffer, reader));
  }
  if (how == BOUND)
    MUST(clp_buffer_bind(buffer, reader));
  read_words(own, reader, buffer, word);
  if (how == HOME)
    MUST(clFinish(queue));
  MUST(how == HOME || how == BOUND ? clp_buffer_release(buffer)
                                   : clp_buffer_release_on(buffer, queue));
}

static void work(clpt_worker *self)
{
  tools mine = {.worker = self}, *own = &mine;
  for (unsigned round = 0; round < self->rounds && !self->wrong[0]; round++) {
    for (int i = 0; i < BATCH && !self->wrong[0]; i++)
      use(own, (way)chance(own, has_cl_mems ? WAYS : CL_MEM));
    check_reads(own); /* and no queue gets far ahead of its device */
    MUST(chance(own, 2) ? clp_pool_trim_to(pool, 20000) : clp_pool_free_held(pool));
  }
}

START_TEST(blocks_go_round)
{
  static const clpt_work works[] = {work};
  clpt_workers workers;
  kind = (clpt_cl_kind)(_i % CLPT_CL_KINDS);
  const bool has_home = _i / CLPT_CL_KINDS % HOMES;
  clpt_cl_open(&cl, 1);
  has_cl_mems = kind == CLPT_BUFFERS && has_home && !clpt_cl_is(&cl, CLPT_NVIDIA_PLATFORM);
  memcpy(queues, (cl_command_queue[]){cl.queue, cl.other, cl.out_of_order}, sizeof(queues));
  if (clpt_cl_has(&cl, kind)) {
    pool = clpt_cl_pool(&cl, kind, CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,
                        has_home ? queues[0] : NULL, _i / CLPT_CL_KINDS / HOMES);
    clpt_workers_start(&workers, THREADS, works, 1, clpt_iterations(ROUNDS), NULL);
    clpt_workers_join(&workers);
    while (clpt_stats(pool).active_blocks > 0)
      sched_yield(); /* cl_mems may come back from a thread of the driver's */
    ck_assert_uint_gt(clpt_stats(pool).hits, 0);
    clp_pool_release(pool);
  }
  clpt_cl_close(&cl);
}
END_TEST

CLPT_MAIN("order: stress of OpenCL", clpt_cl_run)
{
  tcase_add_loop_test(clpt_case(suite, "stress"), blocks_go_round, 0, PASSES);
}
