/* SPDX-License-Identifier: MIT */
/* What leading_bits_in_bin_id does: one program, run with pools of 0 to 8 leading bits.
 *
 * The program trains a small model in its imagination: weights that stay, and batches of texts of
 * varied length, each of which needs buffers of other sizes. Memory comes from the simulated
 * allocator, which needs no device; a pool on a real one would show the same counts. */
#include "check.h"

#include <clpool/clpool.h>
#include <stdint.h>

enum { MOST_LEADING_BITS = 8, BATCHES = 400, LAYERS = 6, BUFFERS_PER_LAYER = 3, MIB = 1 << 20 };
enum { WIDTH = 256, HEADS = 4, WEIGHTS = LAYERS * BUFFERS_PER_LAYER * 3 };

/* What the pool does not count itself: bytes over all allocations. */
typedef struct sums {
  double requested_bytes;
  double allocated_bytes;
} sums;

/* --- The program --- */

/* Numbers that look random but are the same in every run (Knuth's MMIX generator). */
static uint32_t next_number(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Words in a text, in steps of 16 up to 384: many short texts, few long ones. */
static size_t next_length(uint64_t *state)
{
  size_t a = next_number(state) % 24;
  size_t b = next_number(state) % 24;
  return 16 * (1 + (a < b ? a : b));
}

static clp_buffer *allocate(clp_pool *pool, size_t bytes, sums *total)
{
  clp_buffer *buffer;
  CHECK(clp_pool_allocate(pool, bytes, &buffer));
  total->requested_bytes += (double)clp_buffer_size(buffer);
  total->allocated_bytes += (double)clp_buffer_capacity(buffer);
  return buffer;
}

/* Each matrix with its gradient and its momentum: they stay for the whole run. */
static void allocate_weights(clp_pool *pool, clp_buffer *weights[WEIGHTS], sums *total)
{
  const size_t matrix_bytes[BUFFERS_PER_LAYER] = {
      WIDTH * 3 * WIDTH * sizeof(float), /* attention */
      WIDTH * 4 * WIDTH * sizeof(float), /* feed-forward, in */
      4 * WIDTH * WIDTH * sizeof(float), /* and out */
  };
  for (int i = 0; i < WEIGHTS; i++)
    weights[i] = allocate(pool, matrix_bytes[i % BUFFERS_PER_LAYER], total);
}

/* Forwards, each layer leaves what its way back will need; backwards, the layers let go of it. */
static void run_batch(clp_pool *pool, size_t length, sums *total)
{
  const size_t layer_bytes[BUFFERS_PER_LAYER] = {
      length * WIDTH * sizeof(float),          /* hidden states */
      HEADS * length * length * sizeof(float), /* attention */
      length * 4 * WIDTH * sizeof(float),      /* feed-forward */
  };
  clp_buffer *kept[LAYERS][BUFFERS_PER_LAYER];
  for (int layer = 0; layer < LAYERS; layer++)
    for (int i = 0; i < BUFFERS_PER_LAYER; i++)
      kept[layer][i] = allocate(pool, layer_bytes[i], total);
  for (int layer = LAYERS - 1; layer >= 0; layer--)
    for (int i = BUFFERS_PER_LAYER - 1; i >= 0; i--) {
      clp_buffer *gradient = allocate(pool, layer_bytes[i], total);
      CHECK(clp_buffer_release(gradient));
      CHECK(clp_buffer_release(kept[layer][i]));
    }
}

/* --- The table --- */

static void print_row(unsigned leading_bits, const clp_pool_stats *stats, const sums *total)
{
  double hit_rate = 100.0 * (double)stats->hits / (double)stats->allocations;
  double padding = 100.0 * (1.0 - total->requested_bytes / total->allocated_bytes);
  printf("%4u %9.2f %% %13llu %9.2f %% %11.1f MiB %9.1f MiB %9.2f\n", leading_bits, hit_rate,
         (unsigned long long)stats->device_allocations, padding,
         (double)stats->peak_managed_bytes / MIB, (double)stats->peak_active_bytes / MIB,
         (double)stats->peak_managed_bytes / (double)stats->peak_active_bytes);
}

static void run_program(clp_allocator *allocator, unsigned leading_bits)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.leading_bits_in_bin_id = leading_bits;
  clp_pool *pool;
  CHECK(clp_pool_create(allocator, &options, &pool));

  sums total = {0};
  uint64_t state = 1;
  clp_buffer *weights[WEIGHTS];
  allocate_weights(pool, weights, &total);
  for (int batch = 0; batch < BATCHES; batch++)
    run_batch(pool, next_length(&state), &total);
  for (int i = 0; i < WEIGHTS; i++)
    CHECK(clp_buffer_release(weights[i]));

  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_get_stats(pool, &stats));
  print_row(leading_bits, &stats, &total);
  clp_pool_release(pool);
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "tune_bins");
  clp_allocator *allocator;
  CHECK(clp_simulated_allocator_create(0, &allocator));
  printf("bits   hit rate  device allocs    padding  peak managed   peak active  managed/active\n");
  for (unsigned bits = 0; bits <= MOST_LEADING_BITS; bits++)
    run_program(allocator, bits);
  clp_allocator_release(allocator);
  printf(
      "\n"
      "padding         allocated but not asked for, of all bytes allocated\n"
      "managed/active  what the pool took from the device, over what the program used\n"
      "\n"
      "Few bits make few, wide bins: nearly every request finds a block, but blocks are larger\n"
      "than asked for. Many bits make many, narrow bins: blocks fit, but each size takes its own\n"
      "from the device, and they wait while other sizes are wanted. Look for the row where\n"
      "managed/active is lowest: for this program of many sizes that is at few bits. The default\n"
      "of 4 is for programs that ask for the same sizes again and again.\n");
  return EXIT_SUCCESS;
}
