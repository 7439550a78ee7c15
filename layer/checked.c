/* SPDX-License-Identifier: MIT */
#include "checked.h"

#include "dispatch.h"
#include "references.h"
#include "stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZONE_BYTE = 0xA5, QUARANTINE_BYTE = 0xDB, OBJECT_BYTES = 1024 };

typedef struct list {
  clpi_checked *first, *last;
} list;

clpi_check_settings clpi_checks;
const size_t clpi_mem_size = sizeof(clpi_checked);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static list live, held; /* what the program has; the quarantine, of which the first goes first */
static size_t held_bytes, svm_count;
static uint64_t serials;
static char latest_kernel[64] = "none";
static atomic_bool is_ending; /* then nothing is freed that another thread may look at */

static void append_locked(list *to, clpi_checked *it)
{
  it->before = to->last;
  it->next = NULL;
  *(to->last ? &to->last->next : &to->first) = it;
  to->last = it;
}

static void take_locked(list *from, clpi_checked *it)
{
  *(it->before ? &it->before->next : &from->first) = it->next;
  *(it->next ? &it->next->before : &from->last) = it->before;
}

clpi_checked *clpi_checked_find_svm(const void *pointer)
{
  const uintptr_t at = (uintptr_t)pointer;
  clpi_checked *found = clpi_checked_find((cl_mem)pointer);
  pthread_mutex_lock(&lock);
  for (clpi_checked *it = svm_count ? live.first : NULL; it && !found; it = it->next)
    if (it->is_svm && at - (uintptr_t)it->mem.handle < it->mem.bytes)
      found = it;
  pthread_mutex_unlock(&lock);
  return found;
}

static clpi_check_memory memory_of(const clpi_checked *it)
{
  return (clpi_check_memory){it->context, it->is_svm ? NULL : it->mem.handle,
                             (char *)it->mem.handle, it->mem.bytes,
                             it->mem.block_bytes - it->mem.bytes};
}

/* --- what the program has --- */

bool clpi_checked_fill(const clpi_check_memory *memory, cl_mem source)
{
  return clpi_check_fill(memory, source, (int)clpi_checks.fill, ZONE_BYTE);
}

clpi_checked *clpi_checked_add(clpi_check_context *context, cl_mem handle, const char *what,
                               size_t bytes, size_t zone_bytes)
{
  clpi_checked *it = clpi_checked_find(handle);
  if (!it && !(it = (clpi_checked *)clpi_mem_add(handle)))
    return NULL;
  it->context = context;
  it->what = what;
  it->is_svm = strstr(what, "shared") != NULL;
  it->has_zone = zone_bytes > 0;
  it->mem.references = 1;
  it->mem.bytes = bytes;
  it->mem.block_bytes = bytes + zone_bytes;
  it->allocated = clpi_stack_here();
  context->users++;
  clpi_checked_evict(clpi_checks.quarantine_bytes);
  pthread_mutex_lock(&lock);
  it->serial = ++serials;
  svm_count += it->is_svm;
  append_locked(&live, it);
  pthread_mutex_unlock(&lock);
  return it;
}

void clpi_checked_note_kernel(clpi_checked *it, const char *kernel, uint64_t enqueue)
{
  pthread_mutex_lock(&lock);
  if (it) {
    it->had_several_kernels |= *it->kernel && strcmp(it->kernel, kernel) != 0;
    it->enqueue = enqueue;
    snprintf(it->kernel, sizeof(it->kernel), "%s", kernel);
  }
  snprintf(latest_kernel, sizeof(latest_kernel), "%s", kernel);
  pthread_mutex_unlock(&lock);
}

/* Who may have written to it since the last time. */
static void take_kernel(clpi_checked *it, char who[160])
{
  pthread_mutex_lock(&lock);
  if (*it->kernel)
    snprintf(who, 160, "%s `%s`, enqueue %" PRIu64 ",",
             it->had_several_kernels ? "one of several kernels, the latest" : "kernel", it->kernel,
             it->enqueue);
  else
    snprintf(who, 160, "the program");
  *it->kernel = '\0';
  it->had_several_kernels = false;
  pthread_mutex_unlock(&lock);
}

void clpi_checked_compare(clpi_checked *it, uint32_t here)
{
  const clpi_check_memory memory = memory_of(it);
  char who[160];
  size_t first, count;
  take_kernel(it, who);
  if (!it->has_zone ||
      !(count = clpi_check_compare(&memory, memory.bytes, memory.zone_bytes, ZONE_BYTE, &first)))
    return;
  clpi_find(CLPI_PAST_END, (clpi_places){here, it->released, it->allocated},
            "%s wrote %zu byte%s at offset +%zu behind %s of %zu bytes", who, count,
            count == 1 ? "" : "s", first - memory.bytes, it->what, memory.bytes);
  (void)clpi_check_fill(&memory, NULL, -1, ZONE_BYTE);
}

/* --- what it has released --- */

static void forget(clpi_checked *it, bool is_freed)
{
  const clpi_check_memory memory = memory_of(it);
  (void)clpi_mem_take(it->mem.handle);
  if (!is_ending)
    free(it);
  if (is_freed)
    clpi_check_free(&memory);
  clpi_check_drop_user(memory.context);
}

static void evict(clpi_checked *it)
{
  const clpi_check_memory memory = memory_of(it);
  char kernel[sizeof(latest_kernel)];
  size_t first;
  pthread_mutex_lock(&lock);
  memcpy(kernel, latest_kernel, sizeof(kernel));
  pthread_mutex_unlock(&lock);
  if (!it->was_compared && clpi_check_await_all(it->context))
    clpi_checked_compare(it, 0);
  if (it->is_filled && clpi_check_compare(&memory, 0, memory.bytes, QUARANTINE_BYTE, &first) > 0)
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
    oldest = held_bytes > bytes ? held.first : NULL;
    if (oldest) {
      take_locked(&held, oldest);
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
  const clpi_check_memory memory = memory_of(it);
  it->is_filled = it->was_compared && it->has_zone && clpi_check_sees_all &&
                  clpi_check_fill(&memory, NULL, QUARANTINE_BYTE, -1);
  pthread_mutex_lock(&lock);
  held_bytes += bytes_held_for(it);
  append_locked(&held, it);
  if (it->mem.whole)
    it->mem.whole->held_parts++;
  pthread_mutex_unlock(&lock);
  if (!clpi_check_is_called_back)
    clpi_checked_evict(clpi_checks.quarantine_bytes);
}

static void take_from_program(clpi_checked *it)
{
  it->released = clpi_stack_here();
  pthread_mutex_lock(&lock);
  svm_count -= it->is_svm;
  take_locked(&live, it);
  pthread_mutex_unlock(&lock);
}

void clpi_checked_forget(clpi_checked *it)
{
  if (!it)
    return;
  take_from_program(it);
  if (clpi_check_await_all(it->context))
    clpi_checked_compare(it, 0);
  forget(it, false);
}

/* The driver calls the program back when watched memory goes, and knows more about mapped memory:
 * neither is held back. */
static void end(clpi_checked *it)
{
  take_from_program(it);
  if (it->map_count)
    clpi_find(CLPI_WRONG_CALL, (clpi_places){it->released, 0, it->allocated},
              "the program releases, while it is mapped, %s of %zu bytes", it->what, it->mem.bytes);
  if ((it->was_compared = clpi_check_await_all(it->context)))
    clpi_checked_compare(it, 0);
  if (!it->mem.is_watched && !it->map_count && bytes_held_for(it) <= clpi_checks.quarantine_bytes) {
    hold(it);
    return;
  }
  if (it->mem.held_parts > 0)
    clpi_checked_evict(0);
  forget(it, true);
}

cl_int clpi_checked_drop(clpi_checked *it)
{
  while (clpi_references_drop(&it->mem.references) == 1) {
    clpi_checked *whole = (clpi_checked *)it->mem.whole;
    end(it);
    if (!whole)
      return CL_SUCCESS;
    whole->mem.parts--;
    it = whole;
  }
  return it->mem.whole ? clpi_target->clReleaseMemObject(it->mem.handle) : CL_SUCCESS;
}

/* --- at the end --- */

/* Takes the first of the live ones that have not had a turn, and moves it behind the others. */
static clpi_checked *take_turn(void)
{
  pthread_mutex_lock(&lock);
  clpi_checked *it = live.first;
  if (it && !it->had_turn) {
    it->had_turn = true;
    it->context->users++;
    take_locked(&live, it);
    append_locked(&live, it);
  } else {
    it = NULL;
  }
  pthread_mutex_unlock(&lock);
  return it;
}

/* Other threads may release memory meanwhile. */
void clpi_checked_finish(void)
{
  clpi_checked *it;
  is_ending = true;
  clpi_checked_evict(0);
  while ((it = take_turn())) {
    if (it->has_zone && clpi_check_await_all(it->context))
      clpi_checked_compare(it, 0);
    clpi_check_drop_user(it->context);
  }
}

void clpi_checked_find_leaks(void)
{
  pthread_mutex_lock(&lock);
  for (clpi_checked *it = live.first; it; it = it->next) {
    size_t count = 0, bytes = 0;
    for (clpi_checked *like = it->is_told ? NULL : it; like; like = like->next)
      if (like->allocated == it->allocated && like->what == it->what) {
        like->is_told = true;
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
