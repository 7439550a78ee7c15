/* SPDX-License-Identifier: MIT */
/* Walking the stack. libgcc's unwinder takes half a microsecond for each frame, so this file learns
 * its results: for a return address, the distance to the stack pointer of the caller. If that is
 * known for all frames, the unwinder is not needed. A function whose frame varies in size (alloca)
 * has several such distances, and is left to the unwinder. If the first FEW are the same, a later
 * walk may read a wrong word of the same stack. This is hardly ever a return address that leads to
 * the outermost frame. */
#include "hooks/call_stack.h"

#include "core/base/spinlock.h"

#include <stdbool.h>
#include <sys/param.h>
#include <unwind.h>

#ifdef __x86_64__
enum { CAN_LEARN = true }; /* return addresses are right below the stack pointer of the caller */
#else
enum { CAN_LEARN = false };
#endif

enum { OUTERMOST = 0, VARIES = 1, FEW = 8, KNOWN = 4096, PAGE_BYTES = 4096 /* at least */ };

typedef struct place {
  uintptr_t return_address; /* 0: a signal interrupted the function, there is none */
  uintptr_t stack_pointer;  /* when it made the call */
} place;

typedef struct known_place {
  uintptr_t return_address, distance, times; /* that the unwinder found this distance */
} known_place;

typedef struct walk {
  clpi_frame_visitor *visitor;
  void *argument;
  size_t count; /* of frames, the walk's own included */
  place places[CLPI_RING_FRAMES];
} walk;

static struct {
  clpi_spinlock lock;       /* guards the rest; only tried, because a fork may leave it taken */
  known_place known[KNOWN]; /* each in the only slot for it */
} learned;

/* The pages of the thread's stack that the unwinder has walked, and that can therefore be read: the
 * address of their end, with their number in its lowest bits. A coroutine has another stack, which
 * may end before the known distances. */
static _Thread_local uintptr_t walked __attribute__((tls_model("initial-exec")));

static uintptr_t end_of_walked(void)
{
  return walked & ~(uintptr_t)(PAGE_BYTES - 1);
}

static uintptr_t begin_of_walked(void)
{
  return end_of_walked() - walked % PAGE_BYTES * PAGE_BYTES;
}

static size_t slot_of(uintptr_t return_address)
{
  return (size_t)(return_address * UINT64_C(0x9e3779b97f4a7c15) >> 52); /* of 4096 */
}

static void learn_distance_locked(uintptr_t return_address, uintptr_t distance)
{
  known_place *at = &learned.known[slot_of(return_address)];
  if (at->return_address != return_address)
    *at = (known_place){return_address, distance, 0};
  else if (at->distance != distance)
    at->distance = VARIES;
  at->times++;
}

static bool is_usual(const place *at, const place *caller)
{
  return at->return_address && caller->return_address &&
         caller->stack_pointer > at->stack_pointer &&
         ((const uintptr_t *)caller->stack_pointer)[-1] == caller->return_address;
}

static void widen_walked(uintptr_t low, uintptr_t high)
{
  low &= ~(uintptr_t)(PAGE_BYTES - 1);
  high = (high + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
  if (low <= end_of_walked() && high >= begin_of_walked()) { /* the same stack */
    low = MIN(low, begin_of_walked());
    high = MAX(high, end_of_walked());
  }
  walked = high | MIN((high - low) / PAGE_BYTES, PAGE_BYTES - 1);
}

/* The walk's own frame is not learned: a quick walk begins at its caller. */
static void learn(const walk *done)
{
  bool is_one_stack = true;
  if (done->count > CLPI_RING_FRAMES || done->count < 2 || !clpi_spinlock_try(&learned.lock))
    return;
  const place *last = &done->places[done->count - 1];
  for (const place *at = &done->places[1]; at < last; at++)
    if (is_usual(at, at + 1))
      learn_distance_locked(at->return_address, at[1].stack_pointer - at->stack_pointer);
    else
      is_one_stack = false; /* a signal may have one of its own */
  learn_distance_locked(last->return_address, OUTERMOST);
  clpi_spinlock_unlock(&learned.lock);
  if (is_one_stack)
    widen_walked(done->places[1].stack_pointer, last->stack_pointer);
}

static _Unwind_Reason_Code show_frame(struct _Unwind_Context *context, void *argument)
{
  walk *to = argument;
  int at_instruction = 0; /* set for a frame that a signal interrupted: the address is that of the
                             instruction itself, not a return address */
  uintptr_t address = _Unwind_GetIPInfo(context, &at_instruction);
  if (!address)
    return _URC_END_OF_STACK;
  if (to->count < CLPI_RING_FRAMES)
    to->places[to->count] = (place){at_instruction ? 0 : address, _Unwind_GetCFA(context)};
  to->count++;
  to->visitor(at_instruction ? address : address - 1, to->argument);
  return _URC_NO_REASON;
}

/* Returns the number of frames from the one at a return address on. 0: unknown. */
__attribute__((no_sanitize("address"))) static size_t
find_frames_locked(uintptr_t address, uintptr_t stack_pointer, uintptr_t frames[CLPI_RING_FRAMES])
{
  if (stack_pointer < begin_of_walked())
    return 0;
  for (size_t count = 0; address && count < CLPI_RING_FRAMES;) {
    const known_place *at = &learned.known[slot_of(address)];
    frames[count++] = address - 1;
    if (at->return_address != address || at->distance == VARIES || at->times < FEW)
      return 0;
    if (at->distance == OUTERMOST)
      return count;
    stack_pointer += at->distance;
    if (stack_pointer > end_of_walked())
      return 0;
    address = ((const uintptr_t *)stack_pointer)[-1];
  }
  return 0;
}

static bool walk_quickly(uintptr_t address, uintptr_t stack_pointer, clpi_frame_visitor *visitor,
                         void *argument)
{
  uintptr_t frames[CLPI_RING_FRAMES];
  if (!clpi_spinlock_try(&learned.lock))
    return false;
  size_t count = find_frames_locked(address, stack_pointer, frames);
  clpi_spinlock_unlock(&learned.lock);
  for (size_t i = 0; i < count; i++)
    visitor(frames[i], argument);
  return count > 0;
}

/* Not inlined: a quick walk begins where it was called. */
__attribute__((noinline)) void clpi_walk_stack(clpi_frame_visitor *visitor, void *argument)
{
  if (CAN_LEARN && walk_quickly((uintptr_t)__builtin_return_address(0),
                                (uintptr_t)__builtin_dwarf_cfa(), visitor, argument))
    return;
  walk to = {.visitor = visitor, .argument = argument};
  _Unwind_Backtrace(show_frame, &to);
  if (CAN_LEARN)
    learn(&to);
}
