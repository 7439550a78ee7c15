/* SPDX-License-Identifier: MIT */
/* A thread that keeps blocks in its cache and sleeps. */
#include "sleeper.h"

#include "core/cache/fence.h"
#include "core/pool/pool.h"
#include "suite.h"

bool clpt_take_and_release(clp_pool *pool, size_t bytes, size_t blocks)
{
  clp_buffer *buffers[1000];
  bool ok = true;

  for (size_t i = 0; i < blocks; i++)
    ok = clp_pool_allocate(pool, bytes, &buffers[i]) == CLP_SUCCESS && ok;
  for (size_t i = 0; i < blocks; i++)
    ok = clp_buffer_release(buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}

static void *fill_cache_and_sleep(void *argument)
{
  clpt_sleeper *self = argument;

  self->failed = !clpt_take_and_release(self->pool, self->bytes, self->blocks);
  sem_post(&self->done);
  sem_wait(&self->may_end);
  return NULL;
}

void clpt_sleeper_start(clpt_sleeper *self, clp_pool *pool, size_t bytes, size_t blocks)
{
  *self = (clpt_sleeper){.pool = pool, .bytes = bytes, .blocks = blocks};
  sem_init(&self->done, 0, 0);
  sem_init(&self->may_end, 0, 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, fill_cache_and_sleep, self), 0);
  sem_wait(&self->done);
  ck_assert(!self->failed);
}

void clpt_sleeper_end(clpt_sleeper *self)
{
  sem_post(&self->may_end);
  ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
  sem_destroy(&self->done);
  sem_destroy(&self->may_end);
}

void clpt_sleeping_rig_start(clpt_sleeping_rig *self)
{
  clpt_rig_start(&self->rig);
  clpt_sleeper_start(&self->sleeper, self->rig.pool, CLPT_KEPT_BYTES, CLPT_KEPT);
}

size_t clpt_stored_blocks(clp_pool *pool)
{
  pthread_mutex_lock(&pool->stock.lock);
  clpi_store_list_all(&pool->stock.store);
  size_t blocks = pool->stock.store.listed_blocks;
  pthread_mutex_unlock(&pool->stock.lock);
  return blocks;
}

size_t clpt_count_caches(const clp_pool *pool)
{
  return pool->stock.cache_count;
}

void clpt_be_symmetric(void)
{
  clpi_fence_init();
  clpi_fence_is_asymmetric = false;
}
