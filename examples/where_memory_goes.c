/* SPDX-License-Identifier: MIT */
/* Where does the memory go? A program that works through batches of varied length, with what clpool
 * can tell of it: the pool's figures, a line profile, a trace. doc/where-memory-goes.md reads them.
 */
#include "array.h"
#include "check.h"

#include <clpool/opencl.h>

enum { BATCHES = 48, LENGTHS = 12, MOST_BINS = 32 };
enum { PAGE = 1 << 14 }; /* elements: 64 KiB */

/* --- The program --- */

/* 1 to 12 pages, every length four times. */
static size_t batch_elements(int batch)
{
  return (size_t)(1 + batch * 5 % LENGTHS) * PAGE;
}

static array *load_batch(array_device *device, const array_allocator *from, int batch)
{
  array *x = array_create(device, from, batch_elements(batch));
  array_fill(x, (float)batch);
  return x;
}

static array *distance(const array *x, const array *y)
{
  array *mixed = array_axpby(2.0f, x, 3.0f, y);
  array *root = array_sqrt(mixed);
  array_release(mixed);
  return root;
}

static float process_batch(array_device *device, const array_allocator *from, int batch)
{
  array *x = load_batch(device, from, batch);
  array *y = array_axpby(0.5f, x, 0.5f, x);
  array *root = distance(x, y);
  float sum = array_sum(root);
  array_release(root);
  array_release(y);
  array_release(x);
  return sum;
}

static void process_all(array_device *device, const array_allocator *from)
{
  float sum = 0.0f;
  for (int batch = 0; batch < BATCHES; batch++)
    sum += process_batch(device, from, batch);
  printf("%d batches, their sum: %.4g\n", BATCHES, (double)sum);
}

/* --- What the pool knows --- */

static void print_figures(const clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_get_stats(pool, &stats));
  printf("\nallocations     %10llu\n", (unsigned long long)stats.allocations);
  printf("hits            %10llu\n", (unsigned long long)stats.hits);
  printf("peak in use     %10zu bytes\n", stats.peak_active_bytes);
  printf("peak managed    %10zu bytes\n", stats.peak_managed_bytes);
}

static void print_bins(const clp_pool *pool)
{
  size_t bins[MOST_BINS], count;
  CHECK(clp_pool_get_bins(pool, bins, MOST_BINS, &count));
  printf("\n%12s %6s %12s %6s %8s\n", "block bytes", "held", "held bytes", "hits", "misses");
  for (size_t i = 0; i < count && i < MOST_BINS; i++) {
    clp_bin_stats stats = CLP_BIN_STATS_INIT;
    CHECK(clp_pool_get_bin_stats(pool, bins[i], &stats));
    printf("%12zu %6zu %12zu %6llu %8llu\n", stats.block_bytes, stats.held_blocks, stats.held_bytes,
           (unsigned long long)stats.hits, (unsigned long long)stats.misses);
  }
}

/* --- What hooks see --- */

static FILE *open_file(const char *path)
{
  FILE *file = fopen(path, "w");
  if (!file) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  return file;
}

static clp_line_profile *begin_profile(void)
{
  clp_line_profile *profile;
  CHECK(clp_line_profile_create(0, &profile));
  CHECK(clp_hook_push(clp_line_profile_hook(profile)));
  return profile;
}

static void end_profile(clp_line_profile *profile, const char *folded_path)
{
  CHECK(clp_hook_pop(clp_line_profile_hook(profile)));
  CHECK(clp_line_profile_print(profile, stdout));
  CHECK(clp_line_profile_print_view(profile, CLP_VIEW_PEAK, stdout));
  FILE *folded = open_file(folded_path);
  CHECK(clp_line_profile_write_folded(profile, folded));
  fclose(folded);
  clp_line_profile_destroy(profile);
}

static clp_hook *begin_trace(const char *path)
{
  clp_hook *trace;
  CHECK(clp_trace_hook_create(path, NULL, &trace));
  CHECK(clp_hook_push(trace));
  return trace;
}

static void end_trace(clp_hook *trace)
{
  CHECK(clp_hook_pop(trace));
  CHECK(clp_trace_hook_destroy(trace));
}

/* --- The run --- */

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 2, "where_memory_goes TRACE FOLDED, the files to write");
  cl_int code;
  cl_device_id device_id = pick_device();
  cl_context context = clCreateContext(NULL, 1, &device_id, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device_id, 0, &code);
  check_cl(code, "clCreateCommandQueue");
  clp_allocator *allocator;
  array_allocator from = {0};
  CHECK(clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &allocator));
  CHECK(clp_pool_create(allocator, NULL, &from.pool));
  array_device *device = array_device_create(queue);

  clp_hook *trace = begin_trace(argv[1]);
  clp_line_profile *profile = begin_profile();
  process_all(device, &from);
  end_profile(profile, argv[2]);
  end_trace(trace);
  print_figures(from.pool);
  print_bins(from.pool);

  array_device_release(device);
  clp_pool_release(from.pool);
  clp_allocator_release(allocator);
  CHECK_CL(clReleaseCommandQueue(queue));
  CHECK_CL(clReleaseContext(context));
  return EXIT_SUCCESS;
}
