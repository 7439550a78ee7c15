/* SPDX-License-Identifier: MIT */
/* Every cost of an allocator, in batches of some live blocks of one size. Each step of a batch is
 * timed as a whole, the device's work waited for. All blocks of a batch are live at once, and all
 * are freed before the next, so what is measured is the driver's work to make and end blocks, and
 * not one block that it keeps at hand. Blocks are freed after they were written to, as programs do:
 * to free pages costs, too. */
#include "cost_source.h"

#include "program.h"
#include "progress.h"
#include "trace/replay.h"

#include <clpool/arena.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* Of ten sizes, a factor of four apart, these are the five that come nearest to all ten, on an H200
 * and with PoCL, by straight lines between them: a block's cost is 4.5 % off in the mean, 32 % at
 * most. The largest is the first: then malloc, beneath memory of the host, behaves as it does in a
 * process that had large blocks before. */
static const size_t sizes[] = {67108864, 4194304, 1048576, 4096, 256};

enum {
  SIZES = sizeof(sizes) / sizeof(sizes[0]),
  PAIR_BYTES = 4096, /* pairs take as long for any size */
  PAIRS = 1000,      /* in a batch: some microseconds, which the clock can tell */
  BLOCKS = 64,       /* in a batch, */
  LARGE_BLOCKS = 2,  /* from LARGE_BYTES on: the shorter it is, the less it is disturbed */
  LARGE_BYTES = 1 << 20
};

/* Whatever else a machine does makes figures larger. The median drops what is short, the least of
 * three rounds what lasts longer. */
enum { ROUNDS = 3, FEWEST_SAMPLES = 3, MOST_SAMPLES = 101 };
static const uint64_t round_nanoseconds = 60000000; /* of a size; more for the fewest samples */

typedef struct measurement {
  clpi_allocator_kind kind;
  clpi_opened opened;
  clp_pool *pool;
  clp_allocator *arena;
  size_t bytes;  /* of a block */
  size_t wanted; /* how many blocks a batch has */
  size_t count;  /* how many are live */
  clp_memory blocks[BLOCKS];
  double samples[TRACE_COST_OPERATIONS][MOST_SAMPLES];
  double least[SIZES][TRACE_COST_OPERATIONS]; /* of all rounds; 0: not measured */
} measurement;

/* --- Steps: each returns an exit code, with a complaint if it is not 0 --- */

static int allocate(measurement *it)
{
  clp_status status = CLP_SUCCESS;
  while (it->count < it->wanted && !status) {
    status = clp_allocator_allocate(it->opened.allocator, it->bytes, &it->blocks[it->count]);
    it->count += !status;
  }
  if (status)
    return clpi_failed(status);
  return it->kind == CLPI_ALLOCATOR_CL_IMMEDIATE ? clpi_opencl_fill(&it->opened, false, NULL, 0, 0)
                                                 : CLPI_EXIT_SUCCESS; /* it waits for the queue */
}

static int fill(measurement *it)
{
  enum { ANY_BYTE = 0x5a };
  if (it->kind != CLPI_ALLOCATOR_HOST)
    return clpi_opencl_fill(&it->opened, it->kind == CLPI_ALLOCATOR_CL_SVM, it->blocks, it->count,
                            it->bytes);
  for (size_t i = 0; i < it->count; i++)
    memset((void *)it->blocks[i], ANY_BYTE, it->bytes);
  return CLPI_EXIT_SUCCESS;
}

static int free_blocks(measurement *it)
{
  clp_status status = CLP_SUCCESS;
  while (it->count > 0 && !status)
    status = clp_allocator_free(it->opened.allocator, it->blocks[--it->count], it->bytes);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

static int make_parts(measurement *it)
{
  return clpi_opencl_make_parts(it->blocks[0], it->bytes, PAIRS);
}

static int use_pool(measurement *it)
{
  clp_buffer *buffer;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < PAIRS && !status; i++) {
    status = clp_pool_allocate(it->pool, it->bytes, &buffer);
    if (!status)
      status = clp_buffer_release(buffer);
  }
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

static int use_arena(measurement *it)
{
  clp_memory block;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < PAIRS && !status; i++) {
    status = clp_allocator_allocate(it->arena, it->bytes, &block);
    if (!status)
      status = clp_allocator_free(it->arena, block, it->bytes);
  }
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

/* By operation, which is the order of a batch. */
static int (*const steps[TRACE_COST_OPERATIONS])(measurement *it) = {
    allocate, fill, fill, make_parts, use_pool, use_arena, free_blocks};

/* CUDA's public interface here has no way to write to memory, whose first use costs a GPU nothing
 * more than any other; OpenCL has one from 1.2 on. A part of an address is no object. */
static bool is_measured(const measurement *it, trace_cost_operation operation)
{
  bool can_fill = it->kind == CLPI_ALLOCATOR_HOST || it->opened.device.opencl >= 120;
  return (!trace_cost_is_pair(operation) || it->bytes == PAIR_BYTES) &&
         (steps[operation] != fill || can_fill) &&
         (operation != TRACE_COST_SUB_BUFFER || !clpi_allocators[it->kind].has_addresses);
}

/* --- Batches --- */

static int run_batch(measurement *it, size_t sample)
{
  int code = CLPI_EXIT_SUCCESS;
#ifdef __GLIBC__
  const char *type = it->opened.device.type;
  if (it->kind == CLPI_ALLOCATOR_HOST || (type && strcmp(type, "CPU") == 0))
    malloc_trim(0); /* so that blocks are new pages, as they are for a program that grows */
#endif
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS && !code; i++) {
    if (!is_measured(it, i))
      continue;
    uint64_t begin = trace_now();
    code = steps[i](it);
    double times = trace_cost_is_pair(i) ? PAIRS : (double)it->wanted;
    it->samples[i][sample] = (double)(trace_now() - begin) / times;
  }
  return code;
}

static int compare(const void *one, const void *other)
{
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

static int measure_size(measurement *it, size_t size)
{
  size_t count = 0;
  int code = CLPI_EXIT_SUCCESS;
  it->bytes = sizes[size];
  it->wanted = it->bytes < LARGE_BYTES ? BLOCKS : LARGE_BLOCKS;
  for (uint64_t end = trace_now() + round_nanoseconds;
       !code && (count < FEWEST_SAMPLES || (count < MOST_SAMPLES && trace_now() < end)); count++)
    code = run_batch(it, count);
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS && !code; i++)
    if (is_measured(it, i)) {
      double *samples = it->samples[i], *least = &it->least[size][i];
      qsort(samples, count, sizeof(*samples), compare);
      double median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
      *least = *least > 0 ? MIN(*least, median) : median;
    }
  return code;
}

static int open_memory(measurement *it, const clpi_allocator_choice *choice)
{
  const clp_pool_options pool_options = TRACE_POOL_OPTIONS_INIT;
  clp_arena_options arena_options = TRACE_ARENA_OPTIONS_INIT;
  arena_options.reserve_bytes = 4 * PAIR_BYTES;
  it->kind = choice->kind;
  int code = clpi_allocator_open(choice, &it->opened);
  if (code)
    return code;
  clp_status status = clp_pool_create(it->opened.allocator, &pool_options, &it->pool);
  if (!status)
    status = clp_pool_set_limit(it->pool, 0); /* CLPOOL_MEMORY_LIMIT is for programs' pools */
  if (!status)
    status = clp_arena_allocator_create(it->opened.allocator, &arena_options, &it->arena);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

static void close_memory(measurement *it)
{
  while (it->count > 0)
    (void)clp_allocator_free(it->opened.allocator, it->blocks[--it->count], it->bytes);
  clp_allocator_release(it->arena);
  clp_pool_release(it->pool);
  clpi_allocator_close(&it->opened);
}

static int measure(measurement *it, const char *allocator)
{
  clpi_progress bar = clpi_progress_begin(allocator);
  int code = CLPI_EXIT_SUCCESS;
  for (size_t i = 0; i < ROUNDS * SIZES && !code; i++) {
    code = measure_size(it, i % SIZES);
    clpi_progress_update(&bar, i + 1, ROUNDS * SIZES, i + 1);
  }
  clpi_progress_end(&bar);
  return code;
}

/* With four digits: what is beyond was chance. */
static void add(const measurement *it, const char *allocator, trace_costs *costs)
{
  char text[32];
  for (size_t i = 0; i < SIZES; i++)
    for (trace_cost_operation j = 0; j < TRACE_COST_OPERATIONS; j++)
      if (it->least[i][j] > 0) {
        snprintf(text, sizeof(text), "%.4g", it->least[i][j]);
        trace_costs_add(costs, allocator, j, sizes[i], strtod(text, NULL));
      }
}

int clpi_measure_costs(const clpi_allocator_choice *choice, trace_costs *costs)
{
  const char *allocator = clpi_allocators[choice->kind].name;
  measurement it = {0};
  int code = open_memory(&it, choice);
  if (!code)
    code = measure(&it, allocator);
  if (!code)
    add(&it, allocator, costs);
  if (!code)
    trace_costs_set_device(costs, it.opened.device.name);
  close_memory(&it);
  return code;
}
