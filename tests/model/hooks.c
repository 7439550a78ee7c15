/* SPDX-License-Identifier: MIT */
/* Hooks of the thread and of pools: their order, their pairs, what they are shown. */
#include "model.h"

#include <string.h>

static bool is_called_for(const model_hook *hook, int pool)
{
  return hook->order && (hook->pool < 0 || hook->pool == pool);
}

static unsigned count_hooks(const model *it, int pool)
{
  unsigned count = 0;
  for (const model_hook *hook = it->hooks; hook < it->hooks + MODEL_HOOKS; hook++)
    count += is_called_for(hook, pool);
  return count;
}

static int find_pool(const model *it, const clp_pool *pool)
{
  for (unsigned i = 0; i < it->pool_count; i++)
    if (it->pools[i].pool == pool)
      return (int)i;
  return -1; /* a pool that its user does not have any more */
}

/* All hooks were called for the last kind of callback. */
static void end_round(model *it)
{
  REQUIRE(it->kind == MODEL_NO_KIND || it->called == count_hooks(it, it->kind_pool));
  it->kind = MODEL_NO_KIND;
}

/* The first hook of a new kind: a preprocess begins something, its postprocess ends it. */
static void begin_round(model *it, unsigned kind, int pool)
{
  end_round(it);
  it->kind = kind;
  it->kind_pool = pool;
  it->called = 0;
  it->order = 0;
  if (kind % 2 == 0) {
    REQUIRE(it->depth < sizeof(it->kinds) / sizeof(it->kinds[0]));
    it->kinds[it->depth++] = kind;
    return;
  }
  REQUIRE(it->depth > 0 && it->kinds[--it->depth] == kind - 1);
}

static void check_event(const model *it, const clp_hook_event *event, unsigned kind)
{
  bool is_malloc = kind / 2 * 2 == MODEL_MALLOC, is_free = kind / 2 * 2 == MODEL_FREE;
  if (is_malloc)
    REQUIRE(event->size == it->asked);
  if (is_malloc || is_free)
    REQUIRE(event->mem_size >= event->size);
  if (kind == MODEL_MALLOC || kind == MODEL_ALLOC)
    REQUIRE(!event->memory && !event->buffer_id);
  if (is_free)
    REQUIRE(event->buffer_id && (event->memory || !event->size));
}

static void count(model *it, int pool, const clp_hook_event *event, unsigned kind)
{
  model_pool *at = &it->pools[pool];
  at->mallocs += kind == MODEL_MALLOC + 1 && event->buffer_id;
  at->allocs += kind == MODEL_ALLOC + 1 && event->memory;
  at->frees += kind == MODEL_DEVICE_FREE + 1 && event->memory;
}

static void see(const clp_hook_event *event, model_hook *hook, unsigned kind)
{
  model *it = hook->model;
  int pool = find_pool(it, event->pool);
  if (kind != it->kind || pool != it->kind_pool || hook->order <= it->order)
    begin_round(it, kind, pool);
  it->order = hook->order;
  it->called++;
  check_event(it, event, kind);
  if (pool >= 0 && hook == &it->hooks[MODEL_THREAD_HOOKS + pool])
    count(it, pool, event, kind);
}

#define CALLBACKS(X)                                                                               \
  X(malloc_preprocess, MODEL_MALLOC)                                                               \
  X(malloc_postprocess, MODEL_MALLOC + 1)                                                          \
  X(alloc_preprocess, MODEL_ALLOC)                                                                 \
  X(alloc_postprocess, MODEL_ALLOC + 1)                                                            \
  X(free_preprocess, MODEL_FREE)                                                                   \
  X(free_postprocess, MODEL_FREE + 1)                                                              \
  X(device_free_preprocess, MODEL_DEVICE_FREE)                                                     \
  X(device_free_postprocess, MODEL_DEVICE_FREE + 1)

/* clang-format off */
#define X(name, kind)                                                                              \
  static void see_##name(const clp_hook_event *event, void *hook) { see(event, hook, kind); }
CALLBACKS(X)
#undef X
/* clang-format on */

void model_hooks_begin(model *it)
{
  it->kind = MODEL_NO_KIND;
  for (unsigned i = 0; i < MODEL_HOOKS; i++) {
    model_hook *hook = &it->hooks[i];
    hook->model = it;
    (void)snprintf(hook->name, sizeof(hook->name), "hook %u", i);
    hook->hook = (clp_hook){.struct_size = sizeof(clp_hook), .name = hook->name, .user_data = hook};
#define X(name, kind) hook->hook.name = see_##name;
    CALLBACKS(X)
#undef X
  }
}

static void begin(model *it, model_hook *hook, int pool)
{
  end_round(it);
  clp_status status = pool < 0 ? LIB(clp_hook_push(&hook->hook))
                               : LIB(clp_pool_add_hook(it->pools[pool].pool, &hook->hook));
  REQUIRE(!status || (it->may_fail && status == CLP_OUT_OF_HOST_MEMORY));
  hook->pool = pool;
  hook->order = status ? 0 : ++it->registrations;
}

static void end(model *it, model_hook *hook)
{
  end_round(it);
  clp_status status = hook->pool < 0
                          ? LIB(clp_hook_pop(&hook->hook))
                          : LIB(clp_pool_remove_hook(it->pools[hook->pool].pool, &hook->hook));
  REQUIRE(!status);
  hook->order = 0;
}

void model_hook_watch(model *it, unsigned pool)
{
  begin(it, &it->hooks[MODEL_THREAD_HOOKS + pool], (int)pool);
}

void model_hook_toggle(model *it, unsigned at, int pool)
{
  model_hook *hook = &it->hooks[at % MODEL_THREAD_HOOKS];
  if (hook->order)
    end(it, hook);
  else
    begin(it, hook, pool);
}

void model_hooks_end(model *it, int pool)
{
  for (model_hook *hook = it->hooks; hook < it->hooks + MODEL_HOOKS; hook++)
    if (hook->order && (pool < 0 || hook->pool == pool))
      end(it, hook);
}

void model_hooks_check(model *it)
{
  end_round(it);
  REQUIRE(it->depth == 0);
}
