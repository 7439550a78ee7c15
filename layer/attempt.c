/* SPDX-License-Identifier: MIT */
#include "attempt.h"

#include "blocks.h"
#include "order.h"

/* Other threads may hold and take memory again each time, so there is a bound on calls, too. */
enum { TURNS = 10000, MOST_CALLS = 16 };

_Thread_local bool clpi_leaves_buffers;

void CL_API_CALL clpi_leave_buffers(cl_bool leave)
{
  clpi_leaves_buffers = leave;
}

clpi_attempt clpi_attempt_begin(void)
{
  return (clpi_attempt){.returned = clpi_blocks_returned(), .turns = TURNS};
}

static bool is_lack(cl_int code)
{
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY;
}

bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context)
{
  if (!is_lack(code) || attempt->turns == 0)
    return false;
  clpi_contexts_trim();
  uint64_t returned = clpi_blocks_returned();
  if (returned == attempt->returned)
    return false;
  attempt->returned = returned;
  bool waits = context && !clpi_leaves_buffers;
  unsigned left = waits ? clpi_order_await(context, attempt->turns) : attempt->turns;
  attempt->turns = left < TURNS / MOST_CALLS ? 0 : left - TURNS / MOST_CALLS;
  return true;
}
