/* SPDX-License-Identifier: MIT */
/* The file of CLPOOL_LAYER_TRACE, in whose name %p is the process's id. A process has one at most.
 * The ledger's lock guards it.
 *
 * A file that has rows already is left alone, and one that another process writes to: two writers
 * would make it unreadable, and the pointers of two processes are no trace together. */
#ifndef CLPOOL_LAYER_RECORDING_H
#define CLPOOL_LAYER_RECORDING_H

#include "hooks/trace_file.h"

#include <stdbool.h>

/* Reads the variables, opens the file and writes the header. False, after a complaint: there is
 * nothing to write to. */
bool clpi_recording_begin(void);

/* Whether rows are still written: nothing has failed, and this is no child of a fork. Needs no
 * lock, which such a child must not take. */
bool clpi_recording_goes_on(void);

/* CLPOOL_LAYER_STACKS is set: rows of allocations have the stacks that they come from. */
bool clpi_recording_has_stacks(void);

/* Writes a row, at the latest with the first one of another tick of the clock, which are some
 * milliseconds: so a process that is killed leaves nearly all of them. */
void clpi_recording_put(const clpi_trace_row *row);

/* Ends it for lack of memory. */
void clpi_recording_stop(void);

/* Writes what is buffered, and from now on each row at once: for the end of the process. */
void clpi_recording_write_through(void);

#endif
