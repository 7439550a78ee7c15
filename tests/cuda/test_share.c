/* SPDX-License-Identifier: MIT */
/* Memory pools and pointers shared between processes: lib/cuda/share.c. The second process is this
 * program, started anew: CUDA does not survive a fork. */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/other_process.h"
#include "support/suite.h"

#include <stdio.h>
#include <unistd.h>

enum { BYTES = 100000, SENT = 5, ANSWERED = 6 };

/* What goes over the socket, beside a descriptor: the pool, or one that means nothing. */
typedef struct letter {
  bool by_fabric;
  clp_cuda_fabric_handle fabric;
  clp_cuda_shared_pointer pointer;
} letter;

static clpt_cuda cuda; /* device 0 */

/* --- the other process --- */

/* Check's assertions are not for this process. 0, or the line of what is wrong. */
#define MUST(condition)                                                                            \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return __LINE__;                                                                             \
  } while (0)

/* What is not for imported pools. */
static int misuse(clp_cuda_mempool mempool, const letter *received)
{
  clp_cuda_shared_pointer wrong = received->pointer;
  unsigned long long pointer = 1;
  int fd;

  MUST(clp_cuda_mempool_export_fd(mempool, &fd) == CLP_INVALID_ARGUMENT && fd == -1);
  MUST(clp_cuda_mempool_trim_to(mempool, 0) == CLP_INVALID_ARGUMENT);
  MUST(clp_cuda_mempool_set_current(0, mempool) == CLP_INVALID_ARGUMENT);
  wrong.bytes[0] ^= 1;
  MUST(clp_cuda_pointer_import(mempool, &wrong, &pointer) == CLP_INVALID_ARGUMENT);
  MUST(pointer == 0);
  return 0;
}

/* What was sent as content is found, and the answer written. */
static int answer(clp_cuda_mempool mempool, const letter *received)
{
  static char copy[BYTES];
  unsigned long long pointer = 0;

  MUST(clp_cuda_pointer_import(mempool, &received->pointer, &pointer) == CLP_SUCCESS && pointer);
  MUST(cuMemcpyDtoHAsync(copy, pointer, BYTES, FAKECUDA_STREAM_LEGACY) == CLPI_CUDA_SUCCESS);
  MUST(cuStreamSynchronize(FAKECUDA_STREAM_LEGACY) == CLPI_CUDA_SUCCESS);
  for (size_t i = 0; i < BYTES; i++)
    MUST(copy[i] == SENT);
  MUST(cuMemsetD8Async(pointer, ANSWERED, BYTES, FAKECUDA_STREAM_LEGACY) == CLPI_CUDA_SUCCESS);
  MUST(clp_cuda_pointer_free(pointer, NULL) == CLP_SUCCESS);
  MUST(cuStreamSynchronize(FAKECUDA_STREAM_LEGACY) == CLPI_CUDA_SUCCESS);
  return 0;
}

static int import(const letter *received, int fd, clp_cuda_mempool *mempool)
{
  if (received->by_fabric) {
    fakecuda_set_handle_types(0, CLP_CUDA_HANDLE_FABRIC);
    MUST(clp_cuda_mempool_import_fabric(&received->fabric, mempool) == CLP_SUCCESS);
  } else {
    MUST(clp_cuda_mempool_import_fd(fd, mempool) == CLP_SUCCESS);
  }
  MUST(close(fd) == 0); /* the pool has what it needs */
  return 0;
}

static int use_letter(const letter *received, int fd)
{
  clp_cuda_mempool mempool = NULL;
  CUcontext ctx;
  int wrong;

  MUST(cuInit(0) == CLPI_CUDA_SUCCESS);
  MUST(cuDevicePrimaryCtxRetain(&ctx, 0) == CLPI_CUDA_SUCCESS);
  MUST(cuCtxPushCurrent(ctx) == CLPI_CUDA_SUCCESS);
  wrong = import(received, fd, &mempool);
  if (!wrong)
    wrong = misuse(mempool, received);
  if (!wrong)
    wrong = answer(mempool, received);
  if (wrong)
    return wrong;
  MUST(clp_cuda_mempool_destroy(mempool) == CLP_SUCCESS);
  MUST(cuCtxPopCurrent(&ctx) == CLPI_CUDA_SUCCESS);
  MUST(cuDevicePrimaryCtxRelease(0) == CLPI_CUDA_SUCCESS);
  fakecuda_reset(); /* nothing is left */
  return 0;
}

static int importer(void)
{
  letter received;
  int fd = -1;

  if (!clpt_receive_with_fd(CLPT_OTHER_SOCKET, &received, sizeof(received), &fd))
    return EXIT_FAILURE;
  int wrong = use_letter(&received, fd);
  if (wrong)
    (void)fprintf(stderr, "the importer, line %d: %s\n", wrong, clp_last_error()->message);
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- sharing --- */

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static clp_cuda_mempool sharable(unsigned handle_types)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = NULL;

  fakecuda_set_handle_types(0, CLP_CUDA_HANDLE_POSIX_FD | CLP_CUDA_HANDLE_FABRIC);
  options.handle_types = handle_types;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  return mempool;
}

/* By a descriptor, or as bytes. */
START_TEST(two_processes_share_memory)
{
  letter sent = {.by_fabric = _i != 0};
  int socket = -1, fd = -1;
  pid_t process = clpt_other_start("importer", &socket);
  ck_assert_int_gt(process, 0);
  clp_cuda_mempool mempool =
      sharable(sent.by_fabric ? CLP_CUDA_HANDLE_FABRIC : CLP_CUDA_HANDLE_POSIX_FD);
  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, mempool, BYTES);

  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, BYTES, SENT);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, BYTES, SENT);
  if (sent.by_fabric)
    clpt_ok_quietly(clp_cuda_mempool_export_fabric(mempool, &sent.fabric));
  else
    clpt_ok_quietly(clp_cuda_mempool_export_fd(mempool, &fd));
  clpt_ok_quietly(clp_cuda_pointer_export(pointer, &sent.pointer));
  ck_assert(clpt_send_with_fd(socket, &sent, sizeof(sent), fd >= 0 ? fd : socket));
  if (!sent.by_fabric)
    ck_assert_int_eq(close(fd), 0); /* it is the exporter's to close, once it is sent */
  ck_assert(clpt_other_succeeded(process));
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, BYTES, ANSWERED);
  clpt_cuda_freed(&cuda, pointer);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  close(socket);
}
END_TEST

/* --- in one process --- */

START_TEST(pools_are_exported_as_they_were_made_for)
{
  clp_cuda_mempool mempool = sharable(_i ? CLP_CUDA_HANDLE_FABRIC : 0);
  int fd = 5;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_export_fd(mempool, &fd));
  ck_assert_int_eq(fd, -1);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(a_pool_without_the_fabric_is_not_exported_by_it)
{
  clp_cuda_mempool mempool = sharable(CLP_CUDA_HANDLE_POSIX_FD);
  clp_cuda_fabric_handle handle = {{7}};

  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_export_fabric(mempool, &handle));
  ck_assert_int_eq(handle.bytes[0], 7);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

static unsigned violations;

static void note_violation(const char *what)
{
  (void)what;
  violations++;
}

START_TEST(what_was_not_imported_is_not_freed)
{
  clpt_ok(clp_cuda_mempool_destroy(sharable(0))); /* the driver is loaded */
  fakecuda_on_violation(note_violation);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_pointer_free(4096, cuda.streams[0]));
  ck_assert_uint_eq(violations, 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_pointer_free(4096, NULL)); /* and no context */
  fakecuda_on_violation(NULL);
}
END_TEST

static clp_cuda_mempool shared_pool;
static CUdeviceptr shared_memory;

static clp_status export_fd(void)
{
  int fd;
  clp_status status = clp_cuda_mempool_export_fd(shared_pool, &fd);
  ck_assert_int_eq(fd, -1);
  return status;
}

static clp_status import_fd(void)
{
  clp_cuda_mempool out = shared_pool;
  clp_status status = clp_cuda_mempool_import_fd(0, &out);
  ck_assert_ptr_null(out);
  return status;
}

static clp_status export_pointer(void)
{
  clp_cuda_shared_pointer shared;
  return clp_cuda_pointer_export(shared_memory, &shared);
}

static clp_status import_pointer(void)
{
  clp_cuda_shared_pointer shared = {{0}};
  unsigned long long out = 1;
  clp_status status = clp_cuda_pointer_import(shared_pool, &shared, &out);
  ck_assert_uint_eq(out, 0);
  return status;
}

static clp_status free_pointer(void)
{
  return clp_cuda_pointer_free(shared_memory, cuda.streams[0]);
}

static const struct {
  clp_status (*call)(void);
  const char *function;
} calls[] = {
    {export_fd, "cuMemPoolExportToShareableHandle"},
    {import_fd, "cuMemPoolImportFromShareableHandle"},
    {export_pointer, "cuMemPoolExportPointer"},
    {import_pointer, "cuMemPoolImportPointer"},
    {free_pointer, "cuMemFreeAsync"},
};
enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

START_TEST(each_call_that_fails_is_told)
{
  shared_pool = sharable(CLP_CUDA_HANDLE_POSIX_FD);
  shared_memory = clpt_cuda_allocated(&cuda, shared_pool, BYTES);
  fakecuda_fail(calls[_i].function, FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, calls[_i].call());
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  clpt_message_has(calls[_i].function);
  clpt_cuda_freed(&cuda, shared_memory);
  clpt_ok(clp_cuda_mempool_destroy(shared_pool));
}
END_TEST

START_TEST(a_fabric_that_the_process_may_not_use)
{
  clp_cuda_fabric_handle handle = {{0}};
  clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;

  clpt_ok(clp_cuda_mempool_destroy(sharable(0)));
  fakecuda_fail("cuMemPoolImportFromShareableHandle", CLPI_CUDA_NOT_PERMITTED, 0, 1);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_import_fabric(&handle, &mempool));
  ck_assert_ptr_null(mempool);
}
END_TEST

int main(int argc, char **argv)
{
  clpt_cuda_use_fake();
  if (argc > 1 && strcmp(argv[1], "importer") == 0)
    return importer();
  Suite *suite = suite_create("cuda_share");
  TCase *tests = clpt_case(suite, "processes");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, two_processes_share_memory, 0, 2);

  tests = clpt_case(suite, "one process");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, pools_are_exported_as_they_were_made_for, 0, 2);
  tcase_add_test(tests, a_pool_without_the_fabric_is_not_exported_by_it);
  tcase_add_test(tests, what_was_not_imported_is_not_freed);
  tcase_add_loop_test(tests, each_call_that_fails_is_told, 0, CALL_COUNT);
  tcase_add_test(tests, a_fabric_that_the_process_may_not_use);
  return clpt_run(suite);
}
