/* SPDX-License-Identifier: MIT */
/* Memory pools and allocations of other processes. What is exported of a pool is the file that it
 * has its memory in; of an allocation, its place there. A fabric handle tells where to open the
 * file, as long as the exporting process lives. */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FABRIC_BYTES = 64 };
static const char magic[8] = "fakecuda";

typedef struct shared_pointer {
  char magic[sizeof(magic)];
  uint64_t file; /* its inode */
  uint64_t offset, bytes;
} shared_pointer;

_Static_assert(sizeof(shared_pointer) <= sizeof(clpi_cuda_shared_pointer), "it has to fit");

/* 0: there is no such file. */
static uint64_t inode_of(int fd)
{
  struct stat found;

  return fstat(fd, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

/* --- pools --- */

static CUresult export_locked(void *out, CUmemoryPool mempool, clpi_cuda_handle_type type)
{
  int fd = fake_mempool_file_locked(mempool);

  if (fd < 0)
    return CLPI_CUDA_OUT_OF_MEMORY;
  if (type == CLPI_CUDA_HANDLE_FABRIC) {
    memset(out, 0, FABRIC_BYTES);
    (void)snprintf(out, FABRIC_BYTES, "/proc/%d/fd/%d", (int)getpid(), fd);
    return CLPI_CUDA_SUCCESS;
  }
  fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0)
    return CLPI_CUDA_OUT_OF_MEMORY;
  *(int *)out = fd;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle,
                                          clpi_cuda_handle_type type, unsigned long long flags)
{
  CUresult code = fake_enter(FAKE_cuMemPoolExportToShareableHandle);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS &&
      (mempool == NULL || mempool->imported || flags != 0 ||
       (type != CLPI_CUDA_HANDLE_POSIX_FD && type != CLPI_CUDA_HANDLE_FABRIC) ||
       (mempool->props.handle_types & type) == 0))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    code = export_locked(out, mempool, type);
  return fake_leave(code);
}

/* The file behind a handle, the caller's; -1: it is none. */
static int open_handle(void *handle, clpi_cuda_handle_type type)
{
  if (type == CLPI_CUDA_HANDLE_POSIX_FD)
    return fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
  if (type == CLPI_CUDA_HANDLE_FABRIC && memchr(handle, '\0', FABRIC_BYTES) != NULL)
    return open(handle, O_RDWR | O_CLOEXEC);
  return -1;
}

/* Where the memory of the pool is, as the file's name tells. */
static bool read_location(int fd, CUmemLocation *location)
{
  char link[32], name[64];
  ssize_t length;

  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  length = readlink(link, name, sizeof(name) - 1);
  if (length < 0)
    return false;
  name[length] = '\0';
  return sscanf(name, "/memfd:fakecuda-%d-%d", &location->type, &location->id) == 2;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *mempool, void *handle,
                                            clpi_cuda_handle_type type, unsigned long long flags)
{
  CUresult code = fake_enter(FAKE_cuMemPoolImportFromShareableHandle);
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .handle_types = type};
  int fd = code == CLPI_CUDA_SUCCESS && flags == 0 ? open_handle(handle, type) : -1;

  if (code == CLPI_CUDA_SUCCESS && (fd < 0 || !read_location(fd, &props.location)))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS && props.location.type == CLPI_CUDA_LOCATION_DEVICE &&
      fake_device_locked(props.location.id) == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS) {
    *mempool = fake_mempool_new_locked(&props);
    (*mempool)->imported = true;
    (*mempool)->fd = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  return fake_leave(code);
}

/* --- allocations --- */

static CUresult export_pointer_locked(CUmemPoolPtrExportData *shared, CUdeviceptr pointer)
{
  fake_segment *segment;
  fake_range *range;
  shared_pointer place;

  if (!fake_find_locked(pointer, &segment, &range) || range->state != FAKE_IN_USE)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "an address is exported that has no "
                                                          "allocation");
  if (segment->mempool == NULL || segment->imported || segment->mempool->props.handle_types == 0 ||
      fake_address(segment, range) != pointer)
    return CLPI_CUDA_INVALID_VALUE;
  memcpy(place.magic, magic, sizeof(magic));
  place.file = inode_of(segment->fd);
  place.offset = segment->file_offset + range->offset;
  place.bytes = range->asked;
  memset(shared, 0, sizeof(*shared));
  memcpy(shared, &place, sizeof(place));
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shared, CUdeviceptr pointer)
{
  CUresult code = fake_enter(FAKE_cuMemPoolExportPointer);

  if (code == CLPI_CUDA_SUCCESS)
    code = export_pointer_locked(shared, pointer);
  return fake_leave(code);
}

/* Maps whole pages, in which the allocation may begin anywhere. */
static CUresult import_pointer_locked(CUdeviceptr *pointer, CUmemoryPool mempool,
                                      const shared_pointer *place)
{
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  size_t before = (size_t)(place->offset % page);
  fake_segment *segment =
      fake_segment_map_locked(mempool, place->offset - before, before + place->bytes);
  fake_range *range;

  if (segment == NULL)
    return CLPI_CUDA_OUT_OF_MEMORY;
  range = segment->ranges;
  if (before > 0) {
    fake_range_take(range, before, 0, (fake_point){.stream = NULL});
    fake_range_free(range, FAKE_FREE, (fake_point){.stream = NULL});
    range = range->next;
  }
  fake_range_take(range, range->bytes, place->bytes, (fake_point){.stream = NULL});
  *pointer = fake_address(segment, range);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool handle,
                                CUmemPoolPtrExportData *shared)
{
  CUresult code = fake_enter(FAKE_cuMemPoolImportPointer);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;
  shared_pointer place;

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  memcpy(&place, shared, sizeof(place));
  if (mempool == NULL || !mempool->imported || memcmp(place.magic, magic, sizeof(magic)) != 0 ||
      place.file != inode_of(mempool->fd))
    return fake_leave(CLPI_CUDA_INVALID_VALUE);
  return fake_leave(import_pointer_locked(pointer, mempool, &place));
}
