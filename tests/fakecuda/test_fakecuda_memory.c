/* SPDX-License-Identifier: MIT */
/* The fake CUDA driver's memory pools do what the driver documents: attributes, limits, reuse,
 * trimming, access, and whose current pool is which. */
#include "support/cuda_fixture.h"

#include <stdatomic.h>

enum { BYTES = 4096, GRANULE = 2 << 20, DEVICE_BYTES = 16 << 20 };

static CUstream stream, other;

static void setup(void)
{
  fakecuda_set_devices(2, DEVICE_BYTES);
  clpt_fake_open(0);
  stream = clpt_fake_stream();
  other = clpt_fake_stream();
}

static void teardown(void)
{
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_cu_ok(cuStreamDestroy(other));
  clpt_fake_close(0);
}

static CUmemPoolProps props_of(CUdevice device)
{
  return (CUmemPoolProps){.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, device}};
}

static CUmemoryPool mempool_new(size_t max_bytes)
{
  CUmemPoolProps props = props_of(0);
  CUmemoryPool mempool;

  props.max_bytes = max_bytes;
  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  return mempool;
}

static CUdeviceptr allocate(CUmemoryPool mempool, size_t bytes, CUstream on)
{
  CUdeviceptr memory;

  clpt_cu_ok(cuMemAllocFromPoolAsync(&memory, bytes, mempool, on));
  return memory;
}

static uint64_t get(CUmemoryPool mempool, int attribute)
{
  uint64_t value = 0;

  clpt_cu_ok(cuMemPoolGetAttribute(mempool, attribute, &value));
  return value;
}

static void set_switch(CUmemoryPool mempool, int attribute, int value)
{
  clpt_cu_ok(cuMemPoolSetAttribute(mempool, attribute, &value));
}

static void keep_all(CUmemoryPool mempool)
{
  uint64_t most = UINT64_MAX;

  clpt_cu_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &most));
}

/* --- figures and limits --- */

START_TEST(a_pool_counts_what_it_reserved_and_what_is_used)
{
  CUmemoryPool mempool = mempool_new(0);
  uint64_t zero = 0, one = 1;
  CUdeviceptr first = allocate(mempool, 1000, stream), second = allocate(mempool, BYTES, stream);

  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), GRANULE);
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_USED), 1024 + BYTES);
  clpt_cu_ok(cuMemFreeAsync(second, stream));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_USED), 1024);
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_USED_HIGH), 1024 + BYTES);
  clpt_cu_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_USED_HIGH, &zero));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_USED_HIGH), 1024);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_RESERVED_HIGH, &one));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE,
                cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_USED, &zero));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolGetAttribute(mempool, 99, &one));
  clpt_cu_ok(cuMemFreeAsync(first, stream));
  clpt_cu_ok(cuStreamSynchronize(stream));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 0);
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED_HIGH), GRANULE);
  clpt_cu_ok(cuMemPoolDestroy(mempool));
}
END_TEST

START_TEST(a_synchronization_releases_what_is_over_the_threshold)
{
  CUmemoryPool mempool = mempool_new(0);
  uint64_t threshold = GRANULE;
  CUdeviceptr first = allocate(mempool, GRANULE, stream);
  CUdeviceptr second = allocate(mempool, GRANULE, stream);

  clpt_cu_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &threshold));
  clpt_cu_ok(cuMemFreeAsync(first, stream));
  clpt_cu_ok(cuMemFreeAsync(second, stream));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 2 * GRANULE);
  clpt_cu_ok(cuCtxSynchronize());
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), GRANULE);
  clpt_cu_ok(cuMemPoolDestroy(mempool));
}
END_TEST

START_TEST(a_trim_gives_back_what_the_host_knows_to_be_free)
{
  CUmemoryPool mempool = mempool_new(0);
  CUdeviceptr first = allocate(mempool, GRANULE, stream);
  CUdeviceptr second = allocate(mempool, GRANULE, stream);

  keep_all(mempool);
  clpt_cu_ok(cuMemFreeAsync(first, stream));
  clpt_cu_ok(cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 2 * GRANULE);
  clpt_cu_ok(cuStreamSynchronize(stream));
  clpt_cu_ok(cuMemPoolTrimTo(mempool, 2 * GRANULE));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 2 * GRANULE);
  clpt_cu_ok(cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_RESERVED), GRANULE);
  clpt_cu_ok(cuMemFreeAsync(second, stream));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
}
END_TEST

START_TEST(a_pool_has_a_most_and_so_has_the_device)
{
  CUmemoryPool limited = mempool_new(GRANULE), unlimited = mempool_new(0);
  CUdeviceptr memory = allocate(limited, GRANULE, stream), all, none;
  size_t free_bytes, total;

  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, limited, stream));
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 0, limited, stream));
  clpt_cu_ok(cuMemGetInfo(&free_bytes, &total));
  ck_assert_uint_eq(total, DEVICE_BYTES);
  ck_assert_uint_eq(free_bytes, DEVICE_BYTES - GRANULE);
  all = allocate(unlimited, free_bytes, stream);
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, unlimited, stream));
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY,
                cuMemAllocFromPoolAsync(&none, SIZE_MAX, unlimited, stream));
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAlloc(&none, 1));
  clpt_cu_ok(cuMemFreeAsync(all, stream));
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAlloc(&none, 1)); /* still the pool's */
  clpt_cu_ok(cuStreamSynchronize(stream));
  clpt_cu_ok(cuMemAlloc(&none, 1));
  clpt_cu_ok(cuMemFree(none));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuMemPoolDestroy(limited));
  clpt_cu_ok(cuMemPoolDestroy(unlimited));
}
END_TEST

/* --- reuse --- */

/* A pool of one granule that is freed on `stream`, which is held. */
static CUmemoryPool freed_on_held_stream(CUdeviceptr *freed)
{
  CUmemoryPool mempool = mempool_new(GRANULE);

  *freed = allocate(mempool, GRANULE, stream);
  fakecuda_hold(stream);
  clpt_cu_ok(cuMemFreeAsync(*freed, stream));
  for (int i = 1; i <= 3; i++)
    set_switch(mempool, i, 0);
  return mempool;
}

static void end(CUmemoryPool mempool, CUdeviceptr memory, CUstream on)
{
  clpt_cu_ok(cuMemFreeAsync(memory, on));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  fakecuda_go_on(stream);
}

START_TEST(freed_memory_is_back_on_its_stream_at_once_and_elsewhere_when_the_host_knows)
{
  CUdeviceptr freed, none, memory;
  CUmemoryPool mempool = freed_on_held_stream(&freed);

  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, mempool, other));
  memory = allocate(mempool, GRANULE, stream);
  ck_assert_uint_eq(memory, freed);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_fake_order(stream, other);
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, mempool, other));
  fakecuda_go_on(stream);
  keep_all(mempool);
  clpt_cu_ok(cuStreamSynchronize(stream));
  memory = allocate(mempool, GRANULE, other);
  ck_assert_uint_eq(memory, freed);
  end(mempool, memory, other);
}
END_TEST

START_TEST(memory_follows_events_where_that_is_on)
{
  CUdeviceptr freed, none, memory;
  CUmemoryPool mempool = freed_on_held_stream(&freed);

  set_switch(mempool, CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, 1);
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, mempool, other));
  clpt_fake_order(stream, other);
  memory = allocate(mempool, GRANULE, other);
  ck_assert_uint_eq(memory, freed);
  end(mempool, memory, other);
}
END_TEST

static void mark_done(void *user_data)
{
  atomic_store((_Atomic int *)user_data, 1);
}

START_TEST(memory_is_taken_when_it_happens_to_be_free_where_that_is_on)
{
  CUdeviceptr freed, none, memory;
  CUmemoryPool mempool = freed_on_held_stream(&freed);
  _Atomic int done = 0;

  set_switch(mempool, CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, 1);
  clpt_cu_fails(CLPI_CUDA_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&none, 1, mempool, other));
  clpt_cu_ok(cuLaunchHostFunc(stream, mark_done, &done));
  fakecuda_go_on(stream);
  while (atomic_load(&done) == 0)
    ;
  memory = allocate(mempool, GRANULE, other);
  ck_assert_uint_eq(memory, freed);
  end(mempool, memory, other);
}
END_TEST

START_TEST(a_stream_is_made_to_wait_for_memory_where_that_is_on)
{
  CUdeviceptr freed, memory;
  CUmemoryPool mempool = freed_on_held_stream(&freed);

  set_switch(mempool, CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, 1);
  memory = allocate(mempool, GRANULE, other);
  ck_assert_uint_eq(memory, freed);
  clpt_fake_fill(memory, 3, BYTES, other);
  clpt_cu_fails(CLPI_CUDA_NOT_READY, cuStreamQuery(other));
  fakecuda_go_on(stream);
  clpt_fake_assert_filled(memory, 3, BYTES, other);
  end(mempool, memory, other);
}
END_TEST

START_TEST(a_pool_grows_before_a_stream_has_to_wait)
{
  CUmemoryPool mempool = mempool_new(0);
  CUdeviceptr freed = allocate(mempool, GRANULE, stream), memory;

  fakecuda_hold(stream);
  clpt_cu_ok(cuMemFreeAsync(freed, stream));
  memory = allocate(mempool, GRANULE, other);
  ck_assert_uint_ne(memory, freed);
  end(mempool, memory, other);
}
END_TEST

START_TEST(free_neighbours_become_one)
{
  CUmemoryPool mempool = mempool_new(GRANULE);
  CUdeviceptr parts[4], whole;

  keep_all(mempool);
  for (int i = 0; i < 4; i++)
    parts[i] = allocate(mempool, GRANULE / 4, stream);
  for (int i = 0; i < 4; i++)
    clpt_cu_ok(cuMemFreeAsync(parts[(i * 3) % 4], stream));
  whole = allocate(mempool, GRANULE, stream);
  ck_assert_uint_eq(whole, parts[0]);
  end(mempool, whole, stream);
}
END_TEST

/* --- whose pool, and who may use it --- */

START_TEST(each_device_has_a_default_pool_and_a_current_one)
{
  CUmemoryPool of_default, current, mempool = mempool_new(0), of_other;
  CUdeviceptr memory;

  clpt_cu_ok(cuDeviceGetDefaultMemPool(&of_default, 0));
  clpt_cu_ok(cuDeviceGetDefaultMemPool(&of_other, 1));
  ck_assert_ptr_ne(of_default, of_other);
  clpt_cu_ok(cuDeviceGetMemPool(&current, 0));
  ck_assert_ptr_eq(current, of_default);
  clpt_cu_ok(cuDeviceSetMemPool(0, mempool));
  clpt_cu_ok(cuDeviceGetMemPool(&current, 0));
  ck_assert_ptr_eq(current, mempool);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuDeviceSetMemPool(1, mempool));
  clpt_cu_ok(cuMemAllocAsync(&memory, BYTES, stream));
  ck_assert_uint_eq(get(mempool, CLPI_CUDA_MEMPOOL_USED), BYTES);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  clpt_cu_ok(cuDeviceGetMemPool(&current, 0));
  ck_assert_ptr_eq(current, of_default);
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolDestroy(of_default));
  fakecuda_set_mempools_supported(1, false);
  clpt_cu_fails(CLPI_CUDA_NOT_SUPPORTED, cuDeviceGetMemPool(&current, 1));
}
END_TEST

START_TEST(a_destroyed_pool_lives_until_its_last_memory_is_free)
{
  CUmemoryPool mempool = mempool_new(0);
  CUdeviceptr memory = allocate(mempool, BYTES, stream);
  size_t free_bytes, total;

  clpt_cu_ok(cuMemPoolDestroy(mempool));
  clpt_fake_fill(memory, 3, BYTES, stream);
  clpt_fake_assert_filled(memory, 3, BYTES, stream);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamSynchronize(stream));
  clpt_cu_ok(cuMemGetInfo(&free_bytes, &total));
  ck_assert_uint_eq(free_bytes, total);
}
END_TEST

START_TEST(other_devices_need_access)
{
  CUmemPoolProps props = props_of(1);
  CUmemoryPool mempool;
  CUdeviceptr memory;
  CUmemLocation zero = {CLPI_CUDA_LOCATION_DEVICE, 0}, one = {CLPI_CUDA_LOCATION_DEVICE, 1};
  CUmemAccessDesc access = {zero, CLPI_CUDA_ACCESS_READ_WRITE};
  int flags;

  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  clpt_cu_ok(cuMemPoolGetAccess(&flags, mempool, &one));
  ck_assert_int_eq(flags, CLPI_CUDA_ACCESS_READ_WRITE);
  clpt_cu_ok(cuMemPoolGetAccess(&flags, mempool, &zero));
  ck_assert_int_eq(flags, CLPI_CUDA_ACCESS_NONE);
  fakecuda_set_peers(false);
  clpt_cu_fails(CLPI_CUDA_INVALID_DEVICE, cuMemPoolSetAccess(mempool, &access, 1));
  fakecuda_set_peers(true);
  clpt_cu_ok(cuMemPoolSetAccess(mempool, &access, 1));
  clpt_cu_ok(cuMemPoolGetAccess(&flags, mempool, &zero));
  ck_assert_int_eq(flags, CLPI_CUDA_ACCESS_READ_WRITE);
  memory = allocate(mempool, BYTES, stream);
  clpt_fake_fill(memory, 3, BYTES, stream);
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  access = (CUmemAccessDesc){one, CLPI_CUDA_ACCESS_NONE};
  clpt_cu_fails(CLPI_CUDA_INVALID_DEVICE, cuMemPoolSetAccess(mempool, &access, 1));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
}
END_TEST

START_TEST(host_memory_of_a_node_can_be_pooled)
{
  CUmemPoolProps props = props_of(0);
  CUmemAccessDesc access = {{CLPI_CUDA_LOCATION_DEVICE, 0}, CLPI_CUDA_ACCESS_READ_WRITE};
  CUmemoryPool mempool;
  CUdeviceptr memory;
  size_t free_bytes, total;

  props.location = (CUmemLocation){CLPI_CUDA_LOCATION_HOST_NUMA, 1};
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolCreate(&mempool, &props));
  props.location.id = 0;
  fakecuda_set_host_numa_supported(false);
  clpt_cu_fails(CLPI_CUDA_NOT_SUPPORTED, cuMemPoolCreate(&mempool, &props));
  fakecuda_set_host_numa_supported(true);
  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  clpt_cu_ok(cuMemPoolSetAccess(mempool, &access, 1));
  memory = allocate(mempool, BYTES, stream);
  clpt_fake_fill(memory, 3, BYTES, stream);
  clpt_cu_ok(cuMemGetInfo(&free_bytes, &total));
  ck_assert_uint_eq(free_bytes, total);
  end(mempool, memory, stream);
}
END_TEST

START_TEST(properties_that_make_no_sense_are_refused)
{
  CUmemPoolProps props = props_of(2);
  CUmemoryPool mempool;

  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolCreate(&mempool, &props));
  props = props_of(0);
  props.allocation_type = 0;
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolCreate(&mempool, &props));
  props = props_of(0);
  props.reserved[53] = 1;
  clpt_cu_fails(CLPI_CUDA_INVALID_VALUE, cuMemPoolCreate(&mempool, &props));
  props = props_of(0);
  props.handle_types = CLPI_CUDA_HANDLE_FABRIC;
  clpt_cu_fails(CLPI_CUDA_NOT_SUPPORTED, cuMemPoolCreate(&mempool, &props));
}
END_TEST

/* --- copies --- */

START_TEST(memory_is_copied_both_ways_and_between)
{
  unsigned char bytes[BYTES], found[BYTES] = {0};
  CUdeviceptr first, second;

  clpt_cu_ok(cuMemAlloc(&first, BYTES));
  clpt_cu_ok(cuMemAlloc(&second, BYTES));
  for (int i = 0; i < BYTES; i++)
    bytes[i] = (unsigned char)i;
  fakecuda_hold(stream);
  clpt_cu_ok(cuMemcpyHtoDAsync(first, bytes, BYTES, stream));
  memset(bytes, 0, BYTES);
  clpt_cu_ok(cuMemcpyDtoDAsync(second, first + 1, BYTES - 1, stream));
  clpt_cu_ok(cuMemcpyDtoHAsync(found, second, BYTES, stream));
  fakecuda_go_on(stream);
  clpt_cu_ok(cuStreamSynchronize(stream));
  for (int i = 0; i < BYTES - 1; i++)
    ck_assert_uint_eq(found[i], (unsigned char)(i + 1));
  clpt_cu_ok(cuMemFree(first));
  clpt_cu_ok(cuMemFree(second));
  clpt_cu_ok(cuMemFree(0));
}
END_TEST

CLPT_MAIN("fakecuda_memory", clpt_fake_run)
{
  TCase *figures = clpt_fake_case(suite, "figures");
  TCase *reuse = clpt_fake_case(suite, "reuse");
  TCase *pools = clpt_fake_case(suite, "pools");

  tcase_add_checked_fixture(figures, setup, teardown);
  tcase_add_checked_fixture(reuse, setup, teardown);
  tcase_add_checked_fixture(pools, setup, teardown);
  tcase_add_test(figures, a_pool_counts_what_it_reserved_and_what_is_used);
  tcase_add_test(figures, a_synchronization_releases_what_is_over_the_threshold);
  tcase_add_test(figures, a_trim_gives_back_what_the_host_knows_to_be_free);
  tcase_add_test(figures, a_pool_has_a_most_and_so_has_the_device);
  tcase_add_test(reuse,
                 freed_memory_is_back_on_its_stream_at_once_and_elsewhere_when_the_host_knows);
  tcase_add_test(reuse, memory_follows_events_where_that_is_on);
  tcase_add_test(reuse, memory_is_taken_when_it_happens_to_be_free_where_that_is_on);
  tcase_add_test(reuse, a_stream_is_made_to_wait_for_memory_where_that_is_on);
  tcase_add_test(reuse, a_pool_grows_before_a_stream_has_to_wait);
  tcase_add_test(reuse, free_neighbours_become_one);
  tcase_add_test(pools, each_device_has_a_default_pool_and_a_current_one);
  tcase_add_test(pools, a_destroyed_pool_lives_until_its_last_memory_is_free);
  tcase_add_test(pools, other_devices_need_access);
  tcase_add_test(pools, host_memory_of_a_node_can_be_pooled);
  tcase_add_test(pools, properties_that_make_no_sense_are_refused);
  tcase_add_test(pools, memory_is_copied_both_ways_and_between);
}
