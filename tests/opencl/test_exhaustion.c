/* SPDX-License-Identifier: MIT */
/* Running out for real: PoCL's host memory ends at a limit of the address space. In a program of
 * its own, since nothing else could run under that limit. */
#include "support/instrumented.h"
#include "support/opencl_devices.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"

#include <clpool/opencl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Above the largest threshold at which glibc maps each block on its own, so that a block which is
 * freed leaves the address space at once. */
#define UNIT        ((size_t)40 << 20)
#define BLOCK_BYTES (UNIT - 1) /* its bin's: where that is refused, nothing less is asked for */
#define ROOM_BYTES  ((size_t)640 << 20)

/* More than fit, also where the driver's threads give address space back under the limit: glibc
 * maps a thread's heap at twice its size and then unmaps half. */
enum { MOST_BLOCKS = 2 * ROOM_BYTES / UNIT };

static clpt_cl cl;
static clp_pool *pool;

/* The address space in use, from the system's own count. */
static size_t address_space_in_use(void)
{
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes blocks until there is no memory for one more, which changes nothing. Returns how many. */
static size_t take_all(clp_buffer *buffers[MOST_BLOCKS], bool is_svm)
{
  size_t count = 0;
  clp_pool_stats before = clpt_stats(pool);
  while (count < MOST_BLOCKS && clp_pool_allocate(pool, BLOCK_BYTES, &buffers[count]) == 0) {
    before = clpt_stats(pool);
    count++;
  }
  ck_assert_uint_lt(count, MOST_BLOCKS);
  ck_assert_uint_gt(count, 4);
  ck_assert_ptr_null(buffers[count]);
  ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_int_eq(clp_last_error()->native_code, is_svm ? 0 : CL_OUT_OF_HOST_MEMORY);
  clpt_message_has(is_svm ? "clSVMAlloc" : "CL_OUT_OF_HOST_MEMORY (-6)");
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, before.out_of_memory_reactions + 1);
  return count;
}

static void release_all(clp_buffer *buffers[], size_t count)
{
  for (size_t i = 0; i < count; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
}

START_TEST(held_blocks_make_room)
{
  const clpt_cl_kind kind = (clpt_cl_kind)_i;
  clp_buffer *buffers[MOST_BLOCKS], *large;
  struct rlimit as_before, limit;
  clpt_cl_open(&cl, 1);
  pool = clpt_cl_pool(&cl, kind, CLP_REUSE_OPPORTUNISTIC, cl.queue, false);
  /* Everything that the driver loads, maps and starts comes before the limit. */
  large = clpt_allocate(pool, 1000);
  clpt_cl_fill_buffer(cl.queue, large, 7);
  clpt_cl_assert_buffer(cl.queue, large, 7);
  clpt_ok(clp_buffer_release(large));
  clpt_ok(clp_pool_free_held(pool));
  clpt_cl_finish(&cl);
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &as_before), 0);
  limit = as_before;
  limit.rlim_cur = address_space_in_use() + ROOM_BYTES;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);

  size_t count = take_all(buffers, kind == CLPT_SVM);
  release_all(buffers, count);
  const clp_pool_stats before = clpt_stats(pool);
  ck_assert_uint_eq(before.held_blocks, count);
  large = clpt_allocate(pool, BLOCK_BYTES * 2);
  const clp_pool_stats after = clpt_stats(pool);
  ck_assert_uint_gt(after.device_frees, before.device_frees);
  if (kind == CLPT_BUFFERS) /* the others' frees are waited for when nothing is held any more */
    ck_assert_uint_gt(after.held_blocks, 0); /* no more are freed than it takes */
  clpt_cl_fill_buffer(cl.queue, large, 8);
  /* What is still held goes to the next who asks, and then there is nothing left to free. */
  count = take_all(buffers, kind == CLPT_SVM);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
  release_all(buffers, count);
  clpt_ok(clp_buffer_release_on(large, cl.queue));

  ck_assert_int_eq(setrlimit(RLIMIT_AS, &as_before), 0);
  clp_pool_release(pool);
  clpt_cl_close(&cl);
}
END_TEST

/* NULL where the address space can be limited and the driver is known to live with that. */
static const char *why_not(void)
{
  cl_device_id device;
  if (CLPT_SANITIZED)
    return "a sanitizer's shadow memory needs more address space than the limit leaves";
  if (RUNNING_ON_VALGRIND)
    return "valgrind does not apply a limit of the address space to the program";
  if (access("/proc/self/statm", R_OK))
    return "/proc, which tells how much address space is in use, is not mounted";
  if (clpt_find_devices(1, &device) == 0 ||
      !clpt_cl_is(&(clpt_cl){.devices = {device}}, CLPT_POCL_PLATFORM))
    return "the device is not PoCL's";
  return NULL;
}

int main(void)
{
  const char *reason = why_not();
  if (reason) {
    fprintf(stderr, "skipped: %s\n", reason);
    return CLPT_SKIPPED;
  }
  Suite *suite = suite_create("exhaustion");
  tcase_add_loop_test(clpt_case(suite, "exhaustion"), held_blocks_make_room, 0, CLPT_CL_KINDS);
  return clpt_cl_run(suite);
}
