/* SPDX-License-Identifier: MIT */
#include "checked.h"

#include "dispatch.h"
#include "exact.h"
#include "references.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUARANTINE_BYTE = 0xDB, OBJECT_BYTES = 1024 };

clpi_check_settings clpi_checks;
_Atomic(const char *) clpi_check_latest_kernel = "none";
const size_t clpi_mem_size = sizeof(clpi_checked);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static clpi_list live = {&live, &live};                  /* what the program has */
static clpi_list held = {&held, &held};                  /* the quarantine; the first goes first */
static size_t held_bytes;

clpi_checked *clpi_checked_at(const void *pointer, size_t bytes)
{
  clpi_list *const lists[] = {&live, &held};
  clpi_checked *found = clpi_checked_find((cl_mem)pointer);
  if (pointer && !found) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !found && i < sizeof(lists) / sizeof(*lists); i++)
      clpi_list_each (clpi_checked, it, lists[i], link)
        if (it->is_svm && (uintptr_t)pointer - (uintptr_t)it->mem.handle < it->mem.bytes)
          found = it;
    pthread_mutex_unlock(&lock);
  }
  if (found && bytes > found->mem.bytes - ((uintptr_t)pointer - (uintptr_t)found->mem.handle))
    clpi_mem_see_beyond(&found->mem);
  return found;
}

/* --- what the program has --- */

void clpi_checked_add(const clpi_checked *draft)
{
  clpi_checked *it = clpi_checked_find(draft->mem.handle);
  if (!it && !(it = (clpi_checked *)clpi_mem_add(draft->mem.handle)))
    return;
  clpi_checked *whole = (clpi_checked *)it->mem.whole;
  const size_t origin = it->mem.origin;
  *it = *draft;
  it->mem.whole = whole ? &whole->mem : NULL;
  it->mem.origin = origin;
  it->mem.references = it->holders = 1;
  it->allocated = clpi_stack_here();
  it->context->users++;
  if (whole)
    whole->holders++;
  clpi_checked_evict(clpi_checks.quarantine_bytes);
  pthread_mutex_lock(&lock);
  clpi_list_push_back(&live, &it->link);
  pthread_mutex_unlock(&lock);
}

void clpi_checked_let_go(clpi_checked *it)
{
  for (clpi_checked *whole; it && clpi_references_drop(&it->holders) == 1; it = whole) {
    whole = (clpi_checked *)it->mem.whole;
    free(it);
  }
}

void clpi_checked_compare(clpi_checked *it, uint32_t here)
{
  char who[160] = "the program";
  const char *kernel = atomic_exchange(&it->kernel, NULL);
  const bool had_several = atomic_exchange(&it->had_several_kernels, false);
  const size_t bytes = it->mem.bytes, zone_bytes = clpi_checked_zone(it);
  size_t first, count;
  if (zone_bytes == 0 ||
      !(count = clpi_check_compare(it, bytes, zone_bytes, CLPI_ZONE_BYTE, &first)))
    return;
  if (kernel)
    snprintf(who, sizeof(who), "%s `%s`, enqueue %" PRIuFAST64 ",",
             had_several ? "one of several kernels, the latest" : "kernel", kernel,
             it->kernel_number);
  clpi_find(CLPI_PAST_END, (clpi_places){here, it->released, it->allocated},
            "%s wrote %zu byte%s at offset +%zu behind %s of %zu bytes", who, count,
            count == 1 ? "" : "s", first - bytes, it->what, bytes);
  (void)clpi_check_fill(it, NULL, -1, CLPI_ZONE_BYTE);
}

/* --- what it has released --- */

static void forget(clpi_checked *it, bool is_freed)
{
  (void)clpi_mem_take(it->mem.handle);
  if (is_freed)
    clpi_check_free(it);
  clpi_check_drop_user(it->context);
  clpi_checked_let_go(it);
}

static void evict(clpi_checked *it)
{
  size_t first;
  const char *kernel = clpi_check_latest_kernel;
  if (!it->was_compared && clpi_check_await_all(it->context))
    clpi_checked_compare(it, 0);
  if (it->is_filled && clpi_check_compare(it, 0, it->mem.bytes, QUARANTINE_BYTE, &first) > 0)
    clpi_find(CLPI_AFTER_RELEASE, (clpi_places){0, it->released, it->allocated},
              "work that was enqueued after the release (the latest kernel: `%s`) wrote at offset "
              "%zu of %s of %zu bytes",
              kernel, first, it->what, it->mem.bytes);
  forget(it, true);
}

static size_t bytes_held_for(const clpi_checked *it)
{
  return (it->mem.whole ? 0 : it->mem.block_bytes) + OBJECT_BYTES;
}

void clpi_checked_evict(size_t bytes)
{
  for (clpi_checked *oldest;; evict(oldest)) {
    pthread_mutex_lock(&lock);
    oldest = held_bytes > bytes ? clpi_list_entry(held.next, clpi_checked, link) : NULL;
    if (oldest) {
      clpi_list_remove(&oldest->link);
      held_bytes -= bytes_held_for(oldest);
      if (oldest->mem.whole)
        oldest->mem.whole->held_parts--;
    }
    pthread_mutex_unlock(&lock);
    if (!oldest)
      return;
  }
}

static void hold(clpi_checked *it)
{
  it->is_filled = it->was_compared && clpi_checked_zone(it) > 0 && clpi_check_sees_all &&
                  clpi_check_fill(it, NULL, QUARANTINE_BYTE, -1);
  pthread_mutex_lock(&lock);
  held_bytes += bytes_held_for(it);
  clpi_list_push_back(&held, &it->link);
  if (it->mem.whole)
    it->mem.whole->held_parts++;
  pthread_mutex_unlock(&lock);
  clpi_checked_evict(clpi_checks.quarantine_bytes);
}

static void take_from_program(clpi_checked *it)
{
  it->released = clpi_stack_here();
  pthread_mutex_lock(&lock);
  clpi_list_remove(&it->link);
  pthread_mutex_unlock(&lock);
  if ((it->was_compared = clpi_check_await_all(it->context)))
    clpi_checked_compare(it, 0);
}

void clpi_checked_forget(clpi_checked *it, bool is_freed)
{
  take_from_program(it);
  it->mem.references = is_freed ? 0 : 1; /* for kernels that have it */
  it->mem.block_bytes = it->mem.bytes;
  forget(it, false);
}

/* The driver calls the program back when watched memory goes, and knows more about mapped memory:
 * neither is held back. The allocator of OpenCL's C++ header frees what it has mapped. */
static void end(clpi_checked *it)
{
  take_from_program(it);
  if (it->map_count && !it->is_svm)
    clpi_find(CLPI_WRONG_CALL, (clpi_places){it->released, 0, it->allocated},
              "the program releases, while it is mapped, %s of %zu bytes", it->what, it->mem.bytes);
  if (!it->mem.is_watched && !it->map_count && bytes_held_for(it) <= clpi_checks.quarantine_bytes) {
    hold(it);
    return;
  }
  if (it->mem.held_parts > 0)
    clpi_checked_evict(0);
  forget(it, true);
}

/* Other threads may end it as soon as its reference is dropped. */
cl_int clpi_checked_drop(clpi_checked *it)
{
  for (clpi_checked *whole;; it = whole) {
    const cl_mem handle = it->mem.handle;
    whole = (clpi_checked *)it->mem.whole;
    const bool is_last = clpi_references_drop(&it->mem.references) == 1;
    if (is_last)
      end(it);
    if (!is_last || !whole)
      return whole ? clpi_target->clReleaseMemObject(handle) : CL_SUCCESS;
    whole->mem.parts--;
  }
}

/* --- at the end --- */

/* Returns a context that has memory with a zone and was not waited for, with a user. NULL: none. */
static clpi_check_context *find_busy(void)
{
  clpi_check_context *found = NULL;
  pthread_mutex_lock(&lock);
  clpi_list_each (clpi_checked, it, &live, link)
    if (clpi_checked_zone(it) > 0 && !it->context->was_awaited)
      found = it->context;
  if (found) {
    found->was_awaited = true;
    found->users++;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

/* Waits without the lock, which callbacks of the program may need. Then other threads that make or
 * release memory wait. */
void clpi_checked_finish(void)
{
  clpi_checked_evict(0);
  for (clpi_check_context *context; (context = find_busy()); clpi_check_drop_user(context))
    context->is_idle = clpi_check_await_all(context);
  pthread_mutex_lock(&lock);
  clpi_list_each (clpi_checked, it, &live, link)
    if (clpi_checked_zone(it) > 0 && it->context->is_idle)
      clpi_checked_compare(it, 0);
  pthread_mutex_unlock(&lock);
}

void clpi_checked_find_leaks(void)
{
  pthread_mutex_lock(&lock);
  clpi_list_each (clpi_checked, it, &live, link) {
    size_t count = 0, bytes = 0;
    for (clpi_list *link = &it->link; !it->is_told && link != &live; link = link->next) {
      clpi_checked *like = clpi_list_entry(link, clpi_checked, link);
      if (like->allocated != it->allocated || like->what != it->what)
        continue;
      like->is_told = like != it;
      count++;
      bytes += like->mem.whole ? 0 : like->mem.bytes;
    }
    if (count > 0)
      clpi_find(CLPI_LEAK, (clpi_places){0, 0, it->allocated},
                "never released%s: %zu %s%s, %zu bytes in all,",
                it->context->references > 0 ? "" : ", though the context was", count,
                strchr(it->what, ' ') + 1, count == 1 ? "" : "s", bytes);
  }
  pthread_mutex_unlock(&lock);
}
