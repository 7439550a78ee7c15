/* SPDX-License-Identifier: MIT */
/* Two processes share a memory pool of the fake CUDA driver: this program, and itself started once
 * more, which gets the pool's file descriptor and the pointer's data over a socket. */
#include "support/cuda_fixture.h"
#include "support/other_process.h"

#include <unistd.h>

enum { BYTES = 10000 };

static CUmemoryPool exportable(int handle_types)
{
  CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .handle_types = handle_types,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, 0}};
  CUmemoryPool mempool;

  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  return mempool;
}

/* --- the other process --- */

/* Finds 1 in all bytes, and leaves 2. */
static bool use_shared(CUdeviceptr memory)
{
  unsigned char found[BYTES];
  CUstream stream;
  bool ok = cuStreamCreate(&stream, 0) == CLPI_CUDA_SUCCESS &&
            cuMemcpyDtoHAsync(found, memory, BYTES, stream) == CLPI_CUDA_SUCCESS &&
            cuMemsetD8Async(memory, 2, BYTES, stream) == CLPI_CUDA_SUCCESS &&
            cuMemFreeAsync(memory, stream) == CLPI_CUDA_SUCCESS &&
            cuStreamSynchronize(stream) == CLPI_CUDA_SUCCESS &&
            cuStreamDestroy(stream) == CLPI_CUDA_SUCCESS;

  for (size_t i = 0; i < BYTES; i++)
    ok = ok && found[i] == 1;
  return ok;
}

static int import_and_use(void)
{
  CUmemPoolPtrExportData shared;
  CUmemoryPool mempool;
  CUdeviceptr memory;
  CUcontext ctx;
  int fd;
  bool ok = clpt_receive_with_fd(CLPT_OTHER_SOCKET, &shared, sizeof(shared), &fd) &&
            cuInit(0) == CLPI_CUDA_SUCCESS && cuCtxCreate(&ctx, 0, 0) == CLPI_CUDA_SUCCESS &&
            cuMemPoolImportFromShareableHandle(&mempool, (void *)(intptr_t)fd,
                                               CLPI_CUDA_HANDLE_POSIX_FD, 0) == CLPI_CUDA_SUCCESS &&
            close(fd) == 0 &&
            cuMemPoolImportPointer(&memory, mempool, &shared) == CLPI_CUDA_SUCCESS &&
            use_shared(memory) && cuMemPoolDestroy(mempool) == CLPI_CUDA_SUCCESS &&
            cuCtxDestroy(ctx) == CLPI_CUDA_SUCCESS;

  if (ok)
    fakecuda_reset();
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- tests --- */

START_TEST(another_process_sees_the_same_bytes)
{
  CUmemPoolPtrExportData shared;
  CUmemoryPool mempool;
  CUdeviceptr before, memory;
  CUstream stream;
  int fd, socket;
  pid_t process = clpt_other_start("import", &socket);

  ck_assert_int_gt(process, 0);
  clpt_fake_open(0);
  stream = clpt_fake_stream();
  mempool = exportable(CLPI_CUDA_HANDLE_POSIX_FD);
  clpt_cu_ok(cuMemAllocFromPoolAsync(&before, 1000, mempool, stream)); /* not on a page */
  clpt_cu_ok(cuMemAllocFromPoolAsync(&memory, BYTES, mempool, stream));
  clpt_fake_fill(memory, 1, BYTES, stream);
  clpt_cu_ok(cuStreamSynchronize(stream));
  clpt_cu_ok(cuMemPoolExportToShareableHandle(&fd, mempool, CLPI_CUDA_HANDLE_POSIX_FD, 0));
  clpt_cu_ok(cuMemPoolExportPointer(&shared, memory));
  ck_assert(clpt_send_with_fd(socket, &shared, sizeof(shared), fd));
  ck_assert(clpt_other_succeeded(process));
  clpt_fake_assert_filled(memory, 2, BYTES, stream);
  close(fd);
  close(socket);
  clpt_cu_ok(cuMemFreeAsync(before, stream));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
}
END_TEST

START_TEST(a_fabric_handle_is_bytes)
{
  unsigned char handle[64];
  CUmemPoolPtrExportData shared;
  CUmemoryPool mempool, imported;
  CUdeviceptr memory, same;
  CUstream stream;

  clpt_fake_open(0);
  fakecuda_set_handle_types(0, CLPI_CUDA_HANDLE_FABRIC);
  stream = clpt_fake_stream();
  mempool = exportable(CLPI_CUDA_HANDLE_FABRIC);
  clpt_cu_ok(cuMemAllocFromPoolAsync(&memory, BYTES, mempool, stream));
  clpt_cu_ok(cuMemPoolExportToShareableHandle(handle, mempool, CLPI_CUDA_HANDLE_FABRIC, 0));
  clpt_cu_ok(cuMemPoolExportPointer(&shared, memory));
  clpt_cu_ok(cuMemPoolImportFromShareableHandle(&imported, handle, CLPI_CUDA_HANDLE_FABRIC, 0));
  clpt_cu_ok(cuMemPoolImportPointer(&same, imported, &shared));
  ck_assert_uint_ne(memory, same);
  clpt_fake_fill(memory, 3, BYTES, stream);
  clpt_fake_assert_filled(same, 3, BYTES, stream);
  clpt_cu_ok(cuMemFree(same));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuMemPoolDestroy(imported));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
}
END_TEST

START_TEST(what_was_not_exported_is_refused)
{
  CUmemPoolPtrExportData shared = {{0}};
  CUmemoryPool mempool, plain, imported, none;
  CUdeviceptr memory, direct, nothing;
  CUstream stream;
  int fd;

  clpt_fake_open(0);
  stream = clpt_fake_stream();
  mempool = exportable(CLPI_CUDA_HANDLE_POSIX_FD);
  plain = exportable(0);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemPoolExportToShareableHandle(&fd, plain, CLPI_CUDA_HANDLE_POSIX_FD, 0));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemPoolExportToShareableHandle(&fd, mempool, CLPI_CUDA_HANDLE_POSIX_FD, 1));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemPoolImportFromShareableHandle(&none, NULL, CLPI_CUDA_HANDLE_POSIX_FD, 0));
  clpt_cu_ok(cuMemAllocFromPoolAsync(&memory, BYTES, plain, stream));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolExportPointer(&shared, memory));
  clpt_cu_ok(cuMemAlloc(&direct, BYTES));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolExportPointer(&shared, direct));
  clpt_cu_ok(cuMemPoolExportToShareableHandle(&fd, mempool, CLPI_CUDA_HANDLE_POSIX_FD, 0));
  clpt_cu_ok(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                                CLPI_CUDA_HANDLE_POSIX_FD, 0));
  close(fd);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolImportPointer(&nothing, imported, &shared));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolImportPointer(&nothing, mempool, &shared));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemAllocFromPoolAsync(&nothing, BYTES, imported, stream));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuDeviceSetMemPool(0, imported));
  clpt_cu_ok(cuMemFree(direct));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuMemPoolDestroy(imported));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  clpt_cu_ok(cuMemPoolDestroy(plain));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_fake_close(0);
}
END_TEST

int main(int argument_count, char **arguments)
{
  Suite *suite;
  TCase *sharing;

  if (argument_count == 2 && strcmp(arguments[1], "import") == 0)
    return import_and_use();
  suite = suite_create("fakecuda_share");
  sharing = clpt_fake_case(suite, "sharing");
  tcase_add_test(sharing, another_process_sees_the_same_bytes);
  tcase_add_test(sharing, a_fabric_handle_is_bytes);
  tcase_add_test(sharing, what_was_not_exported_is_refused);
  return clpt_fake_run(suite);
}
