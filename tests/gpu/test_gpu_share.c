/* SPDX-License-Identifier: MIT */
/* Two processes share a memory pool on a GPU: this program, and itself started once more. */
#include "gpu.h"
#include "support/other_process.h"

#include <unistd.h>

enum { BYTES = 1 << 20 };

/* --- the other process, where Check has no part --- */

/* Finds 1 in all bytes, and leaves 2. */
static bool use_shared(CUdeviceptr memory, CUstream stream)
{
  static unsigned char found[BYTES];
  bool ok = cu.cuMemcpyDtoHAsync(found, memory, BYTES, stream) == CLPI_CUDA_SUCCESS &&
            cu.cuMemsetD8Async(memory, 2, BYTES, stream) == CLPI_CUDA_SUCCESS &&
            clp_cuda_pointer_free(memory, stream) == CLP_SUCCESS &&
            cu.cuStreamSynchronize(stream) == CLPI_CUDA_SUCCESS;

  for (size_t i = 0; i < BYTES; i++)
    ok = ok && found[i] == 1;
  return ok;
}

static int import_and_use(void)
{
  clp_cuda_shared_pointer shared;
  clp_cuda_mempool mempool;
  unsigned long long memory;
  CUcontext ctx;
  CUstream stream;
  int fd;
  bool ok = clpt_receive_with_fd(CLPT_OTHER_SOCKET, &shared, sizeof(shared), &fd) &&
            clpt_gpu_load() && cu.cuInit(0) == CLPI_CUDA_SUCCESS &&
            cu.cuDevicePrimaryCtxRetain(&ctx, 0) == CLPI_CUDA_SUCCESS &&
            cu.cuCtxPushCurrent(ctx) == CLPI_CUDA_SUCCESS &&
            cu.cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING) == CLPI_CUDA_SUCCESS &&
            clp_cuda_mempool_import_fd(fd, &mempool) == CLP_SUCCESS && close(fd) == 0 &&
            clp_cuda_pointer_import(mempool, &shared, &memory) == CLP_SUCCESS &&
            use_shared(memory, stream) && clp_cuda_mempool_destroy(mempool) == CLP_SUCCESS &&
            cu.cuStreamDestroy(stream) == CLPI_CUDA_SUCCESS &&
            cu.cuDevicePrimaryCtxRelease(0) == CLPI_CUDA_SUCCESS;

  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- this one --- */

static pid_t process; /* started before this one uses CUDA, which does not survive a fork */
static int other_end;

START_TEST(another_process_sees_the_same_bytes)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_shared_pointer shared;
  clp_cuda_mempool mempool;
  CUdeviceptr memory;
  CUstream stream;
  int fd;

  clpt_gpu_open(0);
  stream = clpt_gpu_stream();
  options.handle_types = CLP_CUDA_HANDLE_POSIX_FD;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, BYTES, mempool, stream));
  clpt_gpu_fill(memory, 1, BYTES, stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_ok(clp_cuda_mempool_export_fd(mempool, &fd));
  clpt_ok(clp_cuda_pointer_export(memory, &shared));
  ck_assert(clpt_send_with_fd(other_end, &shared, sizeof(shared), fd));
  ck_assert(clpt_other_succeeded(process));
  clpt_gpu_assert_filled(memory, 2, BYTES, stream);
  close(fd);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_gpu_ok(cu.cuStreamDestroy(stream));
  clpt_gpu_close(0);
}
END_TEST

int main(int argument_count, char **arguments)
{
  Suite *suite;

  if (argument_count == 2 && strcmp(arguments[1], "import") == 0)
    return import_and_use();
  process = clpt_other_start("import", &other_end);
  suite = suite_create("gpu_share");
  tcase_add_test(clpt_case(suite, "sharing"), another_process_sees_the_same_bytes);
  return clpt_gpu_run(suite, 1); /* where it is skipped, the other one ends with the socket */
}
