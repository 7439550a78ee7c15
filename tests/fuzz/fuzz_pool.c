/* SPDX-License-Identifier: MIT */
/* Fuzzes a pool: the input is a list of calls, after each of which the figures must add up. */
#include "fuzz.h"

#include <clpool/clpool.h>

const char fuzz_corpus[] = "pool";

enum { BUFFERS = 16, CAPACITY = 100000 };

typedef struct subject {
  clp_pool *pool;
  clp_buffer *buffers[BUFFERS];
} subject;

/* The pool's figures against a count of what the buffers say. */
static void check_figures(const subject *it)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  size_t blocks = 0, asked = 0, allocated = 0;
  for (size_t i = 0; i < BUFFERS; i++) {
    blocks += it->buffers[i] != NULL;
    asked += clp_buffer_size(it->buffers[i]);
    allocated += clp_buffer_capacity(it->buffers[i]);
  }
  fuzz_require(clp_pool_get_stats(it->pool, &stats) == CLP_SUCCESS);
  fuzz_require(stats.active_blocks == blocks);
  fuzz_require(stats.active_bytes == asked);
  fuzz_require(stats.managed_bytes == stats.held_bytes + allocated);
  fuzz_require(stats.managed_bytes <= CAPACITY);
  fuzz_require(stats.peak_managed_bytes >= stats.managed_bytes);
  fuzz_require(stats.peak_active_bytes >= stats.active_bytes);
  fuzz_require(stats.allocations == stats.hits + stats.misses);
}

static void allocate(subject *it, size_t place, size_t bytes)
{
  clp_status status = clp_pool_allocate(it->pool, bytes, &it->buffers[place]);
  if (status == CLP_SUCCESS) {
    fuzz_require(clp_buffer_size(it->buffers[place]) == bytes);
    fuzz_require(clp_buffer_capacity(it->buffers[place]) >= bytes);
    fuzz_require((clp_buffer_memory(it->buffers[place]) == 0) == (bytes == 0));
    return;
  }
  fuzz_require(status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED);
  fuzz_require(it->buffers[place] == NULL);
}

static void release(subject *it, size_t place)
{
  fuzz_require(clp_buffer_release(it->buffers[place]) == CLP_SUCCESS);
  it->buffers[place] = NULL;
}

/* One call: what it is, and its argument, come from three bytes of the input. */
static void call(subject *it, const uint8_t *bytes)
{
  size_t place = bytes[0] % BUFFERS, number = (size_t)bytes[1] << 8 | bytes[2];
  switch (bytes[0] / BUFFERS) {
  case 0:
    fuzz_require(clp_pool_free_held(it->pool) == CLP_SUCCESS);
    break;
  case 1:
    fuzz_require(clp_pool_trim_to(it->pool, number) == CLP_SUCCESS);
    break;
  case 2:
    fuzz_require(clp_pool_set_limit(it->pool, number) == CLP_SUCCESS);
    break;
  case 3:
    fuzz_require(clp_pool_reset_peaks(it->pool) == CLP_SUCCESS);
    break;
  default:
    if (it->buffers[place] == NULL)
      allocate(it, place, number);
    else
      release(it, place);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  subject it = {.pool = NULL};
  if (length == 0)
    return 0;
  options.leading_bits_in_bin_id = input[0] % (CLP_MAX_LEADING_BITS + 1);
  fuzz_require(clp_simulated_allocator_create(CAPACITY, &allocator) == CLP_SUCCESS);
  fuzz_require(clp_pool_create(allocator, &options, &it.pool) == CLP_SUCCESS);
  clp_allocator_release(allocator);

  for (size_t at = 1; at + 3 <= length; at += 3) {
    call(&it, input + at);
    check_figures(&it);
  }
  for (size_t place = 0; place < BUFFERS; place++)
    release(&it, place);
  check_figures(&it);
  clp_pool_release(it.pool);
  return 0;
}
