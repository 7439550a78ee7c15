/* SPDX-License-Identifier: MIT */
/* Running out for real: PoCL's host memory ends at a limit of the address space. In a program of
 * its own, since nothing else could run under that limit. */
#include "support/instrumented.h"
#include "support/opencl_devices.h"
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"

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
static clp_allocator *allocator;
static clp_pool *pool;
static bool is_svm;
static struct rlimit as_before;

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

/* All of a buffer is really there, as its last word shows. */
static void assert_usable(clp_buffer *buffer)
{
  const cl_uint written = 12345;
  const size_t offset = clp_buffer_size(buffer) - sizeof(written);
  cl_uint found = 0;
  unsigned char *last = is_svm ? (unsigned char *)clp_buffer_svm_pointer(buffer) + offset : NULL;
  cl_mem mem = is_svm ? NULL : clp_buffer_cl_mem(buffer);
  clpt_cl_ok(
      mem ? clEnqueueWriteBuffer(cl.queue, mem, CL_TRUE, offset, sizeof(written), &written, 0, NULL,
                                 NULL)
          : clEnqueueSVMMemcpy(cl.queue, CL_TRUE, last, &written, sizeof(written), 0, NULL, NULL));
  clpt_cl_ok(
      mem ? clEnqueueReadBuffer(cl.queue, mem, CL_TRUE, offset, sizeof(found), &found, 0, NULL,
                                NULL)
          : clEnqueueSVMMemcpy(cl.queue, CL_TRUE, &found, last, sizeof(found), 0, NULL, NULL));
  ck_assert_uint_eq(found, written);
}

/* Everything that the driver loads, maps and starts comes before the limit. */
static void warm_up(void)
{
  clp_buffer *buffer = clpt_allocate(pool, sizeof(cl_uint));
  assert_usable(buffer);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(pool));
  clpt_cl_ok(clFinish(cl.queue));
}

static void start(void)
{
  pool = clpt_pool(allocator);
  warm_up();
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &as_before), 0);
  struct rlimit limit = as_before;
  limit.rlim_cur = address_space_in_use() + ROOM_BYTES;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* On a queue, so that frees of shared virtual memory come later than they are asked for. */
static void setup(clpt_order_kind kind)
{
  is_svm = kind == CLPT_SVM;
  clpt_cl_open(&cl, 1);
  allocator = clpt_order_allocator(&cl, kind, cl.queue);
  start();
}

static void setup_immediate(void)
{
  setup(CLPT_BUFFERS);
}

static void setup_svm(void)
{
  setup(CLPT_SVM);
}

static void teardown(void)
{
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &as_before), 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_cl_close(&cl);
}

/* One allocation that must fail and change nothing. */
static void assert_exhausted(size_t bytes)
{
  clp_buffer *failed = (clp_buffer *)&cl;
  clp_pool_stats before = clpt_stats(pool);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, bytes, &failed));
  ck_assert_ptr_null(failed);
  ck_assert_int_eq(clp_last_error()->native_code, is_svm ? 0 : CL_OUT_OF_HOST_MEMORY);
  clpt_message_has(is_svm ? "clSVMAlloc" : "CL_OUT_OF_HOST_MEMORY (-6)");
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, before.out_of_memory_reactions + 1);
}

/* Takes blocks until there is no memory for one more. Returns how many. */
static size_t fill(clp_buffer *buffers[MOST_BLOCKS])
{
  size_t count = 0;
  while (count < MOST_BLOCKS && clp_pool_allocate(pool, BLOCK_BYTES, &buffers[count]) == 0)
    count++;
  ck_assert_uint_lt(count, MOST_BLOCKS);
  ck_assert_uint_gt(count, 4);
  return count;
}

static void release_all(clp_buffer *buffers[], size_t count)
{
  for (size_t i = 0; i < count; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
}

START_TEST(test_all_active)
{
  clp_buffer *buffers[MOST_BLOCKS];
  size_t count = fill(buffers);

  assert_exhausted(BLOCK_BYTES);
  assert_exhausted(BLOCK_BYTES * 2);
  for (size_t i = 0; i < count; i++)
    assert_usable(buffers[i]);
  release_all(buffers, count);
}
END_TEST

START_TEST(test_held_blocks_make_room)
{
  clp_buffer *buffers[MOST_BLOCKS];
  size_t count = fill(buffers);
  clp_buffer *large;

  release_all(buffers, count);
  clp_pool_stats before = clpt_stats(pool);
  ck_assert_uint_eq(before.held_blocks, count);
  clpt_ok(clp_pool_allocate(pool, BLOCK_BYTES * 2, &large));
  clp_pool_stats after = clpt_stats(pool);
  ck_assert_uint_gt(after.device_frees, before.device_frees);
  if (!is_svm) /* whose frees are waited for only when nothing is held any more */
    ck_assert_uint_gt(after.held_blocks, 0); /* no more are freed than it takes */
  ck_assert_uint_eq(after.out_of_memory_reactions, before.out_of_memory_reactions + 1);
  assert_usable(large);

  /* What is still held goes to the next who asks, and then there is nothing left to free. */
  size_t refilled = fill(buffers);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
  assert_exhausted(BLOCK_BYTES);
  release_all(buffers, refilled);
  clpt_ok(clp_buffer_release(large));
}
END_TEST

/* Of different sizes, again and again: the pool never gets stuck on what it holds. There is room
 * for any two and one more, since a block may come back while glibc has no memory for the next:
 * then it makes that a part of its heap, which it does not give back to the system; and for the
 * heap of a thread of the driver's, which takes 128 MiB of addresses. All five do not fit. */
START_TEST(test_sizes_in_turn)
{
  static const size_t sizes[] = {13 * UNIT / 4, 3 * UNIT, 4 * UNIT, 15 * UNIT / 4, 7 * UNIT / 2};
  enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 20 };

  for (size_t i = 0; i < ROUNDS; i++) {
    clp_buffer *pair[2];
    clpt_ok(clp_pool_allocate(pool, sizes[i % SIZES], &pair[0]));
    clpt_ok(clp_pool_allocate(pool, sizes[(i + 1) % SIZES], &pair[1]));
    release_all(pair, 2);
  }
  ck_assert_uint_gt(clpt_stats(pool).out_of_memory_reactions, 0);
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
  if (clpt_find_devices(1, &device) == 0 || !clpt_cl_is_pocl(&(clpt_cl){.devices = {device}}))
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
  for (int i = 0; i < 2; i++) {
    TCase *tests = clpt_case(suite, i ? "svm" : "immediate");
    tcase_add_checked_fixture(tests, i ? setup_svm : setup_immediate, teardown);
    tcase_add_test(tests, test_all_active);
    tcase_add_test(tests, test_held_blocks_make_room);
    tcase_add_test(tests, test_sizes_in_turn);
  }
  return clpt_cl_run(suite);
}
