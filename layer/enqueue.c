/* SPDX-License-Identifier: MIT */
/* The program's work, shown to the order of its context, and kept within what the program asked
 * for: blocks are larger. */
#include "work.h"

#include "attempt.h"
#include "buffer.h"
#include "dispatch.h"
#include "exact.h"
#include "order.h"

#include <stdlib.h>
#include <string.h>

/* --- what work waits for --- */

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

/* Prepares work of the queue with this list. Returns the list to pass to end_work. */
static cl_event *begin_work(cl_command_queue handle, cl_uint *count, const cl_event **list)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  cl_event *longer = mark ? lengthen(mark, *count, *list) : NULL;
  if (!longer)
    return NULL;
  *list = longer;
  ++*count;
  return longer;
}

static void end_work(cl_event *longer)
{
  if (!longer)
    return;
  clpi_target->clReleaseEvent(longer[0]);
  free(longer);
}

/* The work uses no memory. */
static void begin_bare_work(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  cl_event mark = queue ? clpi_order_work(queue) : NULL;
  if (mark)
    clpi_target->clReleaseEvent(mark);
}

/* --- functions that give a queue work --- */

static bool work_again(clpi_attempt *attempt, cl_int code, cl_command_queue handle)
{
  const clpi_queue *queue = code ? clpi_queue_find(handle) : NULL;
  return code && clpi_attempt_again(attempt, code, queue ? queue->context : NULL);
}

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
    cl_event *longer = begin_work(queue, &count, &list);                                           \
    clpi_attempt attempt = clpi_attempt_begin();                                                   \
    do                                                                                             \
      code = clpi_target->name CLPI_ARGUMENTS arguments;                                           \
    while (work_again(&attempt, code, queue));                                                     \
    end_work(longer);                                                                              \
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
    begin_bare_work(queue);                                                                        \
    return clpi_target->name arguments;                                                            \
  }
BARE_WORK(DEFINE)
#undef DEFINE

#define DEFINE(name, mem, parameters, arguments, move)                                             \
  static void *CL_API_CALL seen_##name parameters                                                  \
  {                                                                                                \
    move;                                                                                          \
    cl_int result = CL_SUCCESS;                                                                    \
    cl_event *longer = begin_work(queue, &count, &list);                                           \
    void *host;                                                                                    \
    clpi_mem_map(mem);                                                                             \
    clpi_attempt attempt = clpi_attempt_begin();                                                   \
    do                                                                                             \
      host = clpi_target->name arguments;                                                          \
    while (work_again(&attempt, result, queue));                                                   \
    end_work(longer);                                                                              \
    if (code)                                                                                      \
      *code = result;                                                                              \
    return host;                                                                                   \
  }
CLPI_MAPS(DEFINE)
#undef DEFINE

void clpi_work_fill(cl_icd_dispatch *functions)
{
#define SET(name, parameters, arguments, uses, move) functions->name = seen_##name;
  CLPI_WORK(SET)
#undef SET
#define SET(name, parameters, arguments) functions->name = seen_##name;
  BARE_WORK(SET)
#undef SET
#define SET(name, mem, parameters, arguments, move) functions->name = seen_##name;
  CLPI_MAPS(SET)
#undef SET
}
