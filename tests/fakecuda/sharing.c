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

typedef struct place {
  uint64_t file; /* its inode */
  uint64_t offset, bytes;
} place;

_Static_assert(sizeof(place) <= sizeof(clpi_cuda_shared_pointer), "it has to fit");

/* 0: there is no such file. */
static uint64_t inode_of(int fd)
{
  struct stat found;
  return fstat(fd, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool mempool,
                                          clpi_cuda_handle_type type, unsigned long long flags)
{
  FAKE_ENTER(cuMemPoolExportToShareableHandle);
  FAKE_TRY(fake_mempool_locked(mempool));
  if (mempool->imported || flags || !(mempool->props.handle_types & type))
    return CLPI_CUDA_INVALID_VALUE;
  int fd = fake_mempool_file_locked(mempool);
  if (type == CLPI_CUDA_HANDLE_FABRIC)
    (void)snprintf(memset(out, 0, FABRIC_BYTES), FABRIC_BYTES, "/proc/%d/fd/%d", (int)getpid(), fd);
  else
    fd = *(int *)out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? CLPI_CUDA_OUT_OF_MEMORY : CLPI_CUDA_SUCCESS;
}

/* Where the memory of the pool is, as the file's name tells. */
static bool read_location(int fd, CUmemLocation *location)
{
  char link[32], name[64] = "";
  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  return readlink(link, name, sizeof(name) - 1) > 0 &&
         sscanf(name, "/memfd:fakecuda-%d-%d", &location->type, &location->id) == 2;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *mempool, void *handle,
                                            clpi_cuda_handle_type type, unsigned long long flags)
{
  FAKE_ENTER(cuMemPoolImportFromShareableHandle);
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .handle_types = type};
  int fd = -1;
  if (type == CLPI_CUDA_HANDLE_POSIX_FD)
    fd = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
  else if (memchr(handle, '\0', FABRIC_BYTES))
    fd = open(handle, O_RDWR | O_CLOEXEC);
  if (flags || fd < 0 || !read_location(fd, &props.location)) {
    if (fd >= 0)
      close(fd);
    return CLPI_CUDA_INVALID_VALUE;
  }
  *mempool = fake_mempool_new_locked(&props);
  (*mempool)->imported = true;
  (*mempool)->fd = fd;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shared, CUdeviceptr pointer)
{
  FAKE_ENTER(cuMemPoolExportPointer);
  fake_segment *segment;
  fake_range *range;
  FAKE_TRY(fake_allocation_locked(pointer, &segment, &range));
  if (segment->mempool->imported || !segment->mempool->props.handle_types)
    return CLPI_CUDA_INVALID_VALUE;
  place exported = {.file = inode_of(segment->mempool->fd),
                    .offset = segment->file_offset + range->offset,
                    .bytes = range->asked};
  if (fakecuda_planted == FAKECUDA_POINTERS_ARE_OF_OTHER_MEMORY)
    exported.offset += FAKE_ALIGNMENT;
  memcpy(memset(shared, 0, sizeof(*shared)), &exported, sizeof(exported));
  return CLPI_CUDA_SUCCESS;
}

/* Maps whole pages, in which the allocation may begin anywhere. */
CUresult cuMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool mempool,
                                CUmemPoolPtrExportData *shared)
{
  FAKE_ENTER(cuMemPoolImportPointer);
  place of;
  memcpy(&of, shared, sizeof(of));
  FAKE_TRY(fake_mempool_locked(mempool));
  if (!mempool->imported || !of.file || of.file != inode_of(mempool->fd))
    return CLPI_CUDA_INVALID_VALUE;
  size_t before = of.offset % (uint64_t)sysconf(_SC_PAGESIZE);
  fake_segment *segment = fake_segment_map_locked(mempool, of.offset - before, before + of.bytes);
  if (!segment)
    return CLPI_CUDA_OUT_OF_MEMORY;
  fake_range *range = segment->ranges;
  if (before > 0) {
    fake_range_take(range, before, 0, (fake_point){0});
    fake_range_free(range, FAKE_FREE, (fake_point){0});
    range = range->next;
  }
  fake_range_take(range, range->bytes, of.bytes, (fake_point){0});
  *pointer = fake_address(segment, range);
  return CLPI_CUDA_SUCCESS;
}
