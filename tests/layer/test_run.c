/* SPDX-License-Identifier: MIT */
/* The layer that pools, on a driver that does as it is told. */
#include "opencl/loader.h"
#include "support/suite.h"
#include "told_driver.h"

#include <clpool/opencl.h>
#include <dlfcn.h>
#include <stdio.h>

/* --- the program --- */

static const cl_icd_dispatch *cl;
static cl_command_queue queues[2];

static void begin(void)
{
  const char *top = getenv("top_builddir");
  char path[4096];
  cl_uint count;
  snprintf(path, sizeof(path), "%s/.libs/libclpool-layer.so", top ? top : ".");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  pfn_clInitLayer init;
  *(void **)&init = dlsym(library, "clInitLayer");
  ck_assert_int_eq(init(sizeof(target) / sizeof(void *), &target, &count, &cl), CL_SUCCESS);
  ck_assert_ptr_eq(cl->clCreateContext(NULL, 1, &device, NULL, NULL, NULL), context);
  for (int i = 0; i < 2; i++)
    queues[i] = cl->clCreateCommandQueue(context, device, 0, NULL);
}

static cl_mem make(size_t bytes)
{
  cl_int code = -1;
  cl_mem made = cl->clCreateBuffer(context, 0, bytes, NULL, &code);
  ck_assert(made && !code);
  return made;
}

static cl_int fill(cl_command_queue on, cl_mem buffer)
{
  const char zero = 0;
  return cl->clEnqueueFillBuffer(on, buffer, &zero, 1, 0, 1, 0, NULL, NULL);
}

static void release(cl_mem buffer)
{
  ck_assert_int_eq(cl->clReleaseMemObject(buffer), CL_SUCCESS);
}

static void end_buffers(cl_mem *buffers, size_t count)
{
  for (size_t i = 0; i < count; i++)
    release(buffers[i]);
}

static void use(cl_command_queue on, size_t bytes)
{
  cl_mem buffer = make(bytes);
  ck_assert_int_eq(fill(on, buffer), CL_SUCCESS);
  release(buffer);
}

static void end_queues(void)
{
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(cl->clReleaseCommandQueue(queues[i]), CL_SUCCESS);
}

static void end_context(void)
{
  ck_assert_int_eq(cl->clReleaseContext(context), CL_SUCCESS);
}

/* --- memory that runs out at an enqueue --- */

enum { BLOCK = 1 << 20, LARGE = 2 * BLOCK - 1 }; /* which is all that the device has */

static void fill_the_device(unsigned on)
{
  cl_mem buffers[2];
  driver.capacity = LARGE;
  for (unsigned i = 0; i < 2; i++) {
    buffers[i] = make(BLOCK / 2 + 1);
    ck_assert_int_eq(fill(queues[i % on], buffers[i]), CL_SUCCESS);
  }
  release(buffers[0]);
  release(buffers[1]);
}

START_TEST(held_memory_is_given_back_and_waited_for)
{
  const unsigned on = (unsigned)_i; /* queues */
  begin();
  fill_the_device(on);
  cl_mem large = make(LARGE);
  ck_assert_int_eq(fill(queues[0], large), CL_SUCCESS);
  ck_assert_uint_eq(bytes_in_use(), LARGE);
  release(large);
}
END_TEST

/* The work waits for the program, which is here: it hears of it. */
START_TEST(work_that_waits_for_the_program_is_not_waited_for_long)
{
  begin();
  driver.queues[0].is_stuck = true;
  fill_the_device(2);
  cl_mem large = make(LARGE);
  ck_assert_int_eq(fill(queues[1], large), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  release(large);
}
END_TEST

START_TEST(only_what_may_be_lack_of_memory_is_tried_again_and_once)
{
  static const struct {
    cl_int code;
    unsigned fills;
  } refusals[] = {{CL_INVALID_VALUE, 1},
                  {CL_OUT_OF_RESOURCES, 2},
                  {CL_OUT_OF_HOST_MEMORY, 2},
                  {CL_MEM_OBJECT_ALLOCATION_FAILURE, 2}};
  begin();
  use(queues[0], BLOCK);
  cl_mem buffer = make(10);
  driver.fill_code = refusals[_i].code;
  driver.fills = 0;
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code);
  ck_assert_uint_eq(driver.fills, refusals[_i].fills);
  ck_assert_int_eq(fill(queues[0], buffer), refusals[_i].code); /* nothing is held any more */
  ck_assert_uint_eq(driver.fills, refusals[_i].fills + 1);
  release(buffer);
}
END_TEST

/* Another thread lacks memory, too, and has pools give back what they hold before this one comes to
 * it. */
static void *use_half(void *unused)
{
  (void)unused;
  ck_assert_int_eq(fill(queues[0], make(BLOCK - 1)), CL_SUCCESS);
  return NULL;
}

START_TEST(what_another_thread_had_given_back_counts)
{
  begin();
  fill_the_device(1);
  cl_mem buffer = make(BLOCK - 1);
  driver.beside_lack = use_half;
  ck_assert_int_eq(fill(queues[0], buffer), CL_SUCCESS);
}
END_TEST

/* Another thread takes what was given back, and releases it. */
static void *use_most(void *unused)
{
  (void)unused;
  use(queues[0], BLOCK);
  return NULL;
}

static void *use_most_next(void *unused)
{
  (void)unused;
  driver.beside_fill = use_most;
  return NULL;
}

START_TEST(what_another_thread_holds_meanwhile_is_given_back)
{
  begin();
  fill_the_device(1);
  cl_mem buffer = make(LARGE);
  driver.beside_lack = use_most_next;
  ck_assert_int_eq(fill(queues[0], buffer), CL_SUCCESS);
}
END_TEST

/* Nor does a call go on for ever where others hold memory again each time. */
static void *hold_and_again(void *unused)
{
  (void)unused;
  driver.fill_code = CL_SUCCESS;
  use(queues[0], 1000);
  driver.fill_code = CL_OUT_OF_RESOURCES;
  driver.beside_fill = hold_and_again;
  return NULL;
}

START_TEST(a_call_is_not_made_again_for_ever)
{
  begin();
  cl_mem buffer = make(10);
  driver.beside_fill = hold_and_again;
  ck_assert_int_eq(fill(queues[0], buffer), CL_OUT_OF_RESOURCES);
}
END_TEST

/* --- several queues --- */

/* Queues that are always 16 commands behind the host. */
START_TEST(queues_that_lag_need_few_blocks)
{
  enum { BUFFERS = 2000, LAG = 16, FEW = 80 };
  begin();
  for (int i = 0; i < BUFFERS; i++) {
    use(queues[i % 2], 1000);
    for (int q = 0; q < 2; q++) {
      queue *it = &driver.queues[q];
      it->is_stuck = true; /* goes on here alone */
      it->done = it->given > LAG ? it->given - LAG : 0;
    }
  }
  ck_assert_uint_le(driver.mem_count, FEW);
}
END_TEST

/* However far the one queue is, the other one is still at work on the buffer. */
START_TEST(a_buffer_of_two_queues_goes_on_when_both_are_done)
{
  const uint64_t ever = (uint64_t)1 << 32;
  begin();
  for (int i = 0; i < 2; i++) {
    use(queues[i], 10);
    driver.queues[i].is_stuck = true;
  }
  cl_mem buffer = make(1000);
  ck_assert_int_eq(fill(queues[0], buffer), CL_SUCCESS);
  ck_assert_int_eq(fill(queues[1], buffer), CL_SUCCESS);
  release(buffer);
  driver.queues[1 - _i].done = ever;
  ck_assert_ptr_ne(make(1000), buffer);
  driver.queues[_i].done = ever;
  ck_assert_ptr_eq(make(1000), buffer);
}
END_TEST

/* What the only queue was given before counts also when there is more than it to wait for. */
START_TEST(a_buffer_of_the_only_queue_waits_for_it_beside_a_user_event)
{
  begin();
  driver.queues[0].is_stuck = true;
  cl_mem buffer = make(1000);
  ck_assert_int_eq(fill(queues[0], buffer), CL_SUCCESS);
  ck_assert_ptr_nonnull(cl->clCreateUserEvent(context, NULL));
  release(buffer);
  ck_assert_ptr_ne(make(1000), buffer);
}
END_TEST

/* The work may be given from within a callback of the driver's, which the mark of the first queue
 * may be behind: so the host does not wait. */
START_TEST(a_queue_out_of_order_waits_by_its_events)
{
  const char zero = 0;
  cl_event own;
  begin();
  driver.queues[0].is_stuck = true;
  use(queues[0], 1000);
  cl_command_queue late =
      cl->clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
  cl_mem buffer = make(10);
  ck_assert_int_eq(fill(late, buffer), CL_SUCCESS);
  ck_assert_uint_eq(driver.waits, 1);
  ck_assert_int_eq(cl->clEnqueueMarkerWithWaitList(late, 0, NULL, &own), CL_SUCCESS);
  ck_assert_int_eq(cl->clEnqueueFillBuffer(late, buffer, &zero, 1, 0, 1, 1, &own, NULL), 0);
  ck_assert_uint_eq(driver.waits, 2);
  ck_assert_int_eq(cl->clEnqueueFillBuffer(late, buffer, &zero, 1, 0, 1, 0, &own, NULL),
                   CL_INVALID_EVENT_WAIT_LIST); /* though the layer has one to add */
  ck_assert_int_eq(cl->clEnqueueFillBuffer(late, buffer, &zero, 1, 0, 1, 1, NULL, NULL),
                   CL_INVALID_EVENT_WAIT_LIST);
  driver.queues[0].done = driver.queues[0].given;
  ck_assert_int_eq(fill(late, buffer), CL_SUCCESS);
  ck_assert_uint_eq(driver.waits, 0);
  release(buffer);
}
END_TEST

START_TEST(work_that_has_failed_is_done)
{
  begin();
  use(queues[0], 1000);
  driver.queues[0].has_failed = driver.queues[0].is_stuck = true;
  cl_command_queue late =
      cl->clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);
  use(late, 1000);
  ck_assert_uint_eq(driver.waits, 0);
  use(queues[1], 1000);
  driver.queues[1].has_failed = driver.queues[1].is_stuck = true;
  end_queues();
  ck_assert_int_eq(cl->clReleaseCommandQueue(late), CL_SUCCESS);
  end_context();
  ck_assert_int_eq(driver.queues[1].references, 0);
}
END_TEST

/* --- large buffers --- */

static size_t bytes_of_blocks(void)
{
  size_t bytes = 0;
  for (size_t i = 0; i < driver.mem_count; i++)
    bytes += driver.mems[i].references > 0 ? driver.mems[i].bytes : 0;
  return bytes;
}

START_TEST(large_blocks_are_hardly_larger_than_asked_for)
{
  begin();
  for (size_t bytes = 1 << 20; bytes < (size_t)1 << 26; bytes += bytes / 7 + 1) {
    cl_mem buffer = make(bytes);
    const size_t block = ((const mem *)buffer)->bytes;
    ck_assert_uint_ge(block, bytes);
    ck_assert_uint_lt(block - bytes, bytes / 64 + 1);
    release(buffer);
  }
}
END_TEST

START_TEST(blocks_are_found_again)
{
  begin();
  for (size_t i = 0; i < 100; i++)
    use(queues[0], (i % 3 + 1) << 22);
  ck_assert_uint_eq(driver.mem_count, 3);
}
END_TEST

/* --- images --- */

static const cl_image_format floats = {CL_R, CL_FLOAT}, halves = {CL_R, CL_HALF_FLOAT};

static cl_mem make_image(cl_mem_flags flags, const cl_image_format *format, size_t width,
                         size_t height)
{
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
  cl_int code = -1;
  cl_mem made = cl->clCreateImage(context, flags, format, &desc, NULL, &code);
  ck_assert(made && !code);
  return made;
}

START_TEST(images_come_again_where_all_is_equal)
{
  static const struct {
    cl_mem_flags flags;
    const cl_image_format *format;
    size_t width, height;
    bool is_equal;
  } others[] = {{CL_MEM_READ_ONLY, &floats, 64, 32, true},
                {CL_MEM_READ_WRITE, &floats, 64, 32, false},
                {CL_MEM_READ_ONLY, &halves, 64, 32, false},
                {CL_MEM_READ_ONLY, &floats, 63, 32, false},
                {CL_MEM_READ_ONLY, &floats, 64, 33, false}};
  begin();
  cl_mem image = make_image(CL_MEM_READ_ONLY, &floats, 64, 32);
  release(image);
  cl_mem other =
      make_image(others[_i].flags, others[_i].format, others[_i].width, others[_i].height);
  ck_assert_int_eq(other == image, others[_i].is_equal);
  release(other);
}
END_TEST

/* Of each type, only what counts for it is compared. */
START_TEST(images_of_each_type_come_again)
{
  static const struct {
    cl_mem_object_type type;
    bool has_height, has_depth, has_layers;
  } types[] = {{CL_MEM_OBJECT_IMAGE1D, false, false, false},
               {CL_MEM_OBJECT_IMAGE2D, true, false, false},
               {CL_MEM_OBJECT_IMAGE3D, true, true, false},
               {CL_MEM_OBJECT_IMAGE1D_ARRAY, false, false, true},
               {CL_MEM_OBJECT_IMAGE2D_ARRAY, true, false, true}};
  const bool differ[] = {false, types[_i].has_height, types[_i].has_depth, types[_i].has_layers};
  begin();
  for (size_t i = 0; i < 4; i++) {
    cl_image_desc desc = {types[_i].type, 8, 8, 8, 8, 0, 0, 0, 0, {NULL}};
    cl_mem first = cl->clCreateImage(context, 0, &floats, &desc, NULL, NULL);
    release(first);
    desc.image_height += i == 1;
    desc.image_depth += i == 2;
    desc.image_array_size += i == 3;
    cl_mem second = cl->clCreateImage(context, 0, &floats, &desc, NULL, NULL);
    ck_assert_int_eq(second != first, differ[i]);
    release(second);
  }
}
END_TEST

/* With many kinds, several held blocks go at once: what is in use stays, and what is held is within
 * the bound. */
START_TEST(extents_without_end_are_the_drivers_from_some_number_on)
{
  enum { EXTENTS = 9000 };
  begin();
  cl_mem kept = make_image(0, &floats, 1, 1);
  for (size_t i = 2; i <= EXTENTS; i++)
    release(make_image(0, &floats, i, 8));
  ck_assert_uint_le(bytes_of_blocks(), 8 * EXTENTS / 4 * 5 + (16 << 20));
  ck_assert_int_eq(((mem *)kept)->references, 1);
  cl_mem last = make_image(0, &floats, EXTENTS, 8);
  release(last);
  ck_assert_int_eq(((mem *)last)->references, 0);
  release(kept);
  ck_assert_ptr_eq(make_image(0, &floats, 1, 1), kept);
}
END_TEST

START_TEST(images_of_other_kinds_are_the_drivers)
{
  const cl_image_desc descs[] = {
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_row_pitch = 64},
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .num_mip_levels = 2},
      {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .num_samples = 2}};
  begin();
  cl_mem image = cl->clCreateImage(context, 0, &floats, &descs[_i], NULL, NULL);
  release(image);
  ck_assert_int_eq(((mem *)image)->references, 0);
}
END_TEST

START_TEST(buffers_with_properties_are_the_drivers)
{
  const cl_mem_properties none[] = {0x4242, 1, 0};
  begin();
  cl_mem buffer = cl->clCreateBufferWithProperties(context, none, 0, 1000, NULL, NULL);
  release(buffer);
  ck_assert_int_eq(((mem *)buffer)->references, 0);
}
END_TEST

/* --- bounds --- */

enum { MIB = 1 << 20, PHASES = 24, MOST_LIVE = 256 };

/* Objects of one phase have one size, and each phase has another. Buffers have two kinds of flags,
 * and some objects are images. */
static cl_mem make_of_phase(size_t phase, size_t i)
{
  const size_t bytes = (MIB >> (phase % 3)) - 10000 * phase;
  return i % 3 == 2 ? make_image(0, &floats, bytes / 64, 64)
                    : cl->clCreateBuffer(context, i % 3 ? CL_MEM_READ_ONLY : 0, bytes, NULL, NULL);
}

/* The most that all blocks take, in phases of 20 MiB. */
static size_t most_in_phases(void)
{
  cl_mem live[MOST_LIVE];
  size_t most = 0;
  for (size_t phase = 0; phase < PHASES; phase++) {
    size_t count = (20u << (phase % 3)) - 1;
    for (size_t i = 0; i < count; i++) {
      live[i] = make_of_phase(phase, i);
      ck_assert(live[i] != NULL);
      size_t bytes = bytes_of_blocks();
      most = bytes > most ? bytes : most;
    }
    end_buffers(live, count);
  }
  return most;
}

START_TEST(all_blocks_of_a_context_are_bounded)
{
  begin();
  size_t most = most_in_phases();
  ck_assert_uint_gt(most, 30 * MIB);
  ck_assert_uint_le(most, 20 * MIB + 20 * MIB / 4 + 16 * MIB + MIB);
}
END_TEST

/* Each is larger than all before: what is held goes before it is made. */
START_TEST(a_large_block_does_not_pass_the_bound)
{
  begin();
  for (size_t mib = 64; mib < 200; mib++) {
    release(make(mib * MIB));
    ck_assert_uint_le(bytes_of_blocks(), mib * MIB / 4 * 5 + 16 * MIB);
    cl_mem made = make(mib * MIB + 1);
    ck_assert_uint_le(bytes_of_blocks(), mib * MIB / 4 * 5 + 17 * MIB);
    release(made);
  }
}
END_TEST

START_TEST(a_part_of_the_device_bounds_what_is_held)
{
  begin();
  for (size_t i = 0; i < 20; i++)
    use(queues[0], ((size_t)1 << 30) + i * 20 * MIB);
  ck_assert_uint_le(bytes_of_blocks(),
                    (((size_t)1 << 30) + 20 * 20 * MIB) / 64 * 65 + DEVICE_BYTES / 32);
}
END_TEST

START_TEST(a_limit_bounds_all)
{
  ck_assert_int_eq(setenv("CLPOOL_LAYER_LIMIT", "22M", 1), 0);
  begin();
  ck_assert_uint_le(most_in_phases(), 22 * MIB);
  cl_int code = 0;
  for (int i = 0; i < 4; i++) { /* what the driver refuses is not taken */
    driver.refusals = 2;
    driver.refusal_code = CL_INVALID_VALUE;
    ck_assert_ptr_null(cl->clCreateBuffer(context, 0, 7 * MIB, NULL, &code));
  }
  driver.refusals = 0;
  cl_mem first = make(15 * MIB);
  ck_assert_ptr_null(cl->clCreateBuffer(context, 0, 10 * MIB, NULL, &code));
  ck_assert_int_eq(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  release(first);
  release(make(22 * MIB)); /* its bin's size is more */
}
END_TEST

START_TEST(what_is_held_has_its_own_bound)
{
  ck_assert_int_eq(setenv("CLPOOL_LAYER_HOLD", "3M", 1), 0);
  begin();
  cl_mem live[10];
  for (size_t i = 0; i < 10; i++)
    live[i] = make(MIB - 1000);
  end_buffers(live, 10);
  ck_assert_uint_le(bytes_of_blocks(), 3 * MIB);
  ck_assert_uint_gt(bytes_of_blocks(), 2 * MIB);
}
END_TEST

/* --- ends --- */

START_TEST(nothing_stays_in_whatever_order_things_end)
{
  enum { BUFFERS = 20 };
  cl_mem buffers[BUFFERS];
  begin();
  for (size_t i = 0; i < BUFFERS; i++) {
    buffers[i] = make(1000 * (i + 1));
    if (_i & 8)
      ck_assert_int_eq(fill(queues[i % 2], buffers[i]), CL_SUCCESS);
  }
  end_buffers(buffers + BUFFERS / 2, BUFFERS / 2);
  if (_i & 1)
    end_context();
  if (_i & 2)
    end_buffers(buffers, BUFFERS / 2);
  if (_i & 4)
    end_queues();
  if (!(_i & 2))
    end_buffers(buffers, BUFFERS / 2);
  if (!(_i & 4))
    end_queues();
  if (!(_i & 1))
    end_context();
  ck_assert_int_eq(driver.context_references, 0);
  for (size_t i = 0; i < driver.queue_count; i++)
    ck_assert_int_eq(driver.queues[i].references, 0);
  for (size_t i = 0; i < driver.mem_count; i++)
    ck_assert_int_eq(driver.mems[i].references, 0);
  for (size_t i = 0; i < driver.event_count; i++)
    ck_assert_int_eq(driver.events[i].references, 0);
}
END_TEST

/* A program that keeps the queue alone gets the context from it. */
START_TEST(a_queue_keeps_its_context)
{
  cl_context found = NULL;
  begin();
  end_context();
  ck_assert_int_eq(
      cl->clGetCommandQueueInfo(queues[0], CL_QUEUE_CONTEXT, sizeof(found), &found, NULL), 0);
  ck_assert_ptr_eq(found, context);
  ck_assert_int_eq(cl->clRetainContext(found), CL_SUCCESS);
  for (int i = 0; i < 10; i++)
    use(queues[0], 1000);
  ck_assert_uint_eq(driver.mem_count, 1);
  end_context();
  end_queues();
  ck_assert_int_eq(driver.context_references, 0);
}
END_TEST

START_TEST(a_queue_on_the_device_ends)
{
  begin();
  cl_command_queue on_device = cl->clCreateCommandQueue(context, device, CL_QUEUE_ON_DEVICE, NULL);
  ck_assert_int_eq(cl->clReleaseCommandQueue(on_device), CL_SUCCESS);
  end_queues();
  end_context();
  ck_assert_int_eq(driver.context_references, 0);
}
END_TEST

START_TEST(a_queue_ends_once_its_work_is_done)
{
  begin();
  use(queues[0], 10);
  cl_command_queue late = cl->clCreateCommandQueue(context, device, 0, NULL);
  use(late, 1000);
  driver.queues[2].is_stuck = true;
  ck_assert_int_eq(cl->clReleaseCommandQueue(late), CL_SUCCESS);
  use(queues[0], 1000);
  ck_assert_int_gt(driver.queues[2].references, 0);
  driver.queues[2].done = driver.queues[2].given;
  for (int i = 0; i < 3; i++)
    use(queues[0], 1000);
  ck_assert_int_eq(driver.queues[2].references, 0);
}
END_TEST

/* An image over a sub-buffer, of which either goes first. */
START_TEST(parts_have_parts)
{
  const cl_buffer_region region = {0, 1000};
  begin();
  cl_mem whole = make(4096);
  cl_mem part = cl->clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  const cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 1000, .buffer = part};
  cl_mem image = cl->clCreateImage(context, 0, NULL, &desc, NULL, NULL);
  release(_i ? part : image);
  ck_assert_int_gt(((mem *)part)->references, 0);
  ck_assert_ptr_ne(make(4096), whole);
  release(_i ? image : part);
  ck_assert_int_eq(((mem *)part)->references, 0);
  ck_assert_int_eq(((mem *)image)->references, 0);
  release(whole);
  ck_assert_ptr_eq(make(4096), whole);
}
END_TEST

START_TEST(a_buffer_with_a_mapped_part_goes_back)
{
  const cl_buffer_region region = {0, 1000};
  cl_int code;
  begin();
  cl_mem whole = make(4096);
  cl_mem part = cl->clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  ck_assert_ptr_nonnull(
      cl->clEnqueueMapBuffer(queues[0], part, CL_TRUE, CL_MAP_READ, 0, 1000, 0, NULL, NULL, &code));
  release(whole);
  release(part);
  ck_assert_int_eq(((mem *)whole)->references, 0);
}
END_TEST

enum { RELEASERS = 4, BUFFERS_EACH = 50 };

static cl_mem buffers_of_threads[RELEASERS][BUFFERS_EACH];

static void *end_own(void *buffers)
{
  end_buffers(buffers, BUFFERS_EACH);
  return NULL;
}

START_TEST(a_context_ends_while_threads_release_its_buffers)
{
  pthread_t threads[RELEASERS];
  begin();
  for (size_t i = 0; i < (size_t)RELEASERS * BUFFERS_EACH; i++) {
    cl_mem made = make(1000);
    ck_assert_int_eq(fill(queues[0], made), CL_SUCCESS);
    buffers_of_threads[i % RELEASERS][i / RELEASERS] = made;
  }
  for (size_t i = 0; i < RELEASERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, end_own, buffers_of_threads[i]), 0);
  end_context();
  end_queues();
  for (size_t i = 0; i < RELEASERS; i++)
    ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  ck_assert_int_eq(driver.context_references, 0);
  ck_assert_int_eq(driver.queues[0].references, 0);
  ck_assert_uint_eq(bytes_of_blocks(), 0);
}
END_TEST

static void *make_one(void *unused)
{
  (void)unused;
  release(make(1 << 16));
  return NULL;
}

/* As with a lock that the callback takes, and another thread has. */
static void CL_CALLBACK await_another_thread(cl_mem ended, void *unused)
{
  pthread_t other;
  (void)ended, (void)unused;
  ck_assert_int_eq(pthread_create(&other, NULL, make_one, NULL), 0);
  ck_assert_int_eq(pthread_join(other, NULL), 0);
}

START_TEST(a_destructor_callback_waits_for_another_thread)
{
  begin();
  cl_mem buffer = make(1000);
  ck_assert_int_eq(cl->clSetMemObjectDestructorCallback(buffer, await_another_thread, NULL), 0);
  release(buffer);
  ck_assert_int_eq(((mem *)buffer)->references, 0);
}
END_TEST

/* --- a program with pools of its own --- */

typedef void(CL_API_CALL *leave_buffers)(cl_bool leave);

static size_t made_by(size_t count)
{
  size_t before = driver.mem_count;
  for (size_t i = 0; i < count; i++)
    release(make(1000));
  return driver.mem_count - before;
}

static void *make_elsewhere(void *made)
{
  *(size_t *)made = made_by(10);
  return NULL;
}

START_TEST(buffers_of_the_programs_pools_are_left_to_the_driver)
{
  pthread_t other;
  size_t made = 0;
  begin();
  leave_buffers leave = (leave_buffers)cl->clGetExtensionFunctionAddress("clpoolLeaveBuffers");
  ck_assert(leave != NULL);
  leave(CL_TRUE);
  ck_assert_uint_eq(made_by(10), 10);
  ck_assert_int_eq(pthread_create(&other, NULL, make_elsewhere, &made), 0);
  ck_assert_int_eq(pthread_join(other, NULL), 0);
  ck_assert_uint_eq(made, 1);
  leave(CL_FALSE);
  ck_assert_uint_le(made_by(10), 1);
}
END_TEST

START_TEST(a_context_of_several_devices_is_the_drivers)
{
  driver.more_devices = 1;
  begin();
  ck_assert_uint_eq(made_by(10), 10);
}
END_TEST

/* The program's libclpool. */
static void use_pools_above_the_layer(void)
{
  clpi_cl_functions functions;
#define TAKE(name) functions.name = cl->name ? cl->name : target.name;
  CLPI_CL_FUNCTIONS(TAKE)
#undef TAKE
  clpi_cl_use(&functions);
  ck_assert_int_eq(setenv("OPENCL_LAYERS", "ours", 1), 0);
}

/* It has its driver's lock then, and waits itself. */
START_TEST(what_the_programs_pools_lack_is_not_waited_for)
{
  clp_allocator *allocator;
  clp_memory memory;
  begin();
  use_pools_above_the_layer();
  clpt_ok(clp_cl_immediate_allocator_create(queues[0], 0, &allocator));
  driver.queues[0].is_stuck = true;
  fill_the_device(1);
  driver.looks = 0;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, LARGE, &memory));
  ck_assert_uint_eq(driver.looks, 0);
  driver.queues[0].is_stuck = false;
  driver.queues[0].done = driver.queues[0].given;
  clpt_ok(clp_allocator_allocate(allocator, LARGE, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, LARGE));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(an_extension_that_may_give_work_ends_pooling)
{
  static const struct {
    const char *name;
    size_t made;
  } extensions[] = {{"clNobodysEXT", 1}, {"clToldToWork", 10}};
  begin();
  (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, extensions[_i].name);
  ck_assert_uint_eq(made_by(10), extensions[_i].made);
}
END_TEST

static void *end_all(void *unused)
{
  (void)unused;
  end_queues();
  end_context();
  return NULL;
}

START_TEST(a_callback_ends_a_context_that_ends_pooling)
{
  begin();
  use(queues[0], 1000);
  driver.queues[0].is_stuck = true;
  driver.callback = end_all;
  (void)cl->clGetExtensionFunctionAddressForPlatform(NULL, "clToldToWork");
  ck_assert_int_eq(driver.context_references, 0);
  ck_assert_uint_eq(bytes_of_blocks(), 0);
}
END_TEST

CLPT_MAIN("layer that pools", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "run");
  tcase_add_loop_test(tests, held_memory_is_given_back_and_waited_for, 1, 3);
  tcase_add_test(tests, work_that_waits_for_the_program_is_not_waited_for_long);
  tcase_add_loop_test(tests, only_what_may_be_lack_of_memory_is_tried_again_and_once, 0, 4);
  tcase_add_test(tests, what_another_thread_had_given_back_counts);
  tcase_add_test(tests, what_another_thread_holds_meanwhile_is_given_back);
  tcase_add_test(tests, a_call_is_not_made_again_for_ever);
  tcase_add_test(tests, queues_that_lag_need_few_blocks);
  tcase_add_loop_test(tests, a_buffer_of_two_queues_goes_on_when_both_are_done, 0, 2);
  tcase_add_test(tests, a_buffer_of_the_only_queue_waits_for_it_beside_a_user_event);
  tcase_add_test(tests, a_queue_out_of_order_waits_by_its_events);
  tcase_add_test(tests, work_that_has_failed_is_done);
  tcase_add_test(tests, large_blocks_are_hardly_larger_than_asked_for);
  tcase_add_test(tests, blocks_are_found_again);
  tcase_add_loop_test(tests, images_come_again_where_all_is_equal, 0, 5);
  tcase_add_loop_test(tests, images_of_each_type_come_again, 0, 5);
  tcase_add_test(tests, extents_without_end_are_the_drivers_from_some_number_on);
  tcase_add_loop_test(tests, images_of_other_kinds_are_the_drivers, 0, 3);
  tcase_add_test(tests, buffers_with_properties_are_the_drivers);
  tcase_add_test(tests, all_blocks_of_a_context_are_bounded);
  tcase_add_test(tests, a_large_block_does_not_pass_the_bound);
  tcase_add_test(tests, a_part_of_the_device_bounds_what_is_held);
  tcase_add_test(tests, a_limit_bounds_all);
  tcase_add_test(tests, what_is_held_has_its_own_bound);
  tcase_add_loop_test(tests, nothing_stays_in_whatever_order_things_end, 0, 16);
  tcase_add_test(tests, a_queue_keeps_its_context);
  tcase_add_test(tests, a_queue_on_the_device_ends);
  tcase_add_test(tests, a_queue_ends_once_its_work_is_done);
  tcase_add_loop_test(tests, parts_have_parts, 0, 2);
  tcase_add_test(tests, a_buffer_with_a_mapped_part_goes_back);
  tcase_add_loop_test(tests, a_context_ends_while_threads_release_its_buffers, 0, 50);
  tcase_add_test(tests, a_destructor_callback_waits_for_another_thread);
  tcase_add_test(tests, buffers_of_the_programs_pools_are_left_to_the_driver);
  tcase_add_test(tests, a_context_of_several_devices_is_the_drivers);
  tcase_add_test(tests, what_the_programs_pools_lack_is_not_waited_for);
  tcase_add_loop_test(tests, an_extension_that_may_give_work_ends_pooling, 0, 2);
  tcase_add_test(tests, a_callback_ends_a_context_that_ends_pooling);
}
