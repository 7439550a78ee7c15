/* SPDX-License-Identifier: MIT */
/* From a name to an allocator on a device. */
#include "allocators.h"

#include "program.h"

#include <clpool/cuda.h>
#include <clpool/cuda_mempool.h>
#include <ctype.h>
#include <string.h>

static clp_status create_host(const clpi_opened *where, clp_allocator **out)
{
  (void)where;
  return clp_host_allocator_create(0, out);
}

static clp_status create_simulated(const clpi_opened *where, clp_allocator **out)
{
  (void)where;
  return clp_simulated_allocator_create(0, out);
}

static clp_status create_cuda_async(const clpi_opened *where, clp_allocator **out)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  options.device = (int)where->device.number;
  return clp_cuda_async_allocator_create(&options, out);
}

#ifdef HAVE_OPENCL
#define CLPI_CL(constructor) constructor
#else
#define CLPI_CL(constructor) NULL
#endif

const clpi_allocator_row clpi_allocators[CLPI_ALLOCATOR_KINDS] = {
    {"host", CLPI_NO_BACKEND, true, create_host, "posix_memalign"},
    {"simulated", CLPI_NO_BACKEND, true, create_simulated, "counts bytes, allocates nothing"},
    {"cl-deferred", CLPI_OPENCL, false, CLPI_CL(clpi_create_cl_deferred), "clCreateBuffer"},
    {"cl-immediate", CLPI_OPENCL, false, CLPI_CL(clpi_create_cl_immediate),
     "clCreateBuffer, backed by memory at once"},
    {"cl-svm", CLPI_OPENCL, true, CLPI_CL(clpi_create_cl_svm), "clSVMAlloc"},
    {"cuda-async", CLPI_CUDA, true, create_cuda_async, "cuMemAllocFromPoolAsync"},
};

static const char *const backends[CLPI_BACKENDS] = {[CLPI_OPENCL] = "OpenCL", [CLPI_CUDA] = "CUDA"};

int clpi_find_allocator(const char *name, clpi_allocator_kind *kind)
{
  for (*kind = 0; *kind < CLPI_ALLOCATOR_KINDS; ++*kind)
    if (strcmp(name, clpi_allocators[*kind].name) == 0)
      return CLPI_EXIT_SUCCESS;
  return clpi_misuse("there is no allocator \"%s\" (see clpool info)", name);
}

int clpi_choose_device(clpi_allocator_choice *choice, const char *text)
{
  clpi_backend backend = strchr(text, '.') ? CLPI_OPENCL : CLPI_CUDA;
  const char **device = &choice->devices[backend];
  if (!isdigit((unsigned char)*text))
    return clpi_misuse(
        "--device: expected an OpenCL device such as 0.0 or a CUDA device such as 0, found \"%s\"",
        text);
  if (*device)
    return clpi_misuse("--device: expected one %s device, found another, \"%s\"", backends[backend],
                       text);
  *device = text;
  return CLPI_EXIT_SUCCESS;
}

int clpi_check_devices(const clpi_allocator_choice *choice, unsigned kinds)
{
  bool is_used[CLPI_BACKENDS] = {false};
  for (clpi_allocator_kind kind = 0; kind < CLPI_ALLOCATOR_KINDS; kind++)
    is_used[clpi_allocators[kind].backend] |= kinds >> kind & 1;
  for (clpi_backend i = 0; i < CLPI_BACKENDS; i++)
    if (choice->devices[i] && !is_used[i])
      return clpi_misuse("--device=%s is for %s: choose an --allocator of %s (see clpool info)",
                         choice->devices[i], backends[i], backends[i]);
  return CLPI_EXIT_SUCCESS;
}

static int find_device(clpi_backend backend, const char *id, clpi_device *out)
{
  clpi_devices list = {0};
  if (backend == CLPI_OPENCL)
    clpi_list_opencl(&list);
  else
    clpi_list_cuda(&list);
  const clpi_device *found = clpi_devices_find(&list, backend, id);
  if (found) {
    *out = *found;
    return CLPI_EXIT_SUCCESS;
  }
  if (list.count > 0)
    return clpi_misuse("there is no %s device \"%s\" (see clpool info)", backends[backend], id);
  return clpi_complain("%s", list.missing[backend]);
}

int clpi_allocator_open(const clpi_allocator_choice *choice, clpi_opened *out)
{
  const clpi_allocator_row *row = &clpi_allocators[choice->kind];
  *out = (clpi_opened){0};
  if (!row->create)
    return clpi_misuse("the allocator %s is missing: this clpool was built without OpenCL",
                       row->name);
  int code = CLPI_EXIT_SUCCESS;
  if (row->backend != CLPI_NO_BACKEND)
    code = find_device(row->backend, choice->devices[row->backend], &out->device);
  if (!code && row->backend == CLPI_OPENCL)
    code = clpi_opencl_open(out);
  clp_status status = code ? CLP_SUCCESS : row->create(out, &out->allocator);
  if (status)
    code = clpi_failed(status);
  if (code)
    clpi_allocator_close(out);
  return code;
}

void clpi_allocator_close(clpi_opened *opened)
{
  clp_allocator_release(opened->allocator);
  clpi_opencl_close(opened);
  *opened = (clpi_opened){0};
}

uint64_t clpi_cuda_peak_reserved(unsigned ordinal)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clp_cuda_mempool mempool;
  clp_status status = clp_cuda_mempool_default((int)ordinal, &mempool);
  if (!status)
    status = clp_cuda_mempool_get_usage(mempool, &usage);
  return status ? 0 : usage.peak_reserved_bytes;
}
