/* SPDX-License-Identifier: MIT */
/* The debug print hook of clpool/hook.h: CuPy's lines, and two of our own. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/hook.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static clpt_rig rig;
static clp_hook *hook;
static FILE *file;

static void setup(void)
{
  clpt_device_init(&rig.device);
  rig.device.ops.device_id = 3;
  clpt_rig_start_with(&rig, NULL);
  file = tmpfile();
  ck_assert_ptr_nonnull(file);
  clpt_ok(clp_debug_print_hook_create(file, &hook));
  ck_assert_str_eq(hook->name, "debug_print");
}

static void teardown(void)
{
  clp_debug_print_hook_destroy(hook);
  ck_assert_int_eq(fclose(file), 0);
  clpt_rig_end(&rig);
}

/* Every line is there at once, without a flush by the test. A failure is told by zeros. */
START_TEST(each_postprocess_is_a_line)
{
  static const char format[] =
      "{\"hook\":\"alloc\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR "}\n"
      "{\"hook\":\"malloc\",\"device_id\":3,\"size\":100,\"mem_size\":103,"
      "\"mem_ptr\":%" PRIuPTR ",\"pmem_id\":\"0x%llx\"}\n"
      "{\"hook\":\"free\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR
      ",\"pmem_id\":\"0x%llx\"}\n"
      "{\"hook\":\"device_free\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":%" PRIuPTR "}\n"
      "{\"hook\":\"alloc\",\"device_id\":3,\"mem_size\":103,\"mem_ptr\":0}\n"
      "{\"hook\":\"malloc\",\"device_id\":3,\"size\":100,\"mem_size\":103,"
      "\"mem_ptr\":0,\"pmem_id\":\"0x0\"}\n";
  char expected[1024], text[1024] = "";
  clp_buffer *none;
  unsigned long long id = 0;
  clpt_ok(clp_hook_push(hook));
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clp_memory memory = clp_buffer_memory(buffer);
  ck_assert_int_gt(pread(fileno(file), text, sizeof(text), 0), 0);
  ck_assert_int_eq(sscanf(strstr(text, "\"pmem_id\""), "\"pmem_id\":\"%llx\"}\n", &id), 1);
  ck_assert_uint_ne(id, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(rig.pool));
  rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 100, &none));
  clpt_ok(clp_hook_pop(hook));
  ck_assert_int_lt(pread(fileno(file), text, sizeof(text), 0), sizeof(text));
  (void)snprintf(expected, sizeof(expected), format, memory, memory, id, memory, id, memory);
  ck_assert_str_eq(text, expected);
}
END_TEST

static void hold_some(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, 100, &buffer));
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
  }
}

START_TEST(lines_of_several_threads_stay_whole)
{
  enum { THREADS = 4 };
  static const clpt_work work[] = {hold_some};
  unsigned rounds = clpt_iterations(500), mallocs = 0, frees = 0;
  char line[256];
  clpt_workers workers;
  clpt_ok(clp_pool_add_hook(rig.pool, hook));
  clpt_workers_start(&workers, THREADS, work, 1, rounds, NULL);
  clpt_workers_join(&workers);
  clpt_ok(clp_pool_remove_hook(rig.pool, hook));
  rewind(file);
  while (fgets(line, sizeof(line), file)) {
    ck_assert_ptr_eq(strstr(line, "{\"hook\":\""), line);
    ck_assert_uint_eq(strcspn(line + 1, "{}"), strlen(line) - 3);
    mallocs += strstr(line, "\"malloc\"") != NULL;
    frees += strstr(line, "\"free\"") != NULL;
  }
  ck_assert(mallocs == THREADS * rounds && frees == mallocs);
}
END_TEST

CLPT_MAIN("debug print", clpt_run)
{
  TCase *tests = clpt_case(suite, "debug print");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, each_postprocess_is_a_line);
  tcase_add_test(tests, lines_of_several_threads_stay_whole);
}
