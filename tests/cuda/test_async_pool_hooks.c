/* SPDX-License-Identifier: MIT */
/* What hooks see of asynchronous pools: lib/cuda/async_pool_memory.c, core/hooks/hook_call.c. */
#include "support/cuda_device.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"

#include <clpool/hook.h>
#include <clpool/profile.h>
#include <stdio.h>

static const size_t GiB = (size_t)1 << 30;

static clpt_cuda cuda; /* device 1, whose context is current */
static clp_cuda_async_pool *pool;
static clpt_recorder recorder;

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 1);
  clpt_cuda_enter(&cuda);
  clpt_ok(clp_cuda_async_pool_create(NULL, &pool));
  clpt_recorder_init(&recorder, "recorder");
  clpt_ok(clp_hook_push(&recorder.hook));
}

static void teardown(void)
{
  clpt_ok(clp_hook_pop(&recorder.hook));
  clp_cuda_async_pool_release(pool);
  clpt_cuda_leave();
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

__attribute__((noinline)) static unsigned long long allocated(size_t bytes)
{
  unsigned long long pointer = 0;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, bytes, cuda.streams[1], &pointer));
  return pointer;
}

/* On another stream, which has to come after the first. */
static void freed(unsigned long long pointer)
{
  clpt_cuda_ok(cuStreamSynchronize(cuda.streams[1]));
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, cuda.streams[2]));
}

START_TEST(each_call_goes_to_the_device)
{
  freed(allocated(1000));
  clpt_recorder_is(&recorder, "m<1000:1024 a<1024 a>1024 m>1000:1024 "
                              "f<1000:1024 d<1024 d>1024 f>1000:1024");
}
END_TEST

START_TEST(what_events_tell)
{
  unsigned long long pointer = allocated(1000);

  freed(pointer);
  ck_assert_uint_eq(recorder.count, 8);
  for (size_t i = 0; i < 8; i++) {
    const clp_hook_event *event = &recorder.events[i];
    bool is_of_user = i == 0 || i == 3 || i == 4 || i == 7;
    ck_assert_ptr_null(event->pool);
    ck_assert_int_eq(event->device_id, 1);
    ck_assert_ptr_eq(event->stream, cuda.streams[i < 4 ? 1 : 2]);
    ck_assert_uint_eq(event->size, is_of_user ? 1000 : 0);
    ck_assert_uint_eq(event->mem_size, 1024);
    ck_assert_uint_eq(event->memory, i < 2 ? 0 : pointer);
    ck_assert_int_eq(event->buffer_id != 0, is_of_user && i > 0);
  }
  ck_assert_uint_eq(recorder.events[3].buffer_id, recorder.events[4].buffer_id);
}
END_TEST

START_TEST(no_stream_is_shown_as_the_legacy_one)
{
  unsigned long long pointer = 0;

  clpt_ok(clp_cuda_async_pool_malloc(pool, 512, NULL, &pointer));
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, NULL));
  for (size_t i = 0; i < 8; i++)
    ck_assert_ptr_eq(recorder.events[i].stream, CLP_CUDA_STREAM_LEGACY);
}
END_TEST

START_TEST(each_try_is_shown)
{
  unsigned long long pointer;

  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_cuda_async_pool_malloc(pool, 2 * GiB, NULL, &pointer));
  clpt_recorder_is(&recorder, "m<2147483648:2147483648 a<2147483648 a>2147483648! a<2147483648 "
                              "a>2147483648! m>2147483648:2147483648!");
}
END_TEST

START_TEST(what_a_limit_refuses_does_not_go_to_the_device)
{
  unsigned long long pointer;

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 512, 0));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(pool, 513, NULL, &pointer));
  clpt_recorder_is(&recorder, "m<513:1024 m>513:1024!");
}
END_TEST

START_TEST(what_the_device_does_not_take_back_is_shown)
{
  unsigned long long pointer = allocated(512);

  clpt_recorder_clear(&recorder);
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(pool, pointer, NULL));
  clpt_recorder_is(&recorder, "f<512:512 d<512 d>512! f>512:512");
  freed(pointer);
}
END_TEST

START_TEST(calls_that_are_none_show_nothing)
{
  unsigned long long pointer = allocated(0);

  freed(pointer);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(pool, 512, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_malloc(pool, 1, NULL, NULL));
  clpt_recorder_is(&recorder, "");
}
END_TEST

START_TEST(several_hooks_in_order_of_registration)
{
  clpt_recorder second;

  clpt_recorder_init(&second, "second");
  second.log_of = &recorder;
  clpt_ok(clp_hook_push(&second.hook));
  unsigned long long pointer = allocated(512);
  clpt_recorder_is(&recorder, "m<512:512 second:m<512:512 a<512 second:a<512 a>512 second:a>512 "
                              "m>512:512 second:m>512:512");
  clpt_ok(clp_hook_pop(&second.hook));
  freed(pointer);
}
END_TEST

/* A callback allocates itself, and tries what callbacks must not. */
static void misbehave(clpt_recorder *self, const clp_hook_event *event)
{
  unsigned long long pointer = 0;
  (void)event;
  clpt_ok(clp_cuda_async_pool_malloc(pool, 512, cuda.streams[0], &pointer));
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, cuda.streams[0]));
  clpt_fails(CLP_BUSY, clp_hook_pop(&self->hook));
}

START_TEST(hooks_see_nothing_of_what_callbacks_do)
{
  recorder.also = misbehave;
  freed(allocated(100)); /* and the last error stays */
  clpt_recorder_is(&recorder, "m<100:512 a<512 a>512 m>100:512 f<100:512 d<512 d>512 f>100:512");
}
END_TEST

START_TEST(hooks_of_clpools_see_nothing_of_it)
{
  clpt_rig rig;
  clpt_recorder of_pool;

  clpt_rig_start(&rig);
  clpt_recorder_init(&of_pool, "of a pool");
  clpt_ok(clp_pool_add_hook(rig.pool, &of_pool.hook));
  freed(allocated(100));
  clpt_recorder_is(&of_pool, "");
  clpt_ok(clp_hook_pop(&recorder.hook));
  clpt_recorder_clear(&recorder);
  freed(allocated(100)); /* there are hooks, but none of the thread's */
  clpt_recorder_is(&recorder, "");
  clpt_ok(clp_hook_push(&recorder.hook));
  clpt_ok(clp_pool_remove_hook(rig.pool, &of_pool.hook));
  clpt_rig_end(&rig);
}
END_TEST

/* --- the hooks that come with the library --- */

static unsigned count_of(const char *text, const char *what)
{
  unsigned count = 0;
  while ((text = strstr(text, what)) != NULL) {
    count++;
    text += strlen(what);
  }
  return count;
}

START_TEST(debug_print)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  clp_hook *hook;

  clpt_ok(clp_debug_print_hook_create(file, &hook));
  clpt_ok(clp_hook_push(hook));
  freed(allocated(1000));
  clpt_ok(clp_hook_pop(hook));
  clp_debug_print_hook_destroy(hook);
  (void)fclose(file);
  ck_assert_uint_eq(count_of(text, "\n"), 4);
  ck_assert_uint_eq(count_of(text, "\"device_id\":1"), 4);
  ck_assert_uint_eq(count_of(text, "\"mem_size\":1024"), 4);
  free(text);
}
END_TEST

/* The library's own frames are left out: this one is the last. */
__attribute__((noinline)) static unsigned long long profiled(void)
{
  unsigned long long pointer = allocated(1000);
  ck_assert_uint_ne(pointer, 0);
  return pointer;
}

START_TEST(line_profile)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  clp_line_profile *profile;

  clpt_ok(clp_line_profile_create(0, &profile));
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  freed(profiled());
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  clpt_ok(clp_line_profile_print(profile, file));
  clpt_ok(clp_line_profile_print_view(profile, CLP_VIEW_NOW, file));
  clpt_ok(clp_line_profile_print_view(profile, CLP_VIEW_PEAK, file));
  clp_line_profile_destroy(profile);
  (void)fclose(file);
  ck_assert_msg(strstr(text, "_root (1.00KB, 1.00KB)") == text, "%s", text);
  ck_assert_msg(strstr(text, "_root (0.00B)\n_root (1.00KB)\n"), "%s", text);
  ck_assert_msg(strstr(text, "lib/cuda") == NULL && strstr(text, "async_pool_malloc") == NULL, "%s",
                text);
#ifdef HAVE_LIBDW
  ck_assert_msg(strstr(text, ":allocated (1.00KB, 1.00KB)") != NULL, "%s", text);
#endif
  free(text);
}
END_TEST

CLPT_MAIN("cuda_async_pool_hooks", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "hooks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, each_call_goes_to_the_device);
  tcase_add_test(tests, what_events_tell);
  tcase_add_test(tests, no_stream_is_shown_as_the_legacy_one);
  tcase_add_test(tests, each_try_is_shown);
  tcase_add_test(tests, what_a_limit_refuses_does_not_go_to_the_device);
  tcase_add_test(tests, what_the_device_does_not_take_back_is_shown);
  tcase_add_test(tests, calls_that_are_none_show_nothing);
  tcase_add_test(tests, several_hooks_in_order_of_registration);
  tcase_add_test(tests, hooks_see_nothing_of_what_callbacks_do);
  tcase_add_test(tests, hooks_of_clpools_see_nothing_of_it);
  tcase_add_test(tests, debug_print);
  tcase_add_test(tests, line_profile);
}
