/* SPDX-License-Identifier: MIT */
/* What needs no lock of the pool's, although it is not warm. Here another thread has that lock, so
 * whoever takes it hangs, and the test is over when its time is. */
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

#include <semaphore.h>

enum { BLOCKS = 100, HELD = 64, BYTES = 100, ROUNDS = 12 };

static void lock(clp_pool *pool)
{
  pthread_mutex_lock(&pool->stock.lock);
}

static void unlock(clp_pool *pool)
{
  pthread_mutex_unlock(&pool->stock.lock);
}

static bool take(clp_pool *pool, clp_buffer **buffers, size_t count)
{
  bool ok = true;

  for (size_t i = 0; i < count; i++)
    ok = clp_pool_allocate(pool, BYTES, &buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}

static bool release(clp_buffer *const *buffers, size_t count)
{
  bool ok = true;

  for (size_t i = 0; i < count; i++)
    ok = clp_buffer_release(buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}

static void *free_held(void *pool)
{
  return clp_pool_free_held(pool) == CLP_SUCCESS ? pool : NULL;
}

static size_t count_buffers(const clp_pool *pool)
{
  size_t count = 0;

  for (const clpi_slab *slab = pool->stock.slabs.all; slab; slab = slab->next)
    count += slab->count;
  return count;
}

/* Though other threads miss in the same bin, so nobody writes to the line of its depot's lock; and
 * though it was another thread (in the second run) that freed this one's blocks. */
START_TEST(misses)
{
  clpt_rig rig;
  pthread_t thread;
  void *freed = NULL;
  clp_buffer *buffers[BLOCKS];
  bool ok;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, HELD);
  if (_i == 0) {
    freed = free_held(rig.pool);
  } else {
    ck_assert_int_eq(pthread_create(&thread, NULL, free_held, rig.pool), 0);
    ck_assert_int_eq(pthread_join(thread, &freed), 0);
  }
  ck_assert_ptr_nonnull(freed);
  pthread_mutex_t *depot_lock = &rig.pool->stock.store.by_index[1].bin->depot.lock;
  lock(rig.pool);
  pthread_mutex_lock(depot_lock);
  ok = take(rig.pool, buffers, BLOCKS);
  pthread_mutex_unlock(depot_lock);
  unlock(rig.pool);
  ck_assert(ok);
  ck_assert_uint_lt(count_buffers(rig.pool), HELD + BLOCKS); /* the first ones serve again */
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, HELD + BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_allocations, HELD + BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, rig.device.live_bytes);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_managed_bytes, rig.device.live_bytes);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_active_bytes, BLOCKS * BYTES);
  ck_assert(release(buffers, BLOCKS));
  clpt_rig_end(&rig);
}
END_TEST

/* --- while the device is asked --- */

typedef struct intrusion {
  clp_pool *pool;
  clp_buffer *spare; /* a block of the bin, to be released in time */
  void (*intrude)(struct intrusion *it, clpt_device *device);
} intrusion;

static void lose_the_last_reference(intrusion *it, clpt_device *device)
{
  (void)device;
  clp_pool_release(it->pool);
}

static void stop_holding(intrusion *it, clpt_device *device)
{
  (void)device;
  (void)clp_pool_stop_holding(it->pool);
}

static void set_limit(intrusion *it, clpt_device *device)
{
  (void)device;
  (void)clp_pool_set_limit(it->pool, 1);
}

static void leave_an_error(intrusion *it, clpt_device *device)
{
  (void)it;
  (void)device;
  (void)clp_set_last_error(CLP_BACKEND_ERROR, 1, "inner trouble, recovered");
}

static void be_full_while_a_block_is_released(intrusion *it, clpt_device *device)
{
  (void)clp_buffer_release(it->spare);
  device->allocate_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
}

static void on_call(clpt_device *device, clpt_call call, size_t bytes)
{
  intrusion *it = device->on_call_data;

  (void)bytes;
  if (call != CLPT_ALLOCATE || it->intrude == NULL)
    return;
  void (*intrude)(intrusion *, clpt_device *) = it->intrude;
  it->intrude = NULL;
  intrude(it, device);
}

static const struct {
  void (*intrude)(intrusion *it, clpt_device *device);
  size_t live_after; /* blocks at the device once the buffer is released */
  bool ends_pool, takes_spare;
} intrusions[] = {
    {lose_the_last_reference, 0, true, false},
    {stop_holding, 0, false, false},
    {set_limit, 1, false, false},
    {leave_an_error, 1, false, false},
    {be_full_while_a_block_is_released, 1, false, true},
};
enum { INTRUSIONS = sizeof(intrusions) / sizeof(intrusions[0]) };

/* The call succeeds all the same, with the last error as it was, and the figures are right. */
START_TEST(whatever_happens_meanwhile_a_miss_is_ended)
{
  clpt_rig rig;
  intrusion it = {.spare = NULL};
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  if (intrusions[_i].takes_spare)
    it.spare = clpt_allocate(rig.pool, BYTES);
  it.pool = rig.pool;
  it.intrude = intrusions[_i].intrude;
  rig.device.on_call_data = &it;
  rig.device.on_call = on_call;
  (void)clp_set_last_error(CLP_INVALID_ARGUMENT, 0, "before");
  ck_assert_int_eq(clp_pool_allocate(rig.pool, BYTES, &buffer), CLP_SUCCESS);
  ck_assert_ptr_null(it.intrude);
  ck_assert_str_eq(clp_last_error()->message, "before");
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  if (!intrusions[_i].ends_pool) {
    ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, rig.device.live_bytes);
    ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
    ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, intrusions[_i].takes_spare);
  }
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(rig.device.live_blocks, intrusions[_i].live_after);
  if (intrusions[_i].ends_pool)
    rig.pool = NULL;
  clpt_rig_end(&rig);
}
END_TEST

/* --- handing over --- */

/* A thread that allocates when it is told to. */
typedef struct producer {
  clp_pool *pool;
  sem_t go, done;
  clp_buffer *buffers[BLOCKS];
  size_t count; /* of blocks at a time */
  bool ok, may_end;
} producer;

static void *produce(void *argument)
{
  producer *it = argument;

  for (;;) {
    sem_wait(&it->go);
    if (it->may_end)
      return NULL;
    it->ok = take(it->pool, it->buffers, it->count) && it->ok;
    sem_post(&it->done);
  }
}

static void have_produced(producer *it)
{
  sem_post(&it->go);
  sem_wait(&it->done);
}

/* Once blocks have gone round a few times. */
START_TEST(handing_blocks_over)
{
  clpt_rig rig;
  pthread_t thread;
  producer it = {.count = BLOCKS, .ok = true};
  bool ok = true;

  clpt_rig_start(&rig);
  it.pool = rig.pool;
  sem_init(&it.go, 0, 0);
  sem_init(&it.done, 0, 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, produce, &it), 0);
  for (int i = 0; i < ROUNDS; i++) {
    have_produced(&it);
    ok = release(it.buffers, it.count) && ok;
  }
  it.count = BLOCKS - CLPI_BATCH_BLOCKS; /* the others may still wait in this thread's cache */
  lock(rig.pool);
  have_produced(&it);
  unlock(rig.pool);
  (void)clpt_stats(rig.pool); /* which notes the peak, as a release would have to now and then */
  lock(rig.pool);
  ok = release(it.buffers, it.count) && ok;
  unlock(rig.pool);
  ck_assert(ok && it.ok);
  ck_assert_uint_le(clpt_stats(rig.pool).misses, BLOCKS + CLPI_BATCH_BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  it.may_end = true;
  sem_post(&it.go);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("without the lock", clpt_run)
{
  TCase *tests = clpt_case(suite, "without the lock");

  tcase_add_loop_test(tests, misses, 0, 2);
  tcase_add_loop_test(tests, whatever_happens_meanwhile_a_miss_is_ended, 0, INTRUSIONS);
  tcase_add_test(tests, handing_blocks_over);
}
