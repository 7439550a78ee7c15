/* SPDX-License-Identifier: MIT */
/* Two command queues and one pool. Frames are drawn on one queue and kept on the other, in each of
 * the ways in which a pool learns when a block may be used again: doc/queues-and-order.md explains
 * them. In the end every frame must be as it was drawn. */
#include "check.h"
#include "opencl_device.h"

#include <clpool/clpool.h>
#include <clpool/opencl.h>
#include <time.h>

enum { FRAMES = 16, WORDS = 1 << 16, BYTES = WORDS * sizeof(cl_uint) };

typedef struct studio {
  cl_context context;
  cl_command_queue artist, archivist; /* in-order queues; the first is the pools' home stream */
  cl_mem archive;                     /* a copy of each frame */
  clp_allocator *allocator;
} studio;

/* --- Work --- */

/* Every word of a frame is its number. */
static void draw(cl_command_queue queue, cl_mem frame, cl_uint number)
{
  CHECK_CL(clEnqueueFillBuffer(queue, frame, &number, sizeof(number), 0, BYTES, 0, NULL, NULL));
}

static void keep(const studio *it, cl_command_queue queue, cl_mem frame, cl_uint number)
{
  CHECK_CL(clEnqueueCopyBuffer(queue, frame, it->archive, 0, number * BYTES, BYTES, 0, NULL, NULL));
}

/* Makes the one queue wait for what the other has been given so far. */
static void wait_for(cl_command_queue later, cl_command_queue earlier)
{
  cl_event event;
  CHECK_CL(clEnqueueMarkerWithWaitList(earlier, 0, NULL, &event));
  CHECK_CL(clFlush(earlier)); /* else the other may wait for ever */
  CHECK_CL(clEnqueueBarrierWithWaitList(later, 1, &event, NULL));
  CHECK_CL(clReleaseEvent(event));
}

/* --- The ways --- */

static void on_one_queue(const studio *it, clp_pool *pool)
{
  for (cl_uint number = 0; number < FRAMES; number++) {
    clp_buffer *frame;
    CHECK(clp_pool_allocate(pool, BYTES, &frame));
    draw(it->artist, clp_buffer_cl_mem(frame), number);
    keep(it, it->artist, clp_buffer_cl_mem(frame), number);
    CHECK(clp_buffer_release(frame)); /* the queue keeps the order */
  }
}

static void from_queue_to_queue(const studio *it, clp_pool *pool)
{
  for (cl_uint number = 0; number < FRAMES; number++) {
    clp_buffer *frame;
    CHECK(clp_pool_allocate_on(pool, BYTES, it->artist, &frame));
    draw(it->artist, clp_buffer_cl_mem(frame), number);
    wait_for(it->archivist, it->artist); /* data: the program orders it */
    keep(it, it->archivist, clp_buffer_cl_mem(frame), number);
    CHECK(clp_buffer_release_on(frame, it->archivist)); /* memory: the pool orders it */
  }
}

static clp_buffer *draw_next(const studio *it, clp_pool *pool, cl_uint number)
{
  clp_buffer *frame;
  CHECK(clp_pool_allocate_on(pool, BYTES, it->artist, &frame));
  draw(it->artist, clp_buffer_cl_mem(frame), number);
  return frame;
}

static void one_frame_ahead(const studio *it, clp_pool *pool)
{
  clp_buffer *next = draw_next(it, pool, 0);
  for (cl_uint number = 0; number < FRAMES; number++) {
    clp_buffer *frame = next;
    wait_for(it->archivist, it->artist);
    if (number + 1 < FRAMES)
      next = draw_next(it, pool, number + 1); /* before this one is released */
    keep(it, it->archivist, clp_buffer_cl_mem(frame), number);
    CHECK(clp_buffer_release_on(frame, it->archivist));
  }
}

static void on_both_queues(const studio *it, clp_pool *pool)
{
  for (cl_uint number = 0; number < FRAMES; number++) {
    clp_buffer *frame = draw_next(it, pool, number);
    wait_for(it->archivist, it->artist);
    keep(it, it->archivist, clp_buffer_cl_mem(frame), number);
    CHECK(clp_buffer_record_use(frame, it->archivist));
    CHECK(clp_buffer_release_on(frame, it->artist));
  }
}

static void bound(const studio *it, clp_pool *pool)
{
  for (cl_uint number = 0; number < FRAMES; number++) {
    clp_buffer *frame = draw_next(it, pool, number);
    CHECK(clp_buffer_bind(frame, it->artist));
    CHECK(clp_buffer_bind(frame, it->archivist)); /* which waits for the artist now */
    keep(it, it->archivist, clp_buffer_cl_mem(frame), number);
    CHECK(clp_buffer_release(frame)); /* on the archivist's queue */
  }
}

static void as_plain_cl_mem(const studio *it, clp_pool *pool)
{
  for (cl_uint number = 0; number < FRAMES; number++) {
    cl_mem frame;
    CHECK(clp_pool_create_cl_mem(pool, BYTES, 0, &frame));
    draw(it->artist, frame, number);
    keep(it, it->artist, frame, number);
    CHECK_CL(clReleaseMemObject(frame)); /* back to the pool */
  }
}

/* --- The program --- */

/* Words of the archive that are not as they were drawn. */
static size_t count_wrong(const studio *it)
{
  cl_uint *words = check_malloc(FRAMES * BYTES);
  size_t wrong = 0;
  CHECK_CL(clEnqueueReadBuffer(it->archivist, it->archive, CL_TRUE, 0, FRAMES * BYTES, words, 0,
                               NULL, NULL));
  for (size_t i = 0; i < (size_t)FRAMES * WORDS; i++)
    wrong += words[i] != i / WORDS;
  free(words);
  return wrong;
}

/* The archivist starts when all is queued and the artist has had time to go ahead: a frame that is
 * drawn over one that is not kept yet is then seen to be. */
static size_t run(const studio *it, const char *name, void (*way)(const studio *it, clp_pool *pool))
{
  const struct timespec head_start = {.tv_nsec = 20000000};
  cl_int code;
  clp_pool *pool;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  cl_event start = clCreateUserEvent(it->context, &code);
  check_cl(code, "clCreateUserEvent");
  CHECK(clp_pool_create(it->allocator, NULL, &pool));
  CHECK_CL(clEnqueueBarrierWithWaitList(it->archivist, 1, &start, NULL));
  way(it, pool);
  CHECK_CL(clFlush(it->artist));
  (void)nanosleep(&head_start, NULL);
  CHECK_CL(clSetUserEventStatus(start, CL_COMPLETE));
  CHECK_CL(clFinish(it->artist));
  size_t wrong = count_wrong(it);
  CHECK(clp_pool_get_stats(pool, &stats));
  printf("%-20s %2d frames, blocks: %2llu, wrong words: %zu\n", name, FRAMES,
         (unsigned long long)stats.device_allocations, wrong);
  clp_pool_release(pool);
  CHECK_CL(clReleaseEvent(start));
  return wrong;
}

static cl_command_queue make_queue(cl_context context, cl_device_id device)
{
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check_cl(code, "clCreateCommandQueue");
  return queue;
}

static void open_studio(studio *it, cl_device_id device)
{
  cl_int code;
  it->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  it->artist = make_queue(it->context, device);
  it->archivist = make_queue(it->context, device);
  it->archive = clCreateBuffer(it->context, CL_MEM_READ_WRITE, FRAMES * BYTES, NULL, &code);
  check_cl(code, "clCreateBuffer");
  CHECK(clp_cl_immediate_allocator_create(it->artist, CL_MEM_READ_WRITE, &it->allocator));
}

static void close_studio(studio *it)
{
  clp_allocator_release(it->allocator);
  CHECK_CL(clReleaseMemObject(it->archive));
  CHECK_CL(clReleaseCommandQueue(it->archivist));
  CHECK_CL(clReleaseCommandQueue(it->artist));
  CHECK_CL(clReleaseContext(it->context));
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "two_queues");
  studio it;
  size_t wrong = 0;
  open_studio(&it, pick_device());
  wrong += run(&it, "on one queue", on_one_queue);
  wrong += run(&it, "from queue to queue", from_queue_to_queue);
  wrong += run(&it, "one frame ahead", one_frame_ahead);
  wrong += run(&it, "on both queues", on_both_queues);
  wrong += run(&it, "bound", bound);
  wrong += run(&it, "as plain cl_mem", as_plain_cl_mem);
  close_studio(&it);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
