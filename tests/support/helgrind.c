/* SPDX-License-Identifier: MIT */
/* What helgrind is told. */
#include "helgrind.h"

#include "instrumented.h"

#if defined(__has_include)
#if __has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#endif
#endif
#ifndef ANNOTATE_HAPPENS_BEFORE
#define VALGRIND_HG_DISABLE_CHECKING(place, bytes) ((void)(place), (void)(bytes))
#define ANNOTATE_HAPPENS_BEFORE(place)             ((void)(place))
#define ANNOTATE_HAPPENS_AFTER(place)              ((void)(place))
#endif

void clpt_before_access(const volatile void *place, size_t bytes, bool releases)
{
  VALGRIND_HG_DISABLE_CHECKING(place, bytes);
  if (releases)
    ANNOTATE_HAPPENS_BEFORE(place);
}

void clpt_after_access(const volatile void *place, bool acquires)
{
  if (acquires)
    ANNOTATE_HAPPENS_AFTER(place);
}

/* What the calling thread may be the one to do. */
static _Thread_local struct {
  pthread_once_t *control;
  void (*make)(void);
} once;

static void make_and_tell(void)
{
  once.make();
  ANNOTATE_HAPPENS_BEFORE(once.control);
}

int clpt_once(pthread_once_t *control, void (*make)(void))
{
  once.control = control;
  once.make = make;
  int result = (pthread_once)(control, make_and_tell);
  ANNOTATE_HAPPENS_AFTER(control);
  return result;
}
