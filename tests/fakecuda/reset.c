/* SPDX-License-Identifier: MIT */
/* Making everything new between tests. */
#include "fake.h"

/* Streams that are held go on; what they wait for was given before, so that they get there. */
static void finish_all_locked(void)
{
  for (CUstream stream = fake_streams; stream < fake_streams + FAKE_MOST_STREAMS; stream++)
    stream->held = false;
  pthread_cond_broadcast(&fake_progress);
  fake_reach_all_locked(NULL);
}

void fakecuda_reset(void)
{
  fake_lock_it();
  finish_all_locked();
  fake_memory_check_locked();
  fake_events_check_locked();
  fake_streams_check_locked();
  fake_capture_check_locked();
  fake_mempools_check_locked();
  fake_contexts_check_locked();

  fake_streams_reset_locked();
  fake_events_reset_locked();
  fake_segments_reset_locked();
  fake_mempools_reset_locked();
  fake_contexts_reset_locked();
  fake_devices_reset_locked();
  fake_calls_reset_locked();
  fake_unlock_it();
}
