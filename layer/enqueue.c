/* SPDX-License-Identifier: MIT */
/* The program's work, shown to the order of its context, and kept within what the program asked
 * for: blocks are larger. */
#include "work.h"

#include "buffer.h"
#include "dispatch.h"
#include "exact.h"
#include "queue.h"

#include <stdlib.h>
#include <string.h>

/* --- what work waits for --- */

/* A call that gives a queue work. */
typedef struct work {
  clpi_context *context; /* NULL: the layer does not know it */
  cl_event *longer;      /* the call's list, if there is a mark; NULL: the program's */
  clpi_attempt attempt;
} work;

/* Returns the mark, followed by the program's list. NULL: the driver must refuse the list, or the
 * mark is done. */
static cl_event *lengthen(cl_event mark, cl_uint count, const cl_event *list)
{
  bool is_right = !count == !list;
  cl_event *longer = is_right ? malloc((count + (size_t)1) * sizeof(*longer)) : NULL;
  if (!longer) {
    if (is_right)
      clpi_target->clWaitForEvents(1, &mark);
    clpi_target->clReleaseEvent(mark);
    return NULL;
  }
  longer[0] = mark;
  if (count > 0)
    memcpy(longer + 1, list, count * sizeof(*longer));
  return longer;
}

/* Before the call, whose list it may replace. */
static work begin(cl_command_queue handle, cl_uint *count, const cl_event **list)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  cl_event *longer = mark ? lengthen(mark, *count, *list) : NULL;
  if (longer) {
    *list = longer;
    ++*count;
  }
  return (work){queue ? queue->context : NULL, longer, clpi_attempt_begin()};
}

/* After the call. True: make it again. */
static bool again(work *it, cl_int code)
{
  if (code && clpi_attempt_again(&it->attempt, code, it->context))
    return true;
  if (it->longer) {
    clpi_target->clReleaseEvent(it->longer[0]);
    free(it->longer);
  }
  return false;
}

/* The work uses no memory. */
static void begin_bare(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  if (mark)
    clpi_target->clReleaseEvent(mark);
}

/* --- functions that give a queue work --- */

static void see_dependence(cl_command_queue handle)
{
  const clpi_queue *queue = clpi_queue_find(handle);
  if (queue)
    clpi_order_depends(queue->context);
}

#define DEPENDS(queue) see_dependence(queue)

#define DEFINE(name, parameters, arguments, uses, move)                                            \
  static cl_int CL_API_CALL seen_##name CLPI_PARAMETERS parameters                                 \
  {                                                                                                \
    move;                                                                                          \
    cl_int code;                                                                                   \
    work it = begin(queue, &count, &list);                                                         \
    do                                                                                             \
      code = clpi_target->name CLPI_ARGUMENTS arguments;                                           \
    while (again(&it, code));                                                                      \
    return code;                                                                                   \
  }
CLPI_WORK(DEFINE)
#undef DEFINE

/* Calls that use no memory, and without a list wait for all earlier work. */
#define BARE_WORK(X)                                                                               \
  X(clEnqueueMarkerWithWaitList,                                                                   \
    (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, count, list, event))                                                                   \
  X(clEnqueueBarrierWithWaitList,                                                                  \
    (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event),                \
    (queue, count, list, event))                                                                   \
  X(clEnqueueMarker, (cl_command_queue queue, cl_event * event), (queue, event))                   \
  X(clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *list),         \
    (queue, count, list))                                                                          \
  X(clEnqueueBarrier, (cl_command_queue queue), (queue))

#define DEFINE(name, parameters, arguments)                                                        \
  static cl_int CL_API_CALL seen_##name parameters                                                 \
  {                                                                                                \
    begin_bare(queue);                                                                             \
    return clpi_target->name arguments;                                                            \
  }
BARE_WORK(DEFINE)
#undef DEFINE

#define DEFINE(name, mem, parameters, arguments, move)                                             \
  static void *CL_API_CALL seen_##name parameters                                                  \
  {                                                                                                \
    move;                                                                                          \
    cl_int result = CL_SUCCESS;                                                                    \
    work it = begin(queue, &count, &list);                                                         \
    void *host;                                                                                    \
    clpi_mem_map(mem);                                                                             \
    do                                                                                             \
      host = clpi_target->name arguments;                                                          \
    while (again(&it, result));                                                                    \
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
  BARE_WORK(SET)
  CLPI_MAPS(SET)
#undef SET
}
