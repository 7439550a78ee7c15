/* SPDX-License-Identifier: MIT */
/* The metering allocator: counts what passes, and passes everything on. */
#include "core/allocator/allocator.h"
#include "support/failing_allocator.h"
#include "support/host_failures.h"
#include "support/suite.h"
#include "trace/metering_allocator.h"

static clp_allocator *meter_of(clp_allocator *metered)
{
  clp_allocator *metering = NULL;
  clpt_ok(trace_metering_allocator_create(metered, &metering));
  clp_allocator_release(metered);
  return metering;
}

START_TEST(counts_what_succeeds)
{
  clpt_device device;
  clp_memory first, second, third;
  clpt_device_init(&device);
  device.capacity = 1000;
  clp_allocator *metering = meter_of(clpt_device_allocator(&device));

  clpt_ok(clp_allocator_allocate(metering, 300, &first));
  clpt_ok(clp_allocator_allocate(metering, 500, &second));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(metering, 201, &third));
  trace_meter meter = *trace_meter_of(metering);
  ck_assert_uint_eq(meter.allocations, 2);
  ck_assert_uint_eq(meter.frees, 0);
  ck_assert_uint_eq(meter.taken_bytes, 800);
  ck_assert_uint_eq(meter.peak_bytes, 800);

  device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_free(metering, second, 500));
  ck_assert_uint_eq(trace_meter_of(metering)->taken_bytes, 800);
  clpt_ok(clp_allocator_free(metering, second, 500));
  meter = *trace_meter_of(metering);
  ck_assert_uint_eq(meter.frees, 1);
  ck_assert_uint_eq(meter.taken_bytes, 300);
  ck_assert_uint_eq(meter.peak_bytes, 800);
  clp_allocator_release(metering);
}
END_TEST

START_TEST(zero_bytes_touch_nothing)
{
  clpt_device device;
  clp_memory memory = 1;
  clpt_device_init(&device);
  clp_allocator *metering = meter_of(clpt_device_allocator(&device));
  clpt_ok(clp_allocator_allocate(metering, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(metering, memory, 0));
  ck_assert_uint_eq(trace_meter_of(metering)->allocations, 0);
  ck_assert_uint_eq(trace_meter_of(metering)->frees, 0);
  clp_allocator_release(metering);
  clpt_device_trace_is(&device, "X");
  clpt_device_assert_ended(&device);
}
END_TEST

/* What each optional operation was called with, one after the other. */
static struct {
  void *self;
  uintptr_t arguments[4];
} called;

static clp_status note(void *self, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
  called.self = self;
  called.arguments[0] = a;
  called.arguments[1] = b;
  called.arguments[2] = c;
  called.arguments[3] = d;
  return CLP_BUSY;
}

static clp_status note_drain(void *self)
{
  return note(self, 1, 0, 0, 0);
}

static clp_status note_return_cached(void *self)
{
  return note(self, 2, 0, 0, 0);
}

static clp_status note_split(void *self, clp_memory block, size_t offset, size_t bytes,
                             clp_memory *part)
{
  return note(self, block, offset, bytes, (uintptr_t)part);
}

static clp_status note_unsplit(void *self, clp_memory part, size_t bytes)
{
  return note(self, part, bytes, 0, 0);
}

static clp_status note_stream_retain(void *self, clp_stream stream)
{
  return note(self, (uintptr_t)stream, 3, 0, 0);
}

static void note_stream_release(void *self, clp_stream stream)
{
  (void)note(self, (uintptr_t)stream, 4, 0, 0);
}

static bool note_stream_is_in_order(void *self, clp_stream stream)
{
  return note(self, (uintptr_t)stream, 5, 0, 0) == CLP_SUCCESS;
}

static clp_status note_forget_stream(void *self, clp_stream stream)
{
  return note(self, (uintptr_t)stream, 6, 0, 0);
}

static clp_status note_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  return note(self, memory, bytes, (uintptr_t)stream, 0);
}

static clp_status note_mark_create(void *self, clp_stream stream, void **mark)
{
  return note(self, (uintptr_t)stream, (uintptr_t)mark, 0, 0);
}

static void note_mark_destroy(void *self, void *mark)
{
  (void)note(self, (uintptr_t)mark, 0, 0, 0);
}

static clp_status note_mark_is_done(void *self, void *mark, bool *done)
{
  return note(self, (uintptr_t)mark, (uintptr_t)done, 0, 0);
}

static clp_status note_stream_wait(void *self, clp_stream stream, void *mark)
{
  return note(self, (uintptr_t)stream, (uintptr_t)mark, 0, 0);
}

static clp_status note_host_wait(void *self, void *mark)
{
  return note(self, (uintptr_t)mark, 0, 0, 0);
}

static void assert_noted(const void *self, clp_status status, uintptr_t a, uintptr_t b, uintptr_t c,
                         uintptr_t d)
{
  ck_assert_int_eq(status, CLP_BUSY);
  ck_assert_ptr_eq(called.self, self);
  ck_assert_uint_eq(called.arguments[0], a);
  ck_assert_uint_eq(called.arguments[1], b);
  ck_assert_uint_eq(called.arguments[2], c);
  ck_assert_uint_eq(called.arguments[3], d);
}

START_TEST(passes_everything_on)
{
  clpt_device device;
  clpt_device_init(&device);
  device.ops.drain = note_drain;
  device.ops.return_cached = note_return_cached;
  device.ops.split = note_split;
  device.ops.unsplit = note_unsplit;
  device.ops.stream_retain = note_stream_retain;
  device.ops.stream_release = note_stream_release;
  device.ops.stream_is_in_order = note_stream_is_in_order;
  device.ops.forget_stream = note_forget_stream;
  device.ops.free_on = note_free_on;
  device.ops.mark_create = note_mark_create;
  device.ops.mark_destroy = note_mark_destroy;
  device.ops.mark_is_done = note_mark_is_done;
  device.ops.stream_wait = note_stream_wait;
  device.ops.host_wait = note_host_wait;
  clp_allocator *metering = meter_of(clpt_device_allocator(&device));
  const clp_allocator_ops *ops = &metering->ops;
  void *self = metering->self;
  clp_memory part;
  void *mark;
  bool done;

  assert_noted(&device, ops->drain(self), 1, 0, 0, 0);
  assert_noted(&device, ops->return_cached(self), 2, 0, 0, 0);
  assert_noted(&device, ops->split(self, 5, 6, 7, &part), 5, 6, 7, (uintptr_t)&part);
  assert_noted(&device, ops->unsplit(self, 8, 9), 8, 9, 0, 0);
  assert_noted(&device, ops->forget_stream(self, &part), (uintptr_t)&part, 6, 0, 0);
  assert_noted(&device, ops->free_on(self, 10, 11, &part), 10, 11, (uintptr_t)&part, 0);
  /* Streams are ordered by what is metered. */
  ops = &metering->orders->ops;
  self = metering->orders->self;
  assert_noted(&device, ops->stream_retain(self, &part), (uintptr_t)&part, 3, 0, 0);
  ops->stream_release(self, &part);
  assert_noted(&device, CLP_BUSY, (uintptr_t)&part, 4, 0, 0);
  ck_assert(!ops->stream_is_in_order(self, &part));
  assert_noted(&device, CLP_BUSY, (uintptr_t)&part, 5, 0, 0);
  assert_noted(&device, ops->mark_create(self, &part, &mark), (uintptr_t)&part, (uintptr_t)&mark, 0,
               0);
  ops->mark_destroy(self, &part);
  assert_noted(&device, CLP_BUSY, (uintptr_t)&part, 0, 0, 0);
  assert_noted(&device, ops->mark_is_done(self, &part, &done), (uintptr_t)&part, (uintptr_t)&done,
               0, 0);
  assert_noted(&device, ops->stream_wait(self, &part, &done), (uintptr_t)&part, (uintptr_t)&done, 0,
               0);
  assert_noted(&device, ops->host_wait(self, &done), (uintptr_t)&done, 0, 0, 0);
  clp_allocator_release(metering);
}
END_TEST

START_TEST(orders_no_streams_where_what_is_metered_does_not)
{
  clpt_device device;
  clpt_device_init(&device);
  clp_allocator *metering = meter_of(clpt_device_allocator(&device));
  ck_assert(!clpi_allocator_orders_streams(metering));
  clp_allocator_release(metering);
}
END_TEST

START_TEST(has_the_properties)
{
  clpt_device device;
  clpt_device_init(&device);
  device.ops.deferred = true;
  device.ops.device_id = 7;
  device.ops.memory_kind = CLP_MEMORY_CUDA;
  device.ops.alignment = 512;
  device.ops.max_block_bytes = 10000;
  device.ops.device_bytes = 50000;
  device.ops.home_stream = &device;
  clp_allocator *metering = meter_of(clpt_device_allocator(&device));
  clp_memory memory;
  ck_assert_str_eq(clp_allocator_name(metering), "test-device");
  ck_assert(clp_allocator_is_deferred(metering));
  ck_assert_int_eq(metering->ops.device_id, 7);
  ck_assert_int_eq(metering->ops.memory_kind, CLP_MEMORY_CUDA);
  ck_assert_uint_eq(metering->ops.alignment, 512);
  ck_assert_uint_eq(metering->ops.device_bytes, 50000);
  ck_assert_ptr_eq(metering->ops.home_stream, &device);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(metering, 10001, &memory));
  clp_allocator_release(metering);
  clpt_device_assert_ended(&device);
}
END_TEST

/* Made of an allocator that splits and does no more that is optional, it does just that. */
START_TEST(has_no_more_than_the_metered)
{
  clp_allocator *simulated;
  clpt_ok(clp_simulated_allocator_create(0, &simulated));
  clp_allocator *metering = meter_of(simulated);
  clp_memory part;
  clpt_ok(metering->ops.split(metering->self, 512, 256, 256, &part));
  ck_assert_uint_eq(part, 768);
  clpt_ok(metering->ops.unsplit(metering->self, part, 256));
  ck_assert_int_eq(metering->ops.drain(metering->self), CLP_NOT_SUPPORTED);
  clp_allocator_release(metering);
}
END_TEST

START_TEST(without_host_memory)
{
  clpt_device device;
  clpt_device_init(&device);
  clp_allocator *metered = clpt_device_allocator(&device);
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clp_allocator *metering = metered;
    clpt_host_fail_next(&each);
    clp_status status = trace_metering_allocator_create(metered, &metering);
    clpt_host_check(&each, status);
    if (status)
      ck_assert_ptr_null(metering);
    clp_allocator_release(metering);
  }
  ck_assert_uint_gt(each.count, 0);
  clp_allocator_release(metered);
  clpt_device_assert_ended(&device);
}
END_TEST

CLPT_MAIN("metering allocator", clpt_run)
{
  TCase *counts = clpt_case(suite, "counts");
  tcase_add_test(counts, counts_what_succeeds);
  tcase_add_test(counts, zero_bytes_touch_nothing);
  TCase *passing = clpt_case(suite, "passing on");
  tcase_add_test(passing, passes_everything_on);
  tcase_add_test(passing, orders_no_streams_where_what_is_metered_does_not);
  tcase_add_test(passing, has_the_properties);
  tcase_add_test(passing, has_no_more_than_the_metered);
  tcase_add_test(passing, without_host_memory);
}
