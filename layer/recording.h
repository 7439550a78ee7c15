/* SPDX-License-Identifier: MIT */
/* The file of CLPOOL_LAYER_TRACE; in its name %p is the process's id. A process has at most one.
 * The ledger's lock guards it.
 *
 * The layer does not write to a file that has rows already, or that another process writes to. Two
 * writers would make it unreadable, and pointers of two processes do not make one trace. */
#ifndef CLPOOL_LAYER_RECORDING_H
#define CLPOOL_LAYER_RECORDING_H

#include "hooks/trace_file.h"

#include <stdbool.h>

/* Reads the variables, opens the file and writes the header. False, after a message: there is no
 * file to write to. */
bool clpi_recording_begin(void);

/* Whether rows are still written: nothing has failed, and this is not the child of a fork. Needs no
 * lock, because such a child must not take it. */
bool clpi_recording_goes_on(void);

/* Whether CLPOOL_LAYER_STACKS is set, so that rows of allocations have stacks. */
bool clpi_recording_has_stacks(void);

/* Adds a row. Rows are written at the latest with the first row of the next tick of the clock, some
 * milliseconds later. So a process that is killed leaves nearly all rows. */
void clpi_recording_put(const clpi_trace_row *row);

/* Ends the recording, because host memory has run out. */
void clpi_recording_stop(void);

/* Writes the buffer, and from now on each row at once, for the end of the process. */
void clpi_recording_write_through(void);

#endif
