/* SPDX-License-Identifier: MIT */
/* Pools of the allocators of clpool/opencl.h: running out, what frees of others bring, plain
 * cl_mems and sub-buffers, and who keeps whom alive. */
#include "support/instrumented.h"
#include "support/pools.h"
#include "support/watch_opencl.h"

#include <clpool/opencl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 250, BYTES = WORDS * sizeof(cl_uint), ARENAS = 2 };
enum { BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static clpt_cl cl;

static cl_ulong told(cl_mem mem, cl_mem_info what)
{
  cl_ulong value = 0; /* of fewer bytes, too, where the least comes first */
  clpt_cl_ok(clGetMemObjectInfo(mem, what, sizeof(value), &value, NULL));
  return value;
}

/* --- running out for real: PoCL's host memory ends at a limit of the address space --- */

/* So large that glibc maps each block on its own, and a bin's size, so that nothing less is asked
 * for. Fewer than MOST_BLOCKS fit, also where the driver's threads give address space back. */
enum { BLOCK_BYTES = (40 << 20) - 1, ROOM_BYTES = 640 << 20, MOST_BLOCKS = 32 };

/* Takes blocks until there is no memory for one more, and releases them. */
static void take_all(clp_pool *of)
{
  static clp_buffer *buffers[MOST_BLOCKS];
  size_t count = 0;
  while (count < MOST_BLOCKS && clp_pool_allocate(of, BLOCK_BYTES, &buffers[count]) == 0)
    count++;
  ck_assert(count > 4 && count < MOST_BLOCKS);
  ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_uint_eq(clpt_stats(of).held_blocks, 0);
  while (count > 0)
    clpt_ok(clp_buffer_release(buffers[--count]));
}

/* Valgrind applies no limit to the program, sanitizers need more than it leaves. */
START_TEST(held_blocks_make_room)
{
  const clpt_cl_kind kind = (clpt_cl_kind)_i;
  struct rlimit as_before, limit;
  size_t pages = 0;
  FILE *file; /* says the address space in use */
  if (CLPT_SANITIZED || RUNNING_ON_VALGRIND || !clpt_cl_is(&cl, CLPT_POCL_PLATFORM) ||
      !(file = fopen("/proc/self/statm", "r")))
    return;
  clp_pool *of = clpt_cl_pool(&cl, kind, BOTH, cl.queue, false);
  /* Everything that the driver loads, maps and starts comes before the limit. */
  clp_buffer *large = clpt_allocate(of, BYTES);
  clpt_cl_fill_buffer(cl.queue, large, 7);
  clpt_cl_assert_buffer(cl.queue, large, 7);
  clpt_ok(clp_buffer_release(large));
  clpt_ok(clp_pool_free_held(of));
  clpt_cl_finish(&cl);
  ck_assert(fscanf(file, "%zu", &pages) == 1 && !fclose(file));
  ck_assert_int_eq(getrlimit(RLIMIT_AS, &as_before), 0);
  limit = as_before;
  limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + ROOM_BYTES;
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
  take_all(of);
  large = clpt_allocate(of, BLOCK_BYTES * 2);
  if (kind == CLPT_BUFFERS) /* the others' frees are waited for when nothing is held any more */
    ck_assert_uint_gt(clpt_stats(of).held_blocks, 0); /* no more are freed than it takes */
  clpt_cl_fill_buffer(cl.queue, large, 8);
  take_all(of); /* what is still held first */
  clpt_ok(clp_buffer_release_on(large, cl.queue));
  ck_assert_int_eq(setrlimit(RLIMIT_AS, &as_before), 0);
  clp_pool_release(of);
}
END_TEST

/* --- frees of others --- */

static clp_pool *donor; /* of another allocator, on cl.other */
static unsigned asked;

static bool donate(clp_pool *asking, size_t bytes, void *is_held_up)
{
  if (asked++)
    return false;
  clpt_ok(clp_pool_free_held(donor));
  if (!is_held_up) {
    clpt_cl_ok(clFinish(cl.other));
    clpt_cl_pretend_progress(CL_RUNNING);
  }
  return true;
}

/* What a callback frees on another allocator, whose queue is done soon, or waits for what the
 * caller does later, which is not waited for. */
START_TEST(frees_of_another_allocator_are_waited_for)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *buffer = NULL;
  clp_pool *asking;
  if (!clpt_cl_has(&cl, CLPT_SVM) || clpt_cl_is(&cl, CLPT_NVIDIA_PLATFORM)) /* no queue may free */
    return;
  clp_allocator *allocator = clpt_cl_allocator(&cl, CLPT_SVM, cl.queue);
  donor = clpt_cl_pool(&cl, CLPT_SVM, BOTH, cl.other, false);
  asked = 0;
  options.on_out_of_memory = donate;
  options.user_data = _i ? clpt_cl_stop(&cl, cl.other) : NULL;
  clpt_ok(clp_pool_create(allocator, &options, &asking));
  clpt_hold(donor, 1 << 12, 1);
  clpt_cl_fail(CLPT_clSVMAlloc, 0, CLPT_CL_ALL, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(asking, clpt_bin_bytes(1 << 14), &buffer));
  ck_assert_uint_eq(asked, 2);
  ck_assert_uint_ge(clpt_cl_noted.calls[CLPT_clGetEventInfo], 2); /* until done, or in vain */
  clpt_cl_go_all();
  clp_pool_release(donor);
  clp_pool_release(asking);
  clp_allocator_release(allocator);
}
END_TEST

/* --- plain cl_mems --- */

static clp_pool *pool;

static cl_mem created(size_t bytes, cl_mem_flags flags)
{
  cl_mem mem = NULL;
  clpt_ok(clp_pool_create_cl_mem(pool, bytes, flags, &mem));
  ck_assert_ptr_nonnull(mem);
  return mem;
}

/* The driver may bring memory back some time after the release, from a thread of its own. */
static void release(cl_mem mem)
{
  clpt_cl_ok(clpi_cl.clReleaseMemObject(mem));
  clpt_cl_ok(clFinish(cl.queue));
  while (clpt_stats(pool).active_blocks > 0)
    sched_yield();
}

static void fill(cl_mem mem, cl_uint word)
{
  clpt_cl_ok(clpt_cl_fill(cl.queue, CLPT_BUFFERS, (clp_memory)mem, word, BYTES, NULL));
}

START_TEST(a_cl_mem_like_any_other)
{
  static const size_t sizes[] = {1, 1000, 100001};
  static const cl_mem_flags access[] = {0, CL_MEM_READ_ONLY, CL_MEM_HOST_NO_ACCESS};
  pool = clpt_cl_pool(&cl, CLPT_BUFFERS, BOTH, cl.queue, _i);
  for (size_t i = 0; i < 3; i++) {
    cl_mem mem = created(sizes[i], access[i]);
    ck_assert_uint_eq(told(mem, CL_MEM_SIZE), sizes[i]);
    ck_assert_uint_eq(told(mem, CL_MEM_FLAGS) & access[i], access[i]);
    ck_assert_uint_eq(told(mem, CL_MEM_CONTEXT), (uintptr_t)cl.context);
    ck_assert_uint_ne(told(mem, CL_MEM_ASSOCIATED_MEMOBJECT), 0);
    clpt_cl_ok(clRetainMemObject(mem));
    clpt_cl_ok(clReleaseMemObject(mem));
    clpt_cl_ok(clFinish(cl.queue));
    ck_assert_uint_eq(clpt_stats(pool).active_bytes, sizes[i]);
    release(mem);
  }
  clp_pool_release(pool);
}
END_TEST

/* Queued on the home stream: the release need not wait for it, nor need who gets the block next.
 * The last outlives its pool; nothing is left then. */
START_TEST(released_while_in_use_at_home)
{
  pool = clpt_cl_pool(&cl, CLPT_BUFFERS, BOTH, cl.queue, _i);
  cl_event stop = clpt_cl_stop(&cl, cl.queue);
  clp_buffer *neighbour = clpt_allocate(pool, BYTES);
  cl_mem first = created(BYTES, 0);
  fill(first, 1);
  clpt_cl_ok(clpi_cl.clReleaseMemObject(first));
  cl_mem second = created(BYTES, 0);
  clp_pool_release(pool);
  fill(second, 2);
  clpt_cl_fill_buffer(cl.queue, neighbour, 3);
  clpt_ok(clp_buffer_release(neighbour));
  clpt_cl_go(stop);
  clpt_cl_assert_filled(cl.queue, CLPT_BUFFERS, (clp_memory)second, 2, BYTES);
  clpt_cl_ok(clpi_cl.clReleaseMemObject(second));
}
END_TEST

static const struct {
  clpt_cl_call call;
  cl_int code;
  clp_status status;
  const char *message;
} cl_mem_failures[] = {
    {CLPT_clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE, CLP_OUT_OF_DEVICE_MEMORY,
     "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)"},
    {CLPT_clGetMemObjectInfo, CL_INVALID_VALUE, CLP_BACKEND_ERROR, "clGetMemObjectInfo"},
    {CLPT_clCreateSubBuffer, CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_DEVICE_MEMORY,
     "clCreateSubBuffer for 1000 bytes"},
    {CLPT_clCreateSubBuffer, CLPT_CL_SILENT, CLP_BACKEND_ERROR, "clCreateSubBuffer for 1000 bytes"},
    {CLPT_clCreateSubBuffer, CL_INVALID_VALUE, CLP_INVALID_ARGUMENT, "the flags 0x2 contradict"},
    {CLPT_clCreateSubBuffer, CL_MISALIGNED_SUB_BUFFER_OFFSET, CLP_INVALID_ARGUMENT, "not aligned"},
    {CLPT_clSetMemObjectDestructorCallback, CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_HOST_MEMORY,
     "clSetMemObjectDestructorCallback"},
};
enum { CL_MEM_FAILURES = sizeof(cl_mem_failures) / sizeof(cl_mem_failures[0]) };

START_TEST(each_call_for_a_cl_mem_fails)
{
  cl_mem mem = (cl_mem)&cl;
  pool = clpt_cl_pool(&cl, CLPT_BUFFERS, BOTH, cl.queue, false);
  clpt_cl_fail(cl_mem_failures[_i].call, 0, CLPT_CL_ALL, cl_mem_failures[_i].code);
  clpt_fails(cl_mem_failures[_i].status,
             clp_pool_create_cl_mem(pool, BYTES, CL_MEM_WRITE_ONLY, &mem));
  clpt_message_has(cl_mem_failures[_i].message);
  ck_assert_ptr_null(mem);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clpt_cl_reset();
  release(created(BYTES, 0));
  clp_pool_release(pool);
}
END_TEST

/* --- sub-buffers of buffers --- */

START_TEST(a_sub_buffer_is_that_part)
{
  enum { ALL = 4096 };
  static cl_uint found[ALL];
  cl_uint bits = 0;
  cl_mem part = NULL;
  clpt_cl_ok(
      clGetDeviceInfo(cl.devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  const size_t alignment = bits / 8, from = 2 * alignment / sizeof(cl_uint);
  pool = clpt_cl_pool(&cl, CLPT_BUFFERS, BOTH, cl.queue, _i);
  clp_buffer *neighbour = clpt_allocate(pool, BYTES); /* so that the next is not at offset 0 */
  clp_buffer *buffer = clpt_allocate(pool, sizeof(found));
  clpt_cl_fill_buffer(cl.queue, buffer, 1);
  clpt_ok(clp_buffer_create_sub_buffer(buffer, CL_MEM_READ_ONLY, 2 * alignment, BYTES, &part));
  ck_assert_uint_eq(told(part, CL_MEM_SIZE), BYTES);
  ck_assert_uint_eq(told(part, CL_MEM_FLAGS) & CL_MEM_READ_ONLY, CL_MEM_READ_ONLY);
  ck_assert_uint_eq(told(clp_buffer_cl_mem(buffer), CL_MEM_OFFSET) % alignment, 0);
  clpt_cl_ok(clFinish(cl.queue)); /* NVIDIA's driver has no order for sub-buffers that overlap */
  fill(part, 2);
  clpt_cl_ok(clFinish(cl.queue));
  clpt_cl_ok(clEnqueueReadBuffer(cl.queue, clp_buffer_cl_mem(buffer), CL_TRUE, 0, sizeof(found),
                                 found, 0, NULL, NULL));
  for (size_t i = 0; i < ALL; i++)
    ck_assert_uint_eq(found[i], i >= from && i < from + WORDS ? 2 : 1);
  clpt_cl_ok(clpi_cl.clReleaseMemObject(part));
  if (clpt_cl_is(&cl, CLPT_POCL_PLATFORM)) { /* NVIDIA's driver takes any origin */
    clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_create_sub_buffer(buffer, 0, 4, 100, &part));
    clpt_message_has("aligned");
    ck_assert_int_eq(clp_last_error()->native_code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    ck_assert_ptr_null(part);
  }
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(neighbour));
  clp_pool_release(pool);
}
END_TEST

/* --- who keeps whom alive --- */

enum { PARTS = 5, ORDERS = PARTS * (PARTS - 1) };

/* One buffer is active, one block is held: they are released in many orders, and work to the end.
 */
START_TEST(released_in_any_order)
{
  const clpt_cl_kind kind = clpt_cl_has(&cl, CLPT_SVM) && _i % 2 ? CLPT_SVM : CLPT_BUFFERS;
  clpt_cl own;
  clpt_cl_open(&own, 1);
  clpt_cl_ok(clRetainCommandQueue(own.queue)); /* for the work */
  clp_allocator *allocator = clpt_cl_allocator(&own, kind, _i / 2 % 2 ? own.queue : NULL);
  clp_pool *of = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(of, BYTES);
  clpt_hold(of, BYTES, 1);
  for (int i = 0; i < PARTS; i++) {
    const int part = (_i + i * (1 + _i / PARTS)) % PARTS;
    clp_pool_release(part == 0 ? of : NULL);
    clp_allocator_release(part == 1 ? allocator : NULL);
    clpt_cl_ok(part == 2   ? clReleaseContext(own.context)
               : part == 3 ? clReleaseCommandQueue(own.queue)
                           : CL_SUCCESS);
    if (part == 4) {
      clpt_cl_fill_buffer(own.queue, buffer, 7);
      clpt_cl_assert_buffer(own.queue, buffer, 7);
      clpt_ok(clp_buffer_release(buffer));
    }
  }
  clpt_cl_ok(clFinish(own.queue));
  clpt_cl_ok(clReleaseCommandQueue(own.queue));
  clpt_cl_ok(clReleaseCommandQueue(own.other));
  clpt_cl_ok(clReleaseCommandQueue(own.out_of_order));
}
END_TEST

CLPT_MAIN("OpenCL's pools", clpt_cl_run)
{
  TCase *tests = clpt_cl_case(suite, "pools", &cl);
  tcase_add_loop_test(tests, held_blocks_make_room, 0, CLPT_CL_KINDS);
  tcase_add_loop_test(tests, frees_of_another_allocator_are_waited_for, 0, 2);
  tcase_add_loop_test(tests, a_cl_mem_like_any_other, 0, ARENAS);
  tcase_add_loop_test(tests, released_while_in_use_at_home, 0, ARENAS);
  tcase_add_loop_test(tests, each_call_for_a_cl_mem_fails, 0, CL_MEM_FAILURES);
  tcase_add_loop_test(tests, a_sub_buffer_is_that_part, 0, ARENAS);
  tcase_add_loop_test(tests, released_in_any_order, 0, ORDERS);
}
