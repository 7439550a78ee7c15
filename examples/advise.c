/* SPDX-License-Identifier: MIT */
/* Asks a pool which setting suits the program that uses it: no trace is needed, and no second run.
 *
 * The program works on arrays of a batch's length, which is another one each time, and on weights
 * that stay. Memory comes from the simulated allocator, which needs no device; on a real one, the
 * advice is the same. */
#include "check.h"

#include <clpool/clpool.h>
#include <stdint.h>

enum { BATCHES = 300, WEIGHTS = 20, WEIGHT_BYTES = 700000, ARRAYS = 12, ROW_BYTES = 4000 };

/* --- The program --- */

/* Numbers that look random but are the same in every run (Knuth's MMIX generator). */
static uint32_t next_number(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Each array is there until the batch is done, but for one that is needed for a moment. */
static void run_batch(clp_pool *pool, size_t rows)
{
  clp_buffer *arrays[ARRAYS], *scratch;
  for (size_t i = 0; i < ARRAYS; i++) {
    CHECK(clp_pool_allocate(pool, rows * ROW_BYTES * (1 + i % 3), &arrays[i]));
    CHECK(clp_pool_allocate(pool, rows * sizeof(float), &scratch));
    CHECK(clp_buffer_release(scratch));
  }
  for (size_t i = 0; i < ARRAYS; i++)
    CHECK(clp_buffer_release(arrays[i]));
}

static void run_program(clp_pool *pool)
{
  clp_buffer *weights[WEIGHTS];
  uint64_t state = 1;
  for (int i = 0; i < WEIGHTS; i++)
    CHECK(clp_pool_allocate(pool, WEIGHT_BYTES, &weights[i]));
  for (int i = 0; i < BATCHES; i++)
    run_batch(pool, 16 + next_number(&state) % 240);
  for (int i = 0; i < WEIGHTS; i++)
    CHECK(clp_buffer_release(weights[i]));
}

/* --- The advice --- */

static void print_advice(const clp_pool *pool, const char *name, clp_objective objective)
{
  clp_pool_advice advice = CLP_POOL_ADVICE_INIT;
  advice.objective = objective;
  CHECK(clp_pool_advise(pool, &advice));
  printf("%s: %s\n\n", name, advice.reason);
  if (advice.on_arena)
    printf("  clp_arena_allocator_create(allocator, NULL, &arena); /* the pool's allocator */\n");
  printf("  options.leading_bits_in_bin_id = %u;\n\n", advice.leading_bits_in_bin_id);
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "advise");
  clp_allocator *allocator;
  clp_pool *pool;
  CHECK(clp_simulated_allocator_create(0, &allocator));
  CHECK(clp_pool_create(allocator, NULL, &pool));
  run_program(pool);
  print_advice(pool, "balanced", CLP_OBJECTIVE_BALANCED);
  print_advice(pool, "time", CLP_OBJECTIVE_TIME);
  print_advice(pool, "memory", CLP_OBJECTIVE_MEMORY);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return EXIT_SUCCESS;
}
