/* SPDX-License-Identifier: MIT */
/* A simulated device behind the host by some operations of a trace, whose parts are exclusive, as
 * NVIDIA's is: what an allocation's user does with the memory, and a release awaits, is done when
 * the host is so many allocations and releases further. One at a time. */
#ifndef STUDY_LATE_H
#define STUDY_LATE_H

#include "trace/replay.h"

#include <clpool/allocator.h>

/* Statuses as clp_simulated_allocator_create. */
clp_status study_late_device_create(uint64_t behind, clp_allocator **out);

/* For replays on it: each operation is a step of the host's. */
extern const trace_replay_contents study_late_contents;

#endif
