/* SPDX-License-Identifier: MIT */
/* The debug print hook: CuPy's lines, and two of our own. */
#include "support/ladder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/hook.h>
#include <inttypes.h>
#include <stdio.h>

/* A file in memory, and what was written to it. */
typedef struct page {
  char *text;
  size_t length;
  FILE *file;
} page;

static void page_open(page *self)
{
  self->file = open_memstream(&self->text, &self->length);
  ck_assert_ptr_nonnull(self->file);
}

static void page_close(page *self)
{
  ck_assert_int_eq(fclose(self->file), 0);
  free(self->text);
}

START_TEST(each_postprocess_is_a_line)
{
  char expected[1024];
  clp_hook *hook;
  clp_buffer *buffer;
  clp_memory memory;
  unsigned long long id = 0;
  clpt_rig rig;
  page out;

  clpt_device_init(&rig.device);
  rig.device.ops.device_id = 3;
  clpt_rig_start_with(&rig, NULL);
  page_open(&out);
  clpt_ok(clp_debug_print_hook_create(out.file, &hook));
  clpt_ok(clp_hook_push(hook));
  buffer = clpt_allocate(rig.pool, 100);
  memory = clp_buffer_memory(buffer);
  /* Every line is there at once, without a flush by the test. */
  ck_assert_int_eq(sscanf(strstr(out.text, "\"pmem_id\""), "\"pmem_id\":\"%llx\"}\n", &id), 1);
  ck_assert_uint_ne(id, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_ok(clp_hook_pop(hook));
  (void)snprintf(expected, sizeof(expected),
                 "{\"hook\":\"alloc\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR "}\n"
                 "{\"hook\":\"malloc\",\"device_id\":3,\"size\":100,\"mem_size\":103,"
                 "\"mem_ptr\":%" PRIuPTR ",\"pmem_id\":\"0x%llx\"}\n"
                 "{\"hook\":\"free\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR
                 ",\"pmem_id\":\"0x%llx\"}\n"
                 "{\"hook\":\"device_free\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR
                 "}\n",
                 memory, memory, id, memory, id, memory);
  ck_assert_str_eq(out.text, expected);
  clp_debug_print_hook_destroy(hook);
  page_close(&out);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_failure_is_told_by_zeros)
{
  clp_hook *hook;
  clp_buffer *none;
  clpt_rig rig;
  page out;

  clpt_rig_start(&rig);
  page_open(&out);
  clpt_ok(clp_debug_print_hook_create(out.file, &hook));
  clpt_ok(clp_pool_add_hook(rig.pool, hook));
  rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 100, &none));
  ck_assert_str_eq(out.text, "{\"hook\":\"alloc\",\"device_id\":0,\"mem_size\":103,\"mem_ptr\":0}\n"
                             "{\"hook\":\"malloc\",\"device_id\":0,\"size\":100,\"mem_size\":103,"
                             "\"mem_ptr\":0,\"pmem_id\":\"0x0\"}\n");
  clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  clp_debug_print_hook_destroy(hook);
  page_close(&out);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_file_that_cannot_be_written_does_no_harm)
{
  FILE *full = fopen("/dev/full", "w");
  clp_hook *hook;
  clpt_rig rig;

  ck_assert_ptr_nonnull(full);
  clpt_rig_start(&rig);
  clpt_ok(clp_debug_print_hook_create(full, &hook));
  clpt_ok(clp_hook_push(hook));
  clpt_hold(rig.pool, 100, 10);
  clpt_ok(clp_hook_pop(hook));
  clp_debug_print_hook_destroy(hook);
  (void)fclose(full);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(several_have_names_of_their_own)
{
  clp_hook *hooks[2];
  clpt_rig rig;
  page out;

  clpt_rig_start(&rig);
  page_open(&out);
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_debug_print_hook_create(out.file, &hooks[i]));
  ck_assert_str_eq(hooks[0]->name, "debug_print");
  clpt_ok(clp_hook_push(hooks[0]));
  clpt_fails(CLP_BUSY, clp_hook_push(hooks[1]));
  hooks[1]->name = "another";
  clpt_ok(clp_hook_push(hooks[1]));
  for (int i = 0; i < 2; i++) {
    clpt_ok(clp_hook_pop(hooks[i]));
    clp_debug_print_hook_destroy(hooks[i]);
  }
  page_close(&out);
  clpt_rig_end(&rig);
}
END_TEST

static void hold_some(clpt_worker *self)
{
  clp_buffer *buffer;

  for (unsigned i = 0; i < self->rounds; i++)
    if (clp_pool_allocate(self->shared, 100, &buffer) || clp_buffer_release(buffer))
      clpt_wrong(self, "a call failed");
}

/* To a file: a stream in memory moves its text as it grows, under a lock that ThreadSanitizer does
 * not see. */
START_TEST(lines_of_several_threads_stay_whole)
{
  enum { THREADS = 4 };
  unsigned rounds = clpt_iterations(500), mallocs = 0, frees = 0;
  const clpt_work work[] = {hold_some};
  char line[256];
  clpt_workers workers;
  clp_hook *hook;
  clpt_rig rig;
  FILE *out = tmpfile();

  ck_assert_ptr_nonnull(out);
  clpt_rig_start(&rig);
  clpt_ok(clp_debug_print_hook_create(out, &hook));
  clpt_ok(clp_pool_add_hook(rig.pool, hook));
  clpt_workers_start(&workers, THREADS, work, 1, rounds, rig.pool);
  clpt_workers_join(&workers);
  clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  rewind(out);
  while (fgets(line, sizeof(line), out)) {
    ck_assert_ptr_eq(strstr(line, "{\"hook\":\""), line);
    ck_assert_ptr_eq(strchr(line, '}'), line + strlen(line) - 2);
    ck_assert_ptr_null(strchr(line + 1, '{'));
    mallocs += strstr(line, "\"malloc\"") != NULL;
    frees += strstr(line, "\"free\"") != NULL;
  }
  ck_assert_uint_eq(mallocs, THREADS * rounds);
  ck_assert_uint_eq(frees, THREADS * rounds);
  clp_debug_print_hook_destroy(hook);
  ck_assert_int_eq(fclose(out), 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("debug print", clpt_run)
{
  TCase *tests = clpt_case(suite, "debug print");

  tcase_add_test(tests, each_postprocess_is_a_line);
  tcase_add_test(tests, a_failure_is_told_by_zeros);
  tcase_add_test(tests, a_file_that_cannot_be_written_does_no_harm);
  tcase_add_test(tests, several_have_names_of_their_own);
  tcase_add_test(tests, lines_of_several_threads_stay_whole);
}
