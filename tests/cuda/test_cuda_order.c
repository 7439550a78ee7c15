/* SPDX-License-Identifier: MIT */
/* The order of CUDA streams: lib/cuda/stream_order.c, through the operations of an allocator. */
#include "core/allocator/allocator.h"
#include "cuda/stream_order.h"
#include "support/cuda_device.h"
#include "support/suite.h"
#include "support/workers.h"

#include <pthread.h>

enum { BYTES = 4096 };

static clpt_cuda cuda;
static clp_allocator *allocator;
static CUdeviceptr work; /* memory for streams to be busy with */
static CUstream first, second;
static unsigned long failed_creates; /* of events */

static void setup(void)
{
  fakecuda_reset();
  failed_creates = 0;
  clpt_cuda_open(&cuda, 0);
  first = cuda.streams[0];
  second = cuda.streams[1];
  allocator = clpt_cuda_allocator(0, first);
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuMemAlloc(&work, 2 * BYTES));
  clpt_cuda_leave();
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuMemFree(work));
  clpt_cuda_leave();
  clp_allocator_release(allocator);
  ck_assert_uint_eq(fakecuda_calls("cuEventCreate") - failed_creates,
                    fakecuda_calls("cuEventDestroy"));
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

/* The operations, as the core calls them. */

static clp_status retain(clp_stream stream)
{
  return allocator->ops.stream_retain(allocator->self, stream);
}

static void *mark_on(CUstream stream)
{
  void *mark = NULL;
  clpt_ok_quietly(allocator->ops.mark_create(allocator->self, stream, &mark));
  ck_assert_ptr_nonnull(mark);
  return mark;
}

static bool is_done(void *mark)
{
  bool done = false;
  clpt_ok_quietly(allocator->ops.mark_is_done(allocator->self, mark, &done));
  return done;
}

static void make_wait(CUstream stream, void *mark)
{
  clpt_ok_quietly(allocator->ops.stream_wait(allocator->self, stream, mark));
}

static void wait_for(void *mark)
{
  clpt_ok_quietly(allocator->ops.host_wait(allocator->self, mark));
}

static void release(void *mark)
{
  allocator->ops.mark_destroy(allocator->self, mark);
}

/* `stream` sets the bytes of its own part of the memory. */
static void give_work(CUstream stream, unsigned char byte)
{
  clpt_cuda_fill(&cuda, stream, work + (stream == first ? 0 : BYTES), BYTES, byte);
}

static void synchronize(CUstream stream)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamSynchronize(stream));
  clpt_cuda_leave();
}

/* --- which streams --- */

START_TEST(own_streams)
{
  clpt_ok_quietly(retain(first));
  clpt_ok_quietly(retain(second));
  clpt_ok_quietly(retain(CLP_CUDA_STREAM_LEGACY));
  ck_assert(allocator->ops.stream_is_in_order(allocator->self, first));
  allocator->ops.stream_release(allocator->self, first);
  allocator->ops.stream_release(allocator->self, second);
  allocator->ops.stream_release(allocator->self, CLP_CUDA_STREAM_LEGACY);
}
END_TEST

START_TEST(null_is_refused)
{
  clpt_fails(CLP_INVALID_ARGUMENT, retain(NULL));
  clpt_message_has("CLP_CUDA_STREAM_LEGACY");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_INVALID_HANDLE);
}
END_TEST

START_TEST(the_per_thread_stream_is_refused)
{
  clpt_fails(CLP_NOT_SUPPORTED, retain(CLP_CUDA_STREAM_PER_THREAD));
  clpt_message_has("CLP_CUDA_STREAM_PER_THREAD");
}
END_TEST

START_TEST(another_devices_stream_is_refused)
{
  clpt_cuda other;
  clpt_cuda_open(&other, 1);

  clpt_fails(CLP_INVALID_ARGUMENT, retain(other.streams[0]));
  clpt_message_has("of another context or device");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_INVALID_CONTEXT);
  clpt_cuda_close(&other);
}
END_TEST

START_TEST(another_contexts_stream_is_refused)
{
  CUcontext context;
  CUstream stream;
  clpt_cuda_ok(cuCtxCreate(&context, 0, cuda.device));
  clpt_cuda_ok(cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));

  clpt_fails(CLP_INVALID_ARGUMENT, retain(stream));
  clpt_message_has("of another context or device");
  ck_assert_ptr_eq(clpt_cuda_current(), context);
  clpt_cuda_ok(cuStreamDestroy(stream));
  clpt_cuda_ok(cuCtxDestroy(context));
}
END_TEST

START_TEST(a_stream_that_the_driver_refuses)
{
  fakecuda_fail("cuStreamGetCtx", CLPI_CUDA_INVALID_HANDLE, 0, 1);
  clpt_fails(CLP_INVALID_ARGUMENT, retain(first));
  clpt_message_has("cuStreamGetCtx failed with CUDA_ERROR_INVALID_HANDLE (400)");
}
END_TEST

/* --- marks --- */

START_TEST(a_mark_is_done_with_the_work_before_it)
{
  fakecuda_hold(first);
  give_work(first, 1);
  void *mark = mark_on(first);
  ck_assert(!is_done(mark));
  ck_assert(!is_done(mark));
  fakecuda_go_on(first);
  synchronize(first);
  ck_assert(is_done(mark));
  release(mark);
}
END_TEST

/* What is given to the stream later does not count. */
START_TEST(a_mark_stays_where_it_was_made)
{
  give_work(first, 1);
  void *mark = mark_on(first);
  wait_for(mark);
  fakecuda_hold(first);
  give_work(first, 2);
  ck_assert(is_done(mark));
  fakecuda_go_on(first);
  release(mark);
}
END_TEST

START_TEST(another_stream_waits)
{
  fakecuda_hold(first);
  give_work(first, 1);
  void *mark = mark_on(first);
  make_wait(second, mark);
  give_work(second, 2);
  void *behind = mark_on(second);
  ck_assert(!is_done(behind));
  ck_assert_uint_gt(fakecuda_commands_left(second), 0);
  fakecuda_go_on(first);
  wait_for(behind);
  ck_assert(is_done(mark));
  release(mark);
  release(behind);
}
END_TEST

START_TEST(the_legacy_stream_waits_and_is_waited_for)
{
  void *mark = mark_on(first);
  make_wait((CUstream)CLP_CUDA_STREAM_LEGACY, mark);
  void *behind = mark_on((CUstream)CLP_CUDA_STREAM_LEGACY);
  make_wait(second, behind);
  wait_for(behind);
  release(mark);
  release(behind);
}
END_TEST

/* A mark that is let go of is recorded anew, and who waits for the old one is none the wiser. */
START_TEST(events_are_used_again)
{
  fakecuda_hold(first);
  give_work(first, 1);
  void *mark = mark_on(first);
  make_wait(second, mark);
  release(mark);
  void *again = mark_on(second);
  ck_assert_ptr_eq(again, mark);
  ck_assert_uint_eq(fakecuda_calls("cuEventCreate"), 1);
  ck_assert(!is_done(again));
  fakecuda_go_on(first);
  wait_for(again);
  release(again);
}
END_TEST

/* More than are kept. */
START_TEST(many_marks)
{
  enum { MANY = CLPI_CUDA_SPARE_EVENTS + 3 };
  void *marks[MANY];

  for (int i = 0; i < MANY; i++)
    marks[i] = mark_on(first);
  for (int i = 0; i < MANY; i++)
    release(marks[i]);
  ck_assert_uint_eq(fakecuda_calls("cuEventDestroy"), 3);
  for (int i = 0; i < MANY; i++)
    marks[i] = mark_on(first);
  ck_assert_uint_eq(fakecuda_calls("cuEventCreate"), MANY + 3);
  for (int i = 0; i < MANY; i++)
    release(marks[i]);
}
END_TEST

/* An event that cannot be destroyed is no failure of the call that lets go of it. */
START_TEST(letting_go_fails_quietly)
{
  enum { MANY = CLPI_CUDA_SPARE_EVENTS + 1 };
  void *marks[MANY];

  for (int i = 0; i < MANY; i++)
    marks[i] = mark_on(first);
  for (int i = 0; i < MANY - 1; i++)
    release(marks[i]);
  fakecuda_fail("cuCtxGetCurrent", FAKECUDA_UNKNOWN, 0, 1);
  (void)clp_set_last_error(CLP_BUSY, 5, "from before");
  release(marks[MANY - 1]);
  ck_assert_int_eq(clp_last_error()->status, CLP_BUSY);
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuEventDestroy(marks[MANY - 1]));
  clpt_cuda_leave();
}
END_TEST

/* --- failures --- */

static clp_status do_mark(void *mark)
{
  void *made = mark;
  clp_status status = allocator->ops.mark_create(allocator->self, first, &made);
  if (!status)
    release(made);
  return status;
}

static clp_status do_ask(void *mark)
{
  bool done;
  return allocator->ops.mark_is_done(allocator->self, mark, &done);
}

static clp_status do_stream_wait(void *mark)
{
  return allocator->ops.stream_wait(allocator->self, second, mark);
}

static clp_status do_host_wait(void *mark)
{
  return allocator->ops.host_wait(allocator->self, mark);
}

static clp_status do_retain(void *mark)
{
  (void)mark;
  return retain(second);
}

static const struct {
  clp_status (*operation)(void *mark);
  const char *call;
} failing[] = {
    {do_mark, "cuCtxGetCurrent"},        {do_mark, "cuCtxPushCurrent"},
    {do_mark, "cuEventCreate"},          {do_mark, "cuEventRecord"},
    {do_ask, "cuCtxGetCurrent"},         {do_ask, "cuEventQuery"},
    {do_stream_wait, "cuCtxGetCurrent"}, {do_stream_wait, "cuStreamWaitEvent"},
    {do_host_wait, "cuCtxGetCurrent"},   {do_host_wait, "cuEventSynchronize"},
    {do_retain, "cuCtxGetCurrent"},      {do_retain, "cuStreamGetCtx"},
};

START_TEST(a_call_fails)
{
  void *mark = mark_on(first);
  failed_creates = strcmp(failing[_i].call, "cuEventCreate") == 0;
  fakecuda_fail(failing[_i].call, FAKECUDA_ILLEGAL_ADDRESS, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, failing[_i].operation(mark));
  clpt_message_has(failing[_i].call);
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_ILLEGAL_ADDRESS);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_ok_quietly(failing[_i].operation(mark));
  release(mark);
}
END_TEST

/* --- threads --- */

static void mark_and_wait(clpt_worker *self)
{
  const clp_allocator_ops *ops = &allocator->ops;
  CUstream own = cuda.streams[self->number % CLPT_CUDA_STREAMS];
  CUstream next = cuda.streams[(self->number + 1) % CLPT_CUDA_STREAMS];
  for (unsigned i = 0; i < self->rounds; i++) {
    void *mark;
    clp_status status = ops->mark_create(allocator->self, own, &mark);
    if (status) {
      clpt_note_failure(self, "mark_create", status);
      return;
    }
    bool done = false;
    if (ops->stream_wait(allocator->self, next, mark) || ops->host_wait(allocator->self, mark) ||
        ops->mark_is_done(allocator->self, mark, &done) || !done)
      clpt_wrong(self, "the mark of round %u is not done", i);
    ops->mark_destroy(allocator->self, mark);
  }
}

START_TEST(many_threads)
{
  static clpt_workers workers;
  const clpt_work kinds[] = {mark_and_wait};

  clpt_workers_start(&workers, 4, kinds, 1, clpt_iterations(400), NULL);
  clpt_workers_join(&workers);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cuda_order");
  TCase *tests = clpt_case(suite, "streams");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, own_streams);
  tcase_add_test(tests, null_is_refused);
  tcase_add_test(tests, the_per_thread_stream_is_refused);
  tcase_add_test(tests, another_devices_stream_is_refused);
  tcase_add_test(tests, another_contexts_stream_is_refused);
  tcase_add_test(tests, a_stream_that_the_driver_refuses);

  tests = clpt_case(suite, "marks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_mark_is_done_with_the_work_before_it);
  tcase_add_test(tests, a_mark_stays_where_it_was_made);
  tcase_add_test(tests, another_stream_waits);
  tcase_add_test(tests, the_legacy_stream_waits_and_is_waited_for);
  tcase_add_test(tests, events_are_used_again);
  tcase_add_test(tests, many_marks);
  tcase_add_test(tests, letting_go_fails_quietly);

  tests = clpt_case(suite, "failures");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_call_fails, 0, sizeof(failing) / sizeof(failing[0]));

  tests = clpt_case(suite, "threads");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, many_threads);
  clpt_cuda_use_fake();
  return clpt_run(suite);
}
