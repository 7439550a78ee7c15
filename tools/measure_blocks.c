/* SPDX-License-Identifier: MIT */
/* Batches of live blocks, in four steps. */
#include "measure_blocks.h"

#include "program.h"
#include "timing.h"

enum { FEWEST_BLOCKS = 2, MOST_BLOCKS = 64, USUAL_BATCHES = 8 };
static const size_t most_bytes = (size_t)64 << 20;

typedef enum step { ALLOCATE, FILL_FRESH, FILL_REUSED, FREE, STEPS } step;

/* Some blocks of one size. */
typedef struct block_batch {
  const clpi_measured *memory;
  size_t bytes;
  size_t wanted; /* how many shall be live at once */
  size_t count;  /* how many are */
  clp_memory blocks[MOST_BLOCKS];
} block_batch;

static int allocate_all(block_batch *batch)
{
  while (batch->count < batch->wanted) {
    clp_status status = clp_allocator_allocate(batch->memory->opened.allocator, batch->bytes,
                                               &batch->blocks[batch->count]);
    if (status)
      return clpi_failed(status);
    batch->count++;
  }
  return batch->memory->settle ? batch->memory->settle(batch->memory->self) : CLPI_EXIT_SUCCESS;
}

static int fill_all(block_batch *batch)
{
  const clpi_measured *memory = batch->memory;
  if (!memory->fill)
    return CLPI_EXIT_SUCCESS;
  return memory->fill(memory->self, batch->blocks, batch->count, batch->bytes);
}

static int free_all(block_batch *batch)
{
  while (batch->count > 0) {
    clp_status status = clp_allocator_free(batch->memory->opened.allocator,
                                           batch->blocks[batch->count - 1], batch->bytes);
    if (status)
      return clpi_failed(status);
    batch->count--;
  }
  return CLPI_EXIT_SUCCESS;
}

static int (*const run_step[STEPS])(block_batch *batch) = {allocate_all, fill_all, fill_all,
                                                           free_all};

/* Times each step of a batch, nanoseconds for a block. No block is left, unless freeing failed. */
static int run_batch(block_batch *batch, double times[STEPS])
{
  clpi_measured_renew(batch->memory);
  for (step i = 0; i < STEPS; i++) {
    uint64_t begin = clpi_now();
    int code = run_step[i](batch);
    times[i] = (double)(clpi_now() - begin) / (double)batch->wanted;
    if (!code)
      continue;
    if (i != FREE)
      (void)free_all(batch);
    return code;
  }
  return CLPI_EXIT_SUCCESS;
}

/* How many blocks make a batch that is done several times within the budget; `took` is what one
 * block takes. */
static size_t choose_count(const block_batch *batch, double took, double budget)
{
  double in_time = budget / USUAL_BATCHES / (took > 1.0 ? took : 1.0);
  size_t count = in_time < MOST_BLOCKS ? (size_t)in_time : MOST_BLOCKS;
  if (count > most_bytes / batch->bytes)
    count = most_bytes / batch->bytes;
  return count < FEWEST_BLOCKS ? FEWEST_BLOCKS : count;
}

static void add_samples(clpi_samples samples[STEPS], const double took[STEPS])
{
  for (step i = 0; i < STEPS; i++)
    clpi_samples_add(&samples[i], took[i]);
}

int clpi_measure_blocks(const clpi_measured *memory, size_t bytes, double budget,
                        clpi_block_times *times)
{
  block_batch batch = {.memory = memory, .bytes = bytes, .wanted = FEWEST_BLOCKS};
  clpi_samples samples[STEPS] = {0};
  double took[STEPS];
  uint64_t begin = clpi_now();
  int code = run_batch(&batch, took);
  if (code)
    return code;
  batch.wanted = choose_count(&batch, (double)(clpi_now() - begin) / FEWEST_BLOCKS, budget);
  if (batch.wanted == FEWEST_BLOCKS)
    add_samples(samples, took); /* it is one like all others */
  while (!code && !clpi_samples_suffice(&samples[0], begin, budget)) {
    code = run_batch(&batch, took);
    if (!code)
      add_samples(samples, took);
  }
  if (code)
    return code;
  bool fills = memory->fill != NULL;
  *times = (clpi_block_times){
      .allocate = clpi_samples_median(&samples[ALLOCATE]),
      .fill_fresh = fills ? clpi_samples_median(&samples[FILL_FRESH]) : 0.0,
      .fill_reused = fills ? clpi_samples_median(&samples[FILL_REUSED]) : 0.0,
      .free = clpi_samples_median(&samples[FREE]),
  };
  return CLPI_EXIT_SUCCESS;
}
