/* SPDX-License-Identifier: MIT */
/* The file of CLPOOL_LAYER_TRACE; in its name %p is the process's id. A process has at most one.
 *
 * The layer does not write to a file that has rows already, or that another process writes to. Two
 * writers would make it unreadable, and pointers of two processes do not make one trace. */
#ifndef CLPOOL_LAYER_RECORDING_H
#define CLPOOL_LAYER_RECORDING_H

#include "hooks/trace_file.h"

#include <stdbool.h>

/* The lock guards it. Its first failure ends the recording. */
extern clpi_trace_file clpi_recording;

/* Reads the variables, opens the file and writes the header. False, after a message: there is no
 * file to write to. */
bool clpi_recording_begin(void);

/* Takes the lock. False, and without the lock: no more rows are written, because something has
 * failed, or this is the child of a fork. Such a child must not take the lock. */
bool clpi_recording_lock(void);

/* Rows are written at the latest by the first call in the next tick of the clock, some milliseconds
 * later. So a process that is killed leaves nearly all rows. At the end of the process each row is
 * written at once. */
void clpi_recording_unlock(void);

/* Whether rows of allocations have stacks (CLPOOL_LAYER_STACKS). Needs no lock. */
bool clpi_recording_has_stacks(void);

#endif
