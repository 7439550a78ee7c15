/* SPDX-License-Identifier: MIT */
/* Two maps, of memory and of contexts, under one lock. */
#include "ledger.h"

#include "core/base/cancel.h"
#include "core/base/map.h"
#include "recording.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct context {
  uint64_t number; /* from 1 */
  uintptr_t queue; /* its only one; 0: none, or several */
  bool has_queues;
} context;

typedef struct holding {
  struct holding *whole; /* what it is part of; NULL: it is memory of its own */
  uint64_t memory;       /* its key */
  uint64_t bytes;
  uint64_t context;
  const char *kind;
  uint64_t flags;
  uintptr_t stream;
  size_t references; /* the program's, and one for each part */
  size_t parts;
} holding;

static struct {
  pthread_mutex_t lock; /* guards the rest, and the recording */
  clpi_map holdings;
  clpi_map contexts; /* by handle; they stay */
  uint64_t context_count;
} ledger = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the lock --- */

/* False: recording has ended, and the lock is not taken. */
static bool begin_entry(void)
{
  if (!clpi_recording_goes_on())
    return false;
  pthread_mutex_lock(&ledger.lock);
  return true;
}

static void end_entry(void)
{
  pthread_mutex_unlock(&ledger.lock);
}

bool clpi_ledger_begin(void)
{
  CLPI_UNCANCELLED;
  return clpi_recording_begin();
}

__attribute__((destructor)) static void write_out(void)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  clpi_recording_write_through();
  end_entry();
}

/* --- maps of pointers --- */

static void *find(const clpi_map *map, const void *key)
{
  const uint64_t *found = key ? clpi_map_find(map, (uintptr_t)key) : NULL;
  return found ? (void *)(uintptr_t)*found : NULL;
}

/* Adds an object of zeros under a new key. NULL: no host memory, and recording ends. */
static void *add(clpi_map *map, const void *key, size_t bytes)
{
  void *added = calloc(1, bytes);
  if (!added || !clpi_map_reserve(map)) {
    free(added);
    clpi_recording_stop();
    return NULL;
  }
  clpi_map_put(map, (uintptr_t)key, (uintptr_t)added);
  return added;
}

/* --- contexts --- */

static context *add_context(const void *handle)
{
  context *found = find(&ledger.contexts, handle);
  if (!found)
    found = add(&ledger.contexts, handle, sizeof(*found));
  if (found)
    *found = (context){.number = ++ledger.context_count};
  return found;
}

/* Contexts may also come from extensions that the layer does not see. NULL: no host memory, or no
 * context, which is the program's mistake. */
static context *find_or_add_context(const void *handle)
{
  context *found = find(&ledger.contexts, handle);
  return found || !handle ? found : add_context(handle);
}

void clpi_ledger_add_context(cl_context handle)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  (void)add_context(handle);
  end_entry();
}

void clpi_ledger_add_queue(cl_context handle, cl_command_queue queue)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  context *found = find_or_add_context(handle);
  if (found) {
    found->queue = found->has_queues ? 0 : (uintptr_t)queue;
    found->has_queues = true;
  }
  end_entry();
}

/* --- memory --- */

static void put_row(const char *action, const holding *of, uintptr_t stream,
                    const clpi_frames *stack)
{
  const clpi_trace_row row = {.action = action,
                              .memory = of->memory,
                              .bytes = of->bytes,
                              .stream = stream,
                              .context = of->context,
                              .kind = of->kind,
                              .flags = of->flags,
                              .stack = stack};
  clpi_recording_put(&row);
}

static void end_holding(holding *one, uintptr_t stream)
{
  uint64_t itself;
  if (one->memory && !one->whole)
    put_row("free", one, stream ? stream : one->stream, NULL);
  if (one->memory)
    clpi_map_take(&ledger.holdings, one->memory, &itself);
  one->memory = 0;
}

static void drop_reference(holding *one, uintptr_t stream)
{
  while (one && --one->references == 0) {
    holding *whole = one->whole;
    end_holding(one, stream);
    free(one);
    if (whole)
      whole->parts--;
    one = whole;
  }
}

/* The layer did not see the end of the program's references; parts may still refer to it. */
static void end_stale(holding *stale)
{
  end_holding(stale, 0);
  stale->references = stale->parts + 1;
  drop_reference(stale, 0);
}

static holding *add_holding(const void *memory)
{
  holding *stale = find(&ledger.holdings, memory);
  if (stale)
    end_stale(stale);
  holding *added = add(&ledger.holdings, memory, sizeof(*added));
  if (added) {
    added->memory = (uintptr_t)memory;
    added->references = 1;
  }
  return added;
}

static void add_memory(const void *handle, const void *memory, size_t bytes, const char *kind,
                       uint64_t flags, const clpi_frames *stack)
{
  if (!begin_entry())
    return;
  const context *of = find_or_add_context(handle);
  holding *added = of ? add_holding(memory) : NULL;
  if (added) {
    added->bytes = bytes;
    added->context = of->number;
    added->kind = kind;
    added->flags = flags;
    added->stream = of->queue;
    put_row("allocate", added, added->stream, stack);
  }
  end_entry();
}

/* Reads the stack without the lock, because that takes microseconds and the locks of others. */
static void add_memory_with_stack(const void *handle, const void *memory, size_t bytes,
                                  const char *kind, uint64_t flags)
{
  clpi_frames stack;
  clpi_frames_read(&stack, NULL);
  add_memory(handle, memory, bytes, kind, flags, &stack);
  clpi_frames_end(&stack);
}

void clpi_ledger_add(const void *handle, const void *memory, size_t bytes, const char *kind,
                     uint64_t flags)
{
  CLPI_UNCANCELLED;
  if (clpi_recording_has_stacks() && clpi_recording_goes_on())
    add_memory_with_stack(handle, memory, bytes, kind, flags);
  else
    add_memory(handle, memory, bytes, kind, flags, NULL);
}

void clpi_ledger_add_part(const void *memory, const void *of)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  holding *whole = find(&ledger.holdings, of);
  holding *added = whole ? add_holding(memory) : NULL;
  if (added) {
    added->whole = whole;
    whole->references++;
    whole->parts++;
  }
  end_entry();
}

void clpi_ledger_refuse(const void *handle, size_t bytes, const char *kind, uint64_t flags)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  const context *of = find_or_add_context(handle);
  if (of) {
    const holding refused = {.bytes = bytes, .context = of->number, .kind = kind, .flags = flags};
    put_row("allocate failure", &refused, of->queue, NULL);
  }
  end_entry();
}

void clpi_ledger_retain(const void *memory)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  holding *found = find(&ledger.holdings, memory);
  if (found)
    found->references++;
  end_entry();
}

void clpi_ledger_release(const void *memory, const void *queue)
{
  CLPI_UNCANCELLED;
  if (!begin_entry())
    return;
  drop_reference(find(&ledger.holdings, memory), (uintptr_t)queue);
  end_entry();
}
