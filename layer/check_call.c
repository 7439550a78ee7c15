/* SPDX-License-Identifier: MIT */
#include "check_call.h"

#include "dispatch.h"
#include "exact.h"
#include "references.h"
#include "work.h"

#include <stdio.h>

static _Thread_local const char *running; /* the function that the program has called */

void clpi_check_tell(clpi_finding_kind kind, const char *name, const char *does,
                     const clpi_checked *it)
{
  clpi_find(kind, (clpi_places){clpi_stack_here(), it->released, it->allocated},
            "%s %s %s of %zu bytes", name, does, it->what, it->mem.bytes);
}

static clpi_check_call begin_call(const char *name, cl_command_queue handle)
{
  clpi_check_queue *queue = clpi_check_find_queue(handle);
  clpi_check_call call = {.queue = queue, .context = queue ? queue->context : NULL};
  snprintf(call.name, sizeof(call.name), "%s", name);
  running = name;
  if (queue && queue->references == 0)
    clpi_find(CLPI_WRONG_CALL, (clpi_places){.here = clpi_stack_here()},
              "%s is given a queue that was released", name);
  return call;
}

static cl_int end_call(const clpi_check_call *call, cl_int code)
{
  if (call->queue)
    call->queue->has_work = true; /* after the call, since others may be waiting for the queue */
  else if (!code)
    clpi_check_sees_all = false;
  if (code == CL_MEM_COPY_OVERLAP)
    clpi_find(CLPI_WRONG_CALL, (clpi_places){.here = clpi_stack_here()},
              "%s is given ranges that overlap", call->name);
  if (!code && call->mapped)
    call->mapped->map_count++;
  if (!code && call->kernel)
    clpi_check_after_run(call);
  if (call->unmapped &&
      (code ? code == CL_INVALID_VALUE : !clpi_references_drop(&call->unmapped->map_count)))
    clpi_check_tell(CLPI_WRONG_CALL, call->name, "unmaps what is not mapped:", call->unmapped);
  return code;
}

clpi_checked *clpi_check_use(const clpi_check_call *call, clpi_checked *it, bool writes)
{
  if (it && it->mem.references == 0) {
    clpi_check_tell(CLPI_AFTER_RELEASE, call->name, "uses after its release", it);
    it->is_filled = false; /* what the call does is told */
  } else if (it && call->context && call->context != it->context) {
    clpi_check_tell(CLPI_WRONG_CALL, call->name, "uses in another context", it);
  }
  if (it && writes)
    clpi_checked_root(it)->was_written = true;
  return it;
}

static bool is_unwritten(clpi_checked *it)
{
  return it && !clpi_checked_root(it)->was_written && clpi_check_sees_all;
}

static void read_from(const clpi_check_call *call, clpi_checked *it)
{
  if (is_unwritten(clpi_check_use(call, it, false)))
    clpi_check_tell(CLPI_UNWRITTEN, call->name, "reads what nothing has written:", it);
}

static void copy(const clpi_check_call *call, clpi_checked *from, clpi_checked *to)
{
  const bool writes = !is_unwritten(clpi_check_use(call, from, false));
  (void)clpi_check_use(call, to, writes);
}

static void map(clpi_check_call *call, clpi_checked *it, cl_map_flags flags)
{
  if (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
    (void)clpi_check_use(call, it, true);
  else
    read_from(call, it);
  call->mapped = it;
}

static void use_all(const clpi_check_call *call, const cl_mem *mems, cl_uint count, bool writes)
{
  for (cl_uint i = 0; mems && i < count; i++)
    (void)clpi_check_use(call, clpi_checked_find(mems[i]), writes);
}

/* Returns how many the driver is to free: 0 if one was freed before. Those that the program's
 * function is to free end here, too: it runs in the midst of the queue's work, and cannot wait. */
static cl_uint free_svm(const clpi_check_call *call, void *const *pointers, cl_uint count,
                        bool is_freed)
{
  for (cl_uint i = 0; pointers && i < count; i++) {
    clpi_checked *it = clpi_checked_find(pointers[i]);
    if (it && it->mem.references == 0) {
      clpi_check_tell(CLPI_WRONG_CALL, call->name, "frees once too often", it);
      return 0;
    }
    if (it)
      clpi_checked_forget(it, is_freed);
  }
  return count;
}

/* The driver knows the zone as a part of the buffer. */
void clpi_mem_see_beyond(const clpi_mem *memory)
{
  const clpi_checked *it = (const clpi_checked *)memory;
  clpi_check_tell(CLPI_WRONG_CALL, running, "is given a range that ends behind", it);
}

#define READS(mem)            read_from(&call, clpi_checked_find(mem))
#define WRITES(mem)           (void)clpi_check_use(&call, clpi_checked_find(mem), true)
#define COPIES(from, to)      copy(&call, clpi_checked_find(from), clpi_checked_find(to))
#define UNMAPS(mem)           call.unmapped = clpi_check_use(&call, clpi_checked_find(mem), false)
#define RUNS(kernel)          clpi_check_run(&call, kernel)
#define COPIES_SVM(from, to)  copy(&call, clpi_checked_at(from, bytes), clpi_checked_at(to, bytes))
#define WRITES_SVM(to)        (void)clpi_check_use(&call, clpi_checked_at(to, bytes), true)
#define MAPS_SVM(at, flags)   map(&call, clpi_checked_at(at, bytes), flags)
#define UNMAPS_SVM(at)        call.unmapped = clpi_check_use(&call, clpi_checked_at(at, 0), false)
#define USES_ALL(mems, n)     use_all(&call, mems, n, false)
#define WRITES_ALL(mems, n)   use_all(&call, mems, n, true)
#define FREES_SVM(svm, n, by) pointer_count = free_svm(&call, svm, n, !(by))
#define DEPENDS(queue)        (void)0

#define DEFINE(name, parameters, arguments, uses, move)                                            \
  static cl_int CL_API_CALL seen_##name CLPI_PARAMETERS parameters                                 \
  {                                                                                                \
    clpi_check_call call = begin_call(#name, queue);                                               \
    uses;                                                                                          \
    move;                                                                                          \
    return end_call(&call, clpi_target->name CLPI_ARGUMENTS arguments);                            \
  }
CLPI_WORK(DEFINE)
#undef DEFINE

#define DEFINE(name, mem, parameters, arguments, move)                                             \
  static void *CL_API_CALL seen_##name parameters                                                  \
  {                                                                                                \
    clpi_check_call call = begin_call(#name, queue);                                               \
    cl_int result = CL_SUCCESS;                                                                    \
    map(&call, clpi_checked_find(mem), flags);                                                     \
    move;                                                                                          \
    void *host = clpi_target->name arguments;                                                      \
    end_call(&call, result);                                                                       \
    if (code)                                                                                      \
      *code = result;                                                                              \
    return host;                                                                                   \
  }
CLPI_MAPS(DEFINE)
#undef DEFINE

void clpi_work_fill(cl_icd_dispatch *functions)
{
#define SET(name, ...) functions->name = seen_##name;
  CLPI_WORK(SET)
  CLPI_MAPS(SET)
#undef SET
}
