/* SPDX-License-Identifier: MIT */
/* Pools of the allocators of clpool/opencl.h: what is in their memory, reuse, the largest block,
 * running out, plain cl_mems and sub-buffers, and who keeps whom alive. */
#include "core/allocator/allocator.h"
#include "hooks/line_profile.h"
#include "opencl/driver_lock.h"
#include "support/chance.h"
#include "support/failing_allocator.h"
#include "support/one_block.h"
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/arena.h>
#include <clpool/log.h>
#include <clpool/opencl.h>
#include <clpool/profile.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORDS = 250, BYTES = WORDS * sizeof(cl_uint) };
enum { BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

/* Both kinds of memory, with a home stream or without, on an arena or not. */
enum { HOMES = 2, ARENAS = 2, VARIANTS = CLPT_ORDER_KINDS * HOMES * ARENAS, PLAIN = 4 };

static clpt_cl cl;
static clpt_cl_live before; /* a test */
static cl_kernel kernel;    /* NULL: not needed yet, since drivers take long to compile it */

static void open_all(void)
{
  clpt_cl_open(&cl, 1);
}

static cl_kernel words_kernel(void)
{
  if (!kernel)
    kernel = clpt_cl_words_kernel(&cl);
  return kernel;
}

static void close_all(void)
{
  if (kernel)
    clpt_cl_ok(clReleaseKernel(kernel));
  kernel = NULL;
  clpt_cl_close(&cl);
}

/* Devices that free on queues. */
static void setup(void)
{
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  before = clpt_cl_live_now();
}

static void teardown(void)
{
  clpt_cl_ok(clFinish(cl.queue));
  clpt_cl_assert_live(&before);
  clpt_cl_reset();
}

static clpt_order_kind kind_of(int variant)
{
  return (clpt_order_kind)(variant % CLPT_ORDER_KINDS);
}

static cl_command_queue home_of(int variant)
{
  return variant / CLPT_ORDER_KINDS % HOMES ? cl.queue : NULL;
}

static bool is_on_arena(int variant)
{
  return variant >= PLAIN;
}

/* NULL: the device has no such memory. NVIDIA's blocks of an arena must be known as such. */
static clp_pool *new_pool(int variant)
{
  if (!clpt_order_has(&cl, kind_of(variant)))
    return NULL;
  if (is_on_arena(variant))
    clpt_cl_reset();
  return (is_on_arena(variant) ? clpt_order_pool_on_arena
                               : clpt_order_pool)(&cl, kind_of(variant), BOTH, home_of(variant));
}

static size_t mem_size(cl_mem mem, cl_mem_info what)
{
  size_t value = 0;
  clpt_cl_ok(clGetMemObjectInfo(mem, what, sizeof(value), &value, NULL));
  return value;
}

static void *mem_handle(cl_mem mem, cl_mem_info what)
{
  void *handle = NULL;
  clpt_cl_ok(clGetMemObjectInfo(mem, what, sizeof(handle), &handle, NULL));
  return handle;
}

static size_t base_alignment(void)
{
  cl_uint bits = 0;
  clpt_cl_ok(
      clGetDeviceInfo(cl.devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  return bits / 8;
}

/* --- memory --- */

/* The memory as what OpenCL takes, of its kind alone; what does not say is taken at its word. */
START_TEST(accessors)
{
  static clpt_device device;
  clpt_device_init(&device);
  device.ops.memory_kind = (clp_memory_kind)_i;
  clp_allocator *allocator = clpt_device_allocator(&device);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, BYTES), *empty = clpt_allocate(pool, 0);
  const void *const given[] = {clp_buffer_cl_mem(buffer), clp_buffer_svm_pointer(buffer)};
  const clp_memory_kind taken[] = {CLP_MEMORY_CL_MEM, CLP_MEMORY_CL_SVM};
  for (int i = 0; i < 2; i++)
    ck_assert_ptr_eq(given[i], _i == CLP_MEMORY_UNSTATED || (clp_memory_kind)_i == taken[i]
                                   ? (const void *)clp_buffer_memory(buffer)
                                   : NULL);
  ck_assert_ptr_null(clp_buffer_cl_mem(empty));
  ck_assert_ptr_null(clp_buffer_svm_pointer(empty));
  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(a_hit_is_the_same_memory)
{
  clp_pool *pool = new_pool(_i);
  if (!pool)
    return;
  clp_buffer *buffer = clpt_allocate(pool, BYTES);
  const clp_memory first = clp_buffer_memory(buffer);
  if (kind_of(_i) == CLPT_BUFFERS) {
    cl_mem mem = clp_buffer_cl_mem(buffer);
    ck_assert_uint_eq(mem_size(mem, CL_MEM_SIZE), clp_buffer_capacity(buffer));
    ck_assert_ptr_eq(mem_handle(mem, CL_MEM_CONTEXT), cl.context);
  }
  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_reset();
  for (int i = 0; i < 10; i++) {
    buffer = clpt_allocate(pool, BYTES);
    ck_assert_uint_eq(clp_buffer_memory(buffer), first);
    clpt_ok(clp_buffer_release(buffer));
  }
  ck_assert_str_eq(clpt_cl_trace(), "");
  clp_pool_release(pool);
}
END_TEST

enum { SLOTS = 40, STEPS = 500, PASSES = 3, MOST_WORDS = 5000 };

typedef struct filled {
  clp_buffer *buffer; /* NULL: none */
  cl_uint word;
  bool is_numbered;
} filled;

/* By a fill, or by a kernel that numbers the words of a cl_mem. */
static void fill(filled *slot, cl_uint word)
{
  const size_t words = clp_buffer_size(slot->buffer) / sizeof(word);
  const clp_memory_kind kind = clp_pool_allocator(clp_buffer_pool(slot->buffer))->ops.memory_kind;
  slot->word = word;
  slot->is_numbered = kind == CLP_MEMORY_CL_MEM && word % 4 == 0;
  if (slot->is_numbered)
    clpt_cl_write_words(cl.queue, words_kernel(), clp_buffer_cl_mem(slot->buffer), word << 12,
                        words);
  else
    clpt_order_fill(cl.queue, slot->buffer, word);
}

static void check(const filled *slot)
{
  if (slot->is_numbered)
    clpt_cl_assert_words(cl.queue, clp_buffer_cl_mem(slot->buffer), slot->word << 12,
                         clp_buffer_size(slot->buffer) / sizeof(cl_uint));
  else
    clpt_order_assert_filled(cl.queue, slot->buffer, slot->word);
}

static void swap(clp_pool *pool, filled *slot, size_t words, cl_uint word)
{
  if (slot->buffer) {
    check(slot);
    clpt_ok(clp_buffer_release_on(slot->buffer, cl.queue));
    slot->buffer = NULL;
    return;
  }
  clpt_ok(clp_pool_allocate_on(pool, words * sizeof(word), cl.queue, &slot->buffer));
  fill(slot, word);
}

/* No block has a byte of another, whatever was split and joined before. The program nearly repeats,
 * so that an arena follows it and leaves it again. */
START_TEST(each_block_keeps_what_was_written_to_it)
{
  const unsigned steps = clpt_iterations(STEPS);
  filled slots[SLOTS] = {{NULL, 0, false}};
  clp_pool *pool = new_pool(_i);
  if (!pool)
    return;
  for (unsigned pass = 0; pass < PASSES; pass++) {
    clpt_chance chance = clpt_chance_seed((unsigned)_i);
    for (unsigned i = 1; i <= steps; i++) {
      filled *slot = &slots[clpt_chance_below(&chance, SLOTS)];
      const size_t words = 1 + (size_t)clpt_chance_below(&chance, MOST_WORDS);
      swap(pool, slot, i == 100 * pass ? 1 : words, pass * steps + i);
    }
    for (size_t i = 0; i < SLOTS; i++)
      if (slots[i].buffer)
        swap(pool, &slots[i], 0, 0);
    if (pass == 1)
      clpt_ok(clp_pool_trim_to(pool, 50000));
  }
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clp_pool_release(pool);
}
END_TEST

/* As PyOpenCL's test_coarse_grain_svm and test_fine_grain_svm. */
START_TEST(the_host_sees_shared_virtual_memory)
{
  clp_cl_svm_options options = {sizeof(options), _i ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0, 64, NULL};
  clp_allocator *allocator;
  if (!clpt_order_has(&cl, CLPT_SVM) ||
      (_i && !(clpt_cl_svm(&cl) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER)))
    return;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, &options, &allocator));
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, BYTES);
  cl_uint *words = clp_buffer_svm_pointer(buffer), first = 1000;
  ck_assert_uint_eq((uintptr_t)words % 64, 0);
  clpt_cl_ok(clSetKernelArgSVMPointer(words_kernel(), 0, words));
  clpt_cl_ok(clSetKernelArg(kernel, 1, sizeof(first), &first));
  clpt_cl_ok(clpt_cl_enqueue(cl.queue, kernel, WORDS));
  if (!_i)
    clpt_cl_ok(clEnqueueSVMMap(cl.queue, CL_TRUE, CL_MAP_READ, words, BYTES, 0, NULL, NULL));
  clpt_cl_ok(clFinish(cl.queue));
  for (cl_uint i = 0; i < WORDS; i++)
    ck_assert_uint_eq(words[i], first + i);
  if (!_i)
    clpt_cl_ok(clEnqueueSVMUnmap(cl.queue, words, 0, NULL, NULL));
  clpt_cl_ok(clFinish(cl.queue));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

/* The device allows 1000 bytes, which bins of 4 bits do not stop at: 992 to 1023. */
START_TEST(the_largest_block)
{
  const cl_ulong most = 1000;
  clp_buffer *refused = (clp_buffer *)&cl;
  clpt_cl_pretend(NULL, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &most, sizeof(most));
  clp_pool *pool = new_pool(_i);
  if (!pool)
    return;
  ck_assert_uint_eq(clp_pool_alloc_size(pool, clp_pool_bin_number(pool, 995)), most);
  for (size_t bytes = 995; bytes <= most; bytes += most - 995) {
    clp_buffer *buffer = clpt_allocate(pool, bytes);
    ck_assert_uint_eq(clp_buffer_capacity(buffer), most);
    clpt_ok(clp_buffer_release(buffer));
  }
  ck_assert_uint_eq(clpt_stats(pool).device_allocations, 1);
  clp_pool_stats then = clpt_stats(pool);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, most + 1, &refused));
  clpt_message_has("1001 bytes");
  ck_assert_ptr_null(refused);
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&then, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clp_pool_release(pool);
}
END_TEST

START_TEST(a_limit_in_one_block)
{
  if (!clpt_order_has(&cl, kind_of(_i)))
    return;
  clp_allocator *allocator = clpt_order_allocator(&cl, kind_of(_i), home_of(_i)), *arena = NULL;
  if (is_on_arena(_i))
    clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  for (int i = 0; i < CLPT_ONE_BLOCK_CASES; i++)
    clpt_limit_in_one_block(arena ? arena : allocator, i, 100001);
  clp_allocator_release(arena);
  clp_allocator_release(allocator);
}
END_TEST

/* --- running out --- */

static void have_no_memory(int variant, unsigned long calls)
{
  clpt_cl_fail(kind_of(variant) == CLPT_SVM ? CLPT_clSVMAlloc : CLPT_clCreateBuffer, 0, calls,
               CL_OUT_OF_RESOURCES);
}

/* The largest held block goes, then the next, and no more. */
START_TEST(held_blocks_go_largest_first)
{
  clp_pool *pool = new_pool(_i);
  if (!pool)
    return;
  clpt_hold(pool, 1 << 10, 1);
  clpt_hold(pool, 1 << 12, 1);
  clpt_hold(pool, 1 << 11, 1);
  have_no_memory(_i, 2);
  clp_buffer *buffer = clpt_allocate(pool, 1 << 13);
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.device_frees, 2);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, clp_bin_size(4, clp_bin_number(4, 1 << 10)));
  ck_assert_uint_eq(stats.out_of_memory_reactions, 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish) + clpt_cl_calls(CLPT_clWaitForEvents), 0);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* Only when nothing is held any more, the host waits for what the queue still has to do. */
START_TEST(the_home_queue_is_waited_for_last)
{
  clp_pool *pool = new_pool(_i);
  if (!pool)
    return;
  clpt_hold(pool, 1 << 12, 1);
  have_no_memory(_i, 2);
  clp_buffer *buffer = clpt_allocate(pool, clpt_bin_bytes(1 << 13));
  ck_assert_uint_gt(clpt_cl_calls(CLPT_clFinish) + clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_uint_eq(clpt_stats(pool).device_frees, 1);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

START_TEST(out_of_memory_for_good)
{
  clp_pool *pool = new_pool(_i);
  clp_buffer *failed = (clp_buffer *)&cl;
  if (!pool)
    return;
  clp_buffer *active = clpt_allocate(pool, 1 << 10);
  clp_pool_stats then = clpt_stats(pool);
  have_no_memory(_i, CLPT_CL_ALL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 5000, &failed));
  const bool is_svm = kind_of(_i) == CLPT_SVM;
  ck_assert_int_eq(clp_last_error()->native_code, is_svm ? 0 : CL_OUT_OF_RESOURCES);
  clpt_message_has("5000 bytes");
  clpt_message_has(is_svm ? "clSVMAlloc" : "CL_OUT_OF_RESOURCES (-5)");
  ck_assert_ptr_null(failed);
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&then, &after);
  clpt_ok(clp_buffer_release(active));
  clp_pool_release(pool);
}
END_TEST

/* Running out in one context takes nothing from another, for that would not help. */
START_TEST(out_of_memory_stays_in_its_context)
{
  clpt_cl other;
  clp_allocator *allocators[2];
  clp_pool *pools[3]; /* the last one is the stranger */
  clp_buffer *failed;
  clpt_cl_open(&other, 1);
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &allocators[0]));
  clpt_ok(clp_cl_immediate_allocator_create(other.queue, 0, &allocators[1]));
  for (int i = 0; i < 3; i++)
    pools[i] = clpt_pool(allocators[i / 2]);
  clpt_hold(pools[1], 1 << 12, 1);
  clpt_hold(pools[2], 1 << 12, 1);
  clp_buffer *buffer = clpt_allocate(pools[2], BYTES);
  ck_assert_ptr_eq(mem_handle(clp_buffer_cl_mem(buffer), CL_MEM_CONTEXT), other.context);
  clpt_ok(clp_buffer_release(buffer));
  have_no_memory(CLPT_BUFFERS, CLPT_CL_ALL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pools[0], 1 << 12, &failed));
  ck_assert_uint_eq(clpt_stats(pools[1]).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(pools[2]).held_blocks, 2);
  for (int i = 0; i < 3; i++)
    clp_pool_release(pools[i]);
  clp_allocator_release(allocators[0]);
  clp_allocator_release(allocators[1]);
  clpt_cl_close(&other);
}
END_TEST

typedef struct donor {
  clp_pool *pool; /* of another allocator; the queue is its */
  cl_command_queue queue;
  bool ends, is_held_up;
  unsigned calls;
} donor;

static bool donate(clp_pool *pool, size_t bytes, void *user_data)
{
  donor *self = user_data;
  (void)pool, (void)bytes;
  if (self->calls++)
    return false;
  clpt_ok(clp_pool_free_held(self->pool));
  if (!self->is_held_up) {
    clpt_cl_ok(clFinish(self->queue));
    clpt_cl_pretend_progress(CL_RUNNING);
  }
  if (self->ends) {
    clp_pool_release(self->pool);
    self->pool = NULL;
  }
  return true;
}

/* What a callback frees on another allocator. It ends with its pool, or does not. Its queue is done
 * soon, or waits for what the caller does later, which is not waited for. */
START_TEST(frees_of_another_allocator_are_waited_for)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  clp_buffer *buffer = NULL;
  if (!clpt_order_has(&cl, CLPT_SVM))
    return;
  cl_command_queue queue = clpt_cl_queue(&cl, 0);
  donor it = {.pool = clpt_order_pool(&cl, CLPT_SVM, BOTH, queue),
              .queue = queue,
              .ends = _i % 2,
              .is_held_up = _i / 2};
  clp_allocator *allocator = clpt_order_allocator(&cl, CLPT_SVM, cl.queue);
  options.on_out_of_memory = donate;
  options.user_data = &it;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  clpt_hold(it.pool, 1 << 12, 1);
  cl_event stop = it.is_held_up ? clpt_cl_stop(&cl, queue) : NULL;
  have_no_memory(CLPT_SVM, CLPT_CL_ALL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, clpt_bin_bytes(1 << 14), &buffer));
  ck_assert_uint_eq(it.calls, 2);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clGetEventInfo), 2); /* until it was done, or in vain */
  if (stop)
    clpt_cl_go(stop);
  clp_pool_release(it.pool);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

/* --- plain cl_mems --- */

static clp_allocator *allocator;
static clp_pool *pool;

static void begin(bool on_arena)
{
  pool = new_pool(CLPT_ORDER_KINDS + CLPT_BUFFERS + (on_arena ? PLAIN : 0));
  allocator = clp_allocator_retain(clp_pool_allocator(pool));
}

static void end(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

static cl_mem created(size_t bytes, cl_mem_flags flags)
{
  cl_mem mem = NULL;
  clpt_ok(clp_pool_create_cl_mem(pool, bytes, flags, &mem));
  ck_assert_ptr_nonnull(mem);
  return mem;
}

/* The driver may bring memory back some time after the release, from a thread of its own. */
static void await_active_blocks(size_t blocks)
{
  clpt_cl_ok(clFinish(cl.queue));
  while (clpt_stats(pool).active_blocks > blocks)
    sched_yield();
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, blocks);
}

START_TEST(a_cl_mem_like_any_other)
{
  static const size_t sizes[] = {1, 3, 4, 1000, 1001, 4096, 100000};
  static const cl_mem_flags access[] = {0,
                                        CL_MEM_READ_WRITE,
                                        CL_MEM_READ_ONLY,
                                        CL_MEM_WRITE_ONLY,
                                        CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY,
                                        CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
                                        CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS};
  begin(_i);
  clp_buffer *neighbour = clpt_allocate(pool, BYTES);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    cl_mem mem = created(sizes[i], access[i]);
    ck_assert_uint_eq(mem_size(mem, CL_MEM_SIZE), sizes[i]);
    ck_assert_uint_eq(mem_size(mem, CL_MEM_FLAGS) & access[i], access[i]);
    ck_assert_ptr_eq(mem_handle(mem, CL_MEM_CONTEXT), cl.context);
    ck_assert_ptr_nonnull(mem_handle(mem, CL_MEM_ASSOCIATED_MEMOBJECT));
    clpt_cl_ok(clReleaseMemObject(mem));
  }
  cl_mem mem = created(BYTES, 0);
  clpt_cl_write_words(cl.queue, words_kernel(), mem, 100, WORDS);
  clpt_order_fill(cl.queue, neighbour, 6);
  clpt_cl_assert_words(cl.queue, mem, 100, WORDS);
  clpt_cl_ok(clReleaseMemObject(mem));
  await_active_blocks(1);
  clpt_ok(clp_buffer_release(neighbour));
  end();
}
END_TEST

START_TEST(its_last_release_brings_the_memory_back)
{
  begin(false);
  for (int i = 0; i < 20; i++) {
    cl_mem mem = created(BYTES, 0);
    clpt_cl_ok(clRetainMemObject(mem));
    clpt_cl_ok(clReleaseMemObject(mem));
    clpt_cl_ok(clFinish(cl.queue));
    ck_assert_uint_eq(clpt_stats(pool).active_bytes, BYTES);
    clpt_cl_ok(clReleaseMemObject(mem));
    await_active_blocks(0);
  }
  const clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.held_blocks, stats.device_allocations);
  if (clpt_cl_is_pocl(&cl)) /* elsewhere, a thread of the driver's keeps some at hand for a while */
    ck_assert_uint_eq(stats.device_allocations, 1);
  end();
}
END_TEST

/* Queued on the home stream: the release need not wait for it, nor need who gets the block next. */
START_TEST(released_while_in_use_at_home)
{
  begin(_i);
  cl_event stop = clpt_cl_stop(&cl, cl.queue);
  cl_mem first = created(BYTES, 0);
  clpt_cl_fill(cl.queue, first, 1, WORDS);
  clpt_cl_ok(clReleaseMemObject(first));
  cl_mem second = created(BYTES, 0);
  clpt_cl_fill(cl.queue, second, 2, WORDS);
  clpt_cl_go(stop);
  clpt_cl_assert_filled(cl.queue, second, 2, WORDS);
  clpt_cl_ok(clReleaseMemObject(second));
  await_active_blocks(0);
  end();
}
END_TEST

START_TEST(it_outlives_pool_and_allocator)
{
  begin(_i);
  cl_mem mem = created(BYTES, 0);
  end();
  clpt_cl_write_words(cl.queue, words_kernel(), mem, 1000, WORDS);
  clpt_cl_assert_words(cl.queue, mem, 1000, WORDS);
  clpt_cl_ok(clReleaseMemObject(mem)); /* nothing is left then */
}
END_TEST

static atomic_int errors;

static void count_error(clp_log_level level, const char *message, void *user_data)
{
  (void)user_data;
  if (level == CLP_LOG_ERROR && strstr(message, "clReleaseMemObject"))
    atomic_fetch_add(&errors, 1);
}

/* The pool holds no more, so the end of the cl_mem frees a buffer; there is nobody else to tell. */
START_TEST(what_does_not_go_back_is_logged)
{
  begin(false);
  cl_mem mem = created(BYTES, 0);
  atomic_store(&errors, 0);
  clp_set_log(count_error, NULL);
  clpt_ok(clp_pool_stop_holding(pool));
  clpt_cl_fail(CLPT_clReleaseMemObject, 1, (unsigned long)_i, CL_OUT_OF_RESOURCES);
  clpt_cl_ok(clReleaseMemObject(mem));
  await_active_blocks(0);
  while (atomic_load(&errors) < _i)
    sched_yield();
  clp_set_log(NULL, NULL);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, (size_t)_i);
  end();
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
    {CLPT_clCreateSubBuffer, CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_DEVICE_MEMORY,
     "clCreateSubBuffer for 1000 bytes"},
    {CLPT_clCreateSubBuffer, CL_INVALID_CONTEXT, CLP_BACKEND_ERROR,
     "clCreateSubBuffer for 1000 bytes"},
    {CLPT_clCreateSubBuffer, CLPT_CL_SILENT, CLP_BACKEND_ERROR, "clCreateSubBuffer for 1000 bytes"},
    {CLPT_clCreateSubBuffer, CL_INVALID_VALUE, CLP_INVALID_ARGUMENT, "the flags 0x2 do not go"},
    {CLPT_clCreateSubBuffer, CL_MISALIGNED_SUB_BUFFER_OFFSET, CLP_INVALID_ARGUMENT, "not aligned"},
    {CLPT_clSetMemObjectDestructorCallback, CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_HOST_MEMORY,
     "clSetMemObjectDestructorCallback"},
};
enum { CL_MEM_FAILURES = sizeof(cl_mem_failures) / sizeof(cl_mem_failures[0]) };

START_TEST(each_call_for_a_cl_mem_fails)
{
  cl_mem mem = (cl_mem)&cl;
  begin(false);
  clpt_cl_fail(cl_mem_failures[_i].call, 0, CLPT_CL_ALL, cl_mem_failures[_i].code);
  clpt_fails(cl_mem_failures[_i].status,
             clp_pool_create_cl_mem(pool, BYTES, CL_MEM_WRITE_ONLY, &mem));
  clpt_message_has(cl_mem_failures[_i].message);
  ck_assert_ptr_null(mem);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clpt_cl_reset();
  clpt_cl_ok(clReleaseMemObject(created(BYTES, 0)));
  await_active_blocks(0);
  end();
}
END_TEST

/* --- sub-buffers of buffers --- */

START_TEST(a_sub_buffer_is_that_part)
{
  enum { ALL = 4096, PART_WORDS = 128 };
  const size_t from = 2 * base_alignment() / sizeof(cl_uint);
  static cl_uint found[ALL];
  cl_mem part = NULL;
  begin(_i);
  clp_buffer *neighbour = clpt_allocate(pool, BYTES); /* so that the next is not at offset 0 */
  clp_buffer *buffer = clpt_allocate(pool, sizeof(found));
  clpt_order_fill(cl.queue, buffer, 1);
  clpt_ok(clp_buffer_create_sub_buffer(buffer, CL_MEM_READ_ONLY, from * sizeof(cl_uint),
                                       PART_WORDS * sizeof(cl_uint), &part));
  ck_assert_uint_eq(mem_size(part, CL_MEM_SIZE), PART_WORDS * sizeof(cl_uint));
  ck_assert_uint_eq(mem_size(part, CL_MEM_FLAGS) & CL_MEM_READ_ONLY, CL_MEM_READ_ONLY);
  ck_assert_uint_eq(mem_size(clp_buffer_cl_mem(buffer), CL_MEM_OFFSET) % base_alignment(), 0);
  clpt_cl_fill(cl.queue, part, 2, PART_WORDS);
  clpt_cl_ok(clEnqueueReadBuffer(cl.queue, clp_buffer_cl_mem(buffer), CL_TRUE, 0, sizeof(found),
                                 found, 0, NULL, NULL));
  for (size_t i = 0; i < ALL; i++)
    ck_assert_uint_eq(found[i], i >= from && i < from + PART_WORDS ? 2 : 1);
  clpt_cl_ok(clReleaseMemObject(part));
  if (clpt_cl_is_pocl(&cl)) { /* NVIDIA's driver takes any origin */
    clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_create_sub_buffer(buffer, 0, 4, 100, &part));
    clpt_message_has("aligned");
    ck_assert_int_eq(clp_last_error()->native_code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    ck_assert_ptr_null(part);
  }
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(neighbour));
  end();
}
END_TEST

/* --- who keeps whom alive --- */

enum { POOL, ALLOCATOR, CONTEXT, QUEUE, BUFFERS, PARTS, ORDERS = 120 };

/* The permutation of `number`, in the factorial number system. */
static void order_of(int number, int order[PARTS])
{
  int left[PARTS] = {POOL, ALLOCATOR, CONTEXT, QUEUE, BUFFERS};
  for (int i = 0; i < PARTS; i++) {
    int choice = number % (PARTS - i);
    number /= PARTS - i;
    order[i] = left[choice];
    for (int j = choice; j < PARTS - i - 1; j++)
      left[j] = left[j + 1];
  }
}

/* Two buffers are active and in use, one block is held. They are released in every order, and work
 * to their end. */
START_TEST(released_in_any_order)
{
  clpt_cl own;
  int order[PARTS];
  clp_buffer *buffers[3];
  const clpt_order_kind kind = clpt_order_has(&cl, CLPT_SVM) ? kind_of(_i) : CLPT_BUFFERS;
  const bool has_home = _i / 2 % 2;
  order_of(_i * 7 % ORDERS, order);
  clpt_cl_open(&own, 1);
  cl_command_queue queue = own.queue;
  clpt_cl_ok(clRetainCommandQueue(queue)); /* for the work */
  clp_allocator *made = clpt_order_allocator(&own, kind, has_home ? queue : NULL);
  clp_pool *of = clpt_pool(made);
  for (int i = 0; i < 3; i++)
    buffers[i] = clpt_allocate(of, BYTES);
  clpt_ok(clp_buffer_release(buffers[2]));
  for (int i = 0; i < PARTS; i++) {
    if (order[i] == POOL)
      clp_pool_release(of);
    else if (order[i] == ALLOCATOR)
      clp_allocator_release(made);
    else if (order[i] == CONTEXT)
      clpt_cl_ok(clReleaseContext(own.context));
    else if (order[i] == QUEUE)
      clpt_cl_ok(clReleaseCommandQueue(queue));
    for (int j = 0; j < 2 && order[i] == BUFFERS; j++) {
      clpt_order_fill(queue, buffers[j], 7);
      clpt_order_assert_filled(queue, buffers[j], 7);
      clpt_ok(clp_buffer_release(buffers[j]));
    }
  }
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

/* --- the line profile --- */

static void take(int how)
{
  clp_buffer *buffer = NULL;
  if (how == 0)
    clpt_ok(clp_pool_allocate(pool, BYTES, &buffer));
  else if (how == 1)
    clpt_ok(clp_pool_allocate_on(pool, BYTES, cl.queue, &buffer));
  else
    clpt_cl_ok(clReleaseMemObject(created(BYTES, 0)));
  clpt_ok(clp_buffer_release(buffer));
}

static void take_each(uint32_t *depths, const clp_line_profile *profile)
{
  for (volatile int i = 0; i < 2; i++) {
    take(i);
    depths[i] = profile->stacks.nodes[profile->stacks.count - 1].depth;
  }
}

/* Each is at the program's line, whichever of the library's calls it comes from. */
START_TEST(no_frame_is_the_librarys)
{
  clp_line_profile *profile;
  uint32_t depths[2];
  begin(false);
  clpt_ok(clp_line_profile_create(0, &profile));
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  take_each(depths, profile);
  ck_assert_uint_eq(depths[0], depths[1]);
  take(2); /* within created(): one frame more than take(), and one less without take_each() */
  ck_assert_uint_eq(profile->stacks.nodes[profile->stacks.count - 1].depth, depths[0]);
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  clp_line_profile_destroy(profile);
  end();
}
END_TEST

CLPT_MAIN("OpenCL's pools", clpt_cl_run)
{
  const struct {
    const char *name;
    const TTest *test;
    int from, to;
  } tests[] = {
      {"accessors", accessors, CLP_MEMORY_UNSTATED, CLP_MEMORY_CUDA + 1},
      {"memory", a_hit_is_the_same_memory, 0, PLAIN},
      {"memory", each_block_keeps_what_was_written_to_it, 0, VARIANTS},
      {"memory", the_host_sees_shared_virtual_memory, 0, 2},
      {"memory", the_largest_block, 0, PLAIN},
      {"memory", a_limit_in_one_block, 0, VARIANTS},
      {"running out", held_blocks_go_largest_first, 0, PLAIN},
      {"running out", the_home_queue_is_waited_for_last, CLPT_ORDER_KINDS, PLAIN},
      {"running out", out_of_memory_for_good, 0, PLAIN},
      {"running out", out_of_memory_stays_in_its_context, 0, 1},
      {"running out", frees_of_another_allocator_are_waited_for, 0, 4},
      {"cl_mem", a_cl_mem_like_any_other, 0, 2},
      {"cl_mem", its_last_release_brings_the_memory_back, 0, 1},
      {"cl_mem", released_while_in_use_at_home, 0, 2},
      {"cl_mem", it_outlives_pool_and_allocator, 0, 2},
      {"cl_mem", what_does_not_go_back_is_logged, 0, 2},
      {"cl_mem", each_call_for_a_cl_mem_fails, 0, CL_MEM_FAILURES},
      {"sub-buffers", a_sub_buffer_is_that_part, 0, 2},
      {"lifetime", released_in_any_order, 0, clpt_is_on_valgrind() ? ORDERS / 7 : ORDERS},
      {"line profile", no_frame_is_the_librarys, 0, 1},
  };
  TCase *into = NULL;
  for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
    if (i == 0 || strcmp(tests[i].name, tests[i - 1].name) != 0) {
      into = clpt_case(suite, tests[i].name);
      tcase_add_unchecked_fixture(into, open_all, close_all);
      tcase_add_checked_fixture(into, setup, teardown);
    }
    tcase_add_loop_test(into, tests[i].test, tests[i].from, tests[i].to);
  }
}
