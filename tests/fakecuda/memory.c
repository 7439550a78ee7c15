/* SPDX-License-Identifier: MIT */
/* Memory of pools: who uses which bytes, allocating and freeing in stream order, filling and
 * copying, and what is shared with other processes.
 *
 * Each block is mapped twice: where its device address is nobody may touch it, and for the streams'
 * commands elsewhere. What is exported of a pool is the file that it has its memory in; of an
 * allocation, its place there. A fabric handle tells where to open the file, as long as the
 * exporting process lives. */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 512, PAGE = 1 << 16 }; /* of figures; of files, at least a page */

typedef enum block_state { FREE, IN_USE, FREED } block_state;

/* A stream's use of a part of an allocation. */
typedef struct use use;
struct use {
  size_t offset, bytes; /* in the block */
  bool writes;
  fake_point point;
  use *next;
};

/* Memory that a pool took from a device: an allocation, one that was freed on a stream, or free. */
typedef struct block block;
struct block {
  CUmemoryPool mempool;
  unsigned char *device_address, *bytes_at;
  size_t mapped, bytes, asked; /* `bytes` count, `asked` may be used */
  uint64_t file_offset;        /* in the mempool's file */
  block_state state;
  fake_point point; /* in use: where it was allocated; freed: where it was freed */
  use *uses;
  block *next;
};
static block *blocks;

/* --- blocks --- */

/* Maps a part of the pool's file. NULL: it cannot. */
static block *map_locked(CUmemoryPool mempool, uint64_t file_offset, size_t bytes)
{
  unsigned char *device_address =
      mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  unsigned char *bytes_at =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, mempool->fd, (off_t)file_offset);
  if (device_address == MAP_FAILED || bytes_at == MAP_FAILED) {
    if (device_address != MAP_FAILED)
      munmap(device_address, bytes);
    return NULL;
  }
  block *made = fake_new(sizeof(*made));
  *made = (block){.mempool = mempool,
                  .device_address = device_address,
                  .bytes_at = bytes_at,
                  .mapped = bytes,
                  .bytes = bytes,
                  .file_offset = file_offset,
                  .next = blocks};
  return blocks = made;
}

/* The pool and the device have so many bytes more. */
static void count_locked(CUmemoryPool mempool, size_t bytes)
{
  int device = fake_mempool_device(mempool);
  if (mempool->imported)
    return;
  mempool->reserved += bytes;
  if (mempool->reserved_high < mempool->reserved)
    mempool->reserved_high = mempool->reserved;
  if (device >= 0)
    fake_devices[device].taken += bytes;
}

static void set_free_locked(block *it, block_state state, fake_point point)
{
  while (it->uses) {
    use *dropped = it->uses;
    it->uses = dropped->next;
    free(dropped);
  }
  it->state = state;
  it->point = point;
}

static void delete_locked(block *it)
{
  block **link = &blocks;
  while (*link != it)
    link = &(*link)->next;
  *link = it->next;
  count_locked(it->mempool, -it->bytes);
  set_free_locked(it, FREE, (fake_point){0});
  if (!it->mempool->imported) /* so that the file's memory goes, too */
    (void)madvise(it->bytes_at, it->mapped, MADV_REMOVE);
  munmap(it->bytes_at, it->mapped);
  munmap(it->device_address, it->mapped);
  free(it);
}

/* The block that has the address; NULL: none. */
static block *find_locked(CUdeviceptr pointer)
{
  block *it = blocks;
  while (it && pointer - (uintptr_t)it->device_address >= it->mapped)
    it = it->next;
  return it;
}

/* The allocation that begins there. A violation: there is none. */
static CUresult allocation_locked(CUdeviceptr pointer, block **found)
{
  *found = find_locked(pointer);
  if (*found && (*found)->state == IN_USE && (uintptr_t)(*found)->device_address == pointer)
    return CLPI_CUDA_SUCCESS;
  return fake_wrong(CLPI_CUDA_INVALID_VALUE, "what is freed or exported is no allocation, or free");
}

/* --- who uses which bytes, and whether the order of the streams allows it --- */

static bool overlap(const use *one, const use *other)
{
  return one->offset < other->offset + other->bytes && other->offset < one->offset + one->bytes;
}

/* Why the stream must not use the memory so; NULL: it may. */
static const char *why_not_locked(CUstream stream, const block *it, const use *wanted)
{
  if (!it)
    return "a stream uses what is no device memory";
  if (it->state != IN_USE)
    return "a stream uses memory that is free";
  if (wanted->bytes > it->asked || wanted->offset > it->asked - wanted->bytes)
    return "a stream uses memory past the end of its allocation";
  if (it->mempool->access[stream->ctx->device] != CLPI_CUDA_ACCESS_READ_WRITE)
    return "a device has no access to the memory";
  if (!fake_clock_has(&stream->clock, it->point))
    return "memory is used on a stream that is not ordered after its allocation";
  for (const use *other = it->uses; other; other = other->next)
    if ((other->writes || wanted->writes) && overlap(other, wanted) &&
        !fake_clock_has(&stream->clock, other->point))
      return "two streams use the same memory without order";
  return NULL;
}

/* Makes `*at` the fake's address of memory that the stream uses from here on, having noted the use.
 * A violation: it must not. */
static CUresult use_locked(CUstream stream, CUdeviceptr pointer, size_t bytes, bool writes,
                           unsigned char **at)
{
  block *it = find_locked(pointer);
  size_t offset = it ? (uintptr_t)pointer - (uintptr_t)it->device_address : 0;
  use wanted = {offset, bytes, writes, {stream, stream->given + 1}, it ? it->uses : NULL};
  const char *why_not = why_not_locked(stream, it, &wanted);
  if (why_not)
    return fake_wrong(FAKECUDA_ILLEGAL_ADDRESS, "%s", why_not);
  it->uses = fake_new(sizeof(*it->uses));
  *it->uses = wanted;
  *at = it->bytes_at + offset;
  return CLPI_CUDA_SUCCESS;
}

/* --- allocating and freeing --- */

/* How an allocation on a stream may come by a block, in the order in which it is tried: first of
 * its own size, then cut from a larger one. The driver may also follow events and take what is
 * done: that it need not is the harder case. */
typedef enum way { SAME_STREAM, IS_FREE, GROW, INTERNAL_DEPENDENCY, WAYS } way;

static block *best_locked(CUmemoryPool mempool, size_t bytes, size_t most, CUstream stream, way by)
{
  block *best = NULL;
  for (block *it = blocks; it; it = it->next) {
    bool may = by == SAME_STREAM ? it->point.stream == stream : mempool->reuse[2];
    if (it->mempool == mempool && it->bytes >= bytes && it->bytes <= most &&
        (!best || it->bytes < best->bytes) &&
        (by == IS_FREE ? it->state == FREE : it->state == FREED && may))
      best = it;
  }
  return best;
}

static size_t rounded(size_t bytes, size_t to)
{
  return bytes > SIZE_MAX - to ? SIZE_MAX : (bytes + to - 1) / to * to;
}

/* NULL: the device, the pool or the host has not so much. */
static block *grow_locked(CUmemoryPool mempool, size_t bytes)
{
  int device = fake_mempool_device(mempool);
  size_t most = mempool->props.max_bytes, left = most ? most - (size_t)mempool->reserved : SIZE_MAX;
  uint64_t offset = mempool->file_end;
  if (device >= 0 && left > fakecuda_has.bytes - fake_devices[device].taken)
    left = fakecuda_has.bytes - fake_devices[device].taken;
  if (bytes > left || ftruncate(mempool->fd, (off_t)(offset + bytes)))
    return NULL;
  mempool->file_end += rounded(bytes, PAGE);
  block *made = map_locked(mempool, offset, bytes);
  if (made)
    count_locked(mempool, bytes);
  return made;
}

/* Frees that the host knows of are final. */
static void settle_locked(void)
{
  for (block *it = blocks; it; it = it->next)
    if (it->state == FREED && fake_clock_has(&fake_observed, it->point))
      set_free_locked(it, FREE, (fake_point){0});
}

/* On a stream, which waits for another stream where it must. */
static CUresult allocate_locked(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                CUstream stream)
{
  const fake_clock nothing = {{0}};
  size_t taken = rounded(bytes, ALIGNMENT);
  block *it = NULL;
  if (!bytes || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  fake_begin_locked(stream);
  settle_locked();
  for (unsigned i = 0; !it && i < 2 * WAYS; i++)
    it = i % WAYS == GROW
             ? grow_locked(mempool, taken)
             : best_locked(mempool, taken, i < WAYS ? taken : SIZE_MAX, stream, i % WAYS);
  if (!it)
    return CLPI_CUDA_OUT_OF_MEMORY;
  count_locked(mempool, taken - it->bytes);
  if (it->state == FREED)
    fake_wait_for_locked(stream, it->point, &nothing);
  it->bytes = taken;
  it->asked = bytes;
  it->state = IN_USE;
  it->point = (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})};
  mempool->used += taken;
  if (mempool->used_high < mempool->used)
    mempool->used_high = mempool->used;
  *pointer = (uintptr_t)it->device_address;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t bytes, CUmemoryPool mempool,
                                 CUstream stream)
{
  FAKE_ENTER(cuMemAllocFromPoolAsync);
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(fake_mempool_locked(mempool));
  return allocate_locked(pointer, bytes, mempool, stream);
}

static CUresult allocate_of_device_locked(CUdeviceptr *pointer, size_t bytes, CUstream *stream)
{
  CUresult code;
  FAKE_TRY(fake_uncaptured_locked(stream));
  FAKE_TRY(fake_default_mempool_locked((*stream)->ctx->device));
  return allocate_locked(pointer, bytes, fake_devices[(*stream)->ctx->device].mempool, *stream);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemAllocAsync);
  return allocate_of_device_locked(pointer, bytes, &stream);
}

static CUresult free_locked(CUdeviceptr pointer, CUstream stream)
{
  CUresult code;
  block *it;
  FAKE_TRY(fake_uncaptured_locked(&stream));
  FAKE_TRY(allocation_locked(pointer, &it));
  fake_begin_locked(stream);
  if (!fake_clock_has(&stream->clock, it->point))
    return fake_wrong(CLPI_CUDA_INVALID_VALUE, "memory is freed on a stream that is not "
                                               "ordered after its allocation");
  for (const use *earlier = it->uses; earlier; earlier = earlier->next)
    if (!fake_clock_has(&stream->clock, earlier->point))
      return fake_wrong(CLPI_CUDA_INVALID_VALUE, "memory is freed that a stream may still use");
  if (!it->mempool->imported)
    it->mempool->used -= it->bytes;
  set_free_locked(it, FREED,
                  (fake_point){stream, fake_give_locked(stream, &(fake_command){.bytes = 0})});
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
  FAKE_ENTER(cuMemFreeAsync);
  return free_locked(pointer, stream);
}

/* --- without a stream: all of the context's work is waited for --- */

CUresult cuMemAlloc(CUdeviceptr *pointer, size_t bytes)
{
  FAKE_ENTER(cuMemAlloc);
  CUstream legacy = NULL;
  FAKE_TRY(allocate_of_device_locked(pointer, bytes, &legacy));
  fake_reach_all_locked(legacy->ctx);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr pointer)
{
  FAKE_ENTER(cuMemFree);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  fake_reach_all_locked(ctx);
  return pointer ? free_locked(pointer, NULL) : CLPI_CUDA_SUCCESS;
}

/* --- filling and copying --- */

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char byte, size_t count, CUstream stream)
{
  FAKE_ENTER(cuMemsetD8Async);
  fake_command command = {.byte = byte, .bytes = count};
  FAKE_TRY(fake_uncaptured_locked(&stream));
  fake_begin_locked(stream);
  FAKE_TRY(use_locked(stream, pointer, count, true, &command.to));
  (void)fake_give_locked(stream, &command);
  return CLPI_CUDA_SUCCESS;
}

/* `to_host`: NULL, or where to copy instead of to `to`. */
static CUresult copy_locked(void *to_host, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream)
{
  CUresult code;
  unsigned char *source;
  fake_command command = {.to = to_host, .bytes = bytes};
  FAKE_TRY(fake_uncaptured_locked(&stream));
  fake_begin_locked(stream);
  FAKE_TRY(use_locked(stream, from, bytes, false, &source));
  if (!to_host)
    FAKE_TRY(use_locked(stream, to, bytes, true, &command.to));
  command.from = source;
  (void)fake_give_locked(stream, &command);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemcpyDtoHAsync);
  return copy_locked(to, 0, from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
  FAKE_ENTER(cuMemcpyDtoDAsync);
  return copy_locked(NULL, to, from, bytes, stream);
}

/* --- giving back --- */

/* What is free as far as the host knows. */
void fake_mempool_release_locked(CUmemoryPool mempool, uint64_t keep)
{
  block *next;
  settle_locked();
  for (block *it = blocks; it; it = next) {
    next = it->next;
    if (it->mempool == mempool && it->state == FREE &&
        (mempool->imported || mempool->reserved - it->bytes >= keep))
      delete_locked(it);
  }
}

/* --- sharing --- */

enum { FABRIC_BYTES = 64 };

typedef struct place {
  uint64_t file; /* its inode */
  uint64_t offset, bytes;
} place;

_Static_assert(sizeof(place) <= sizeof(clpi_cuda_shared_pointer), "it has to fit");

/* 0: it is no file. */
static uint64_t inode_of(int fd)
{
  struct stat found;
  return fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_ino : 0;
}

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool mempool,
                                          clpi_cuda_handle_type type, unsigned long long flags)
{
  FAKE_ENTER(cuMemPoolExportToShareableHandle);
  FAKE_TRY(fake_mempool_locked(mempool));
  if (mempool->imported || flags || !(mempool->props.handle_types & type))
    return CLPI_CUDA_INVALID_VALUE;
  int fd = mempool->fd;
  if (type == CLPI_CUDA_HANDLE_FABRIC)
    (void)snprintf(memset(out, 0, FABRIC_BYTES), FABRIC_BYTES, "/proc/%d/fd/%d", (int)getpid(), fd);
  else
    fd = *(int *)out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? CLPI_CUDA_OUT_OF_MEMORY : CLPI_CUDA_SUCCESS;
}

/* Taken for one of device 0. */
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *mempool, void *handle,
                                            clpi_cuda_handle_type type, unsigned long long flags)
{
  FAKE_ENTER(cuMemPoolImportFromShareableHandle);
  clpi_cuda_mempool_props props = {.location = {CLPI_CUDA_LOCATION_DEVICE, 0}};
  int fd = -1;
  if (type == CLPI_CUDA_HANDLE_POSIX_FD)
    fd = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
  else if (memchr(handle, '\0', FABRIC_BYTES))
    fd = open(handle, O_RDWR | O_CLOEXEC);
  if (flags || !inode_of(fd)) {
    close(fd);
    return CLPI_CUDA_INVALID_VALUE;
  }
  *mempool = fake_mempool_new_locked(&props);
  (*mempool)->imported = true;
  dup2(fd, (*mempool)->fd);
  close(fd);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shared, CUdeviceptr pointer)
{
  FAKE_ENTER(cuMemPoolExportPointer);
  block *it;
  FAKE_TRY(allocation_locked(pointer, &it));
  if (it->mempool->imported || !it->mempool->props.handle_types)
    return CLPI_CUDA_INVALID_VALUE;
  place exported = {inode_of(it->mempool->fd), it->file_offset, it->asked};
  memcpy(memset(shared, 0, sizeof(*shared)), &exported, sizeof(exported));
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *pointer, CUmemoryPool mempool,
                                CUmemPoolPtrExportData *shared)
{
  FAKE_ENTER(cuMemPoolImportPointer);
  place of;
  memcpy(&of, shared, sizeof(of));
  FAKE_TRY(fake_mempool_locked(mempool));
  if (!mempool->imported || !of.file || of.file != inode_of(mempool->fd))
    return CLPI_CUDA_INVALID_VALUE;
  block *it = map_locked(mempool, of.offset, (size_t)of.bytes);
  if (!it)
    return CLPI_CUDA_OUT_OF_MEMORY;
  it->state = IN_USE;
  it->asked = (size_t)of.bytes;
  *pointer = (uintptr_t)it->device_address;
  return CLPI_CUDA_SUCCESS;
}

/* --- what is left --- */

static size_t live_locked(void)
{
  size_t live = 0;
  for (const block *it = blocks; it; it = it->next)
    live += it->state == IN_USE;
  return live;
}

size_t fakecuda_live_allocations(void)
{
  FAKE_LOCK;
  return live_locked();
}

void fake_memory_reset_locked(void)
{
  if (live_locked() > 0)
    (void)fake_wrong(0, "%zu allocations were not freed", live_locked());
  while (blocks)
    delete_locked(blocks);
}
