/* SPDX-License-Identifier: MIT */
/* Which commands come before which, by what the program said and heard, not by when they ran. */
#include "fake.h"

fake_clock fake_observed;

void fake_clock_join(fake_clock *clock, const fake_clock *other)
{
  for (size_t i = 0; i < FAKE_MOST_STREAMS; i++)
    if (clock->of[i] < other->of[i])
      clock->of[i] = other->of[i];
}

bool fake_clock_has(const fake_clock *clock, fake_point point)
{
  return point.stream == NULL || clock->of[point.stream - fake_streams] >= point.position;
}

bool fake_is_done_locked(fake_point point)
{
  return point.stream == NULL || point.stream->done >= point.position;
}

void fake_observe_locked(const fake_clock *clock)
{
  fake_clock_join(&fake_observed, clock);
}

void fake_synchronized_locked(const fake_clock *clock)
{
  fake_observe_locked(clock);
  fake_mempools_settle_locked();
}
