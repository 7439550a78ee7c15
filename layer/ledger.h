/* SPDX-License-Identifier: MIT */
/* The memory that the program holds, with its references, and the rows about it. A row of an
 * allocation is written after it has succeeded, a row of a free before the driver gets the last
 * release. So in the trace, memory is always freed before another thread allocates it again.
 *
 * The ledger identifies memory by its handle, or the pointer of shared virtual memory. Parts of
 * other memory, such as sub-buffers, have no rows; they keep the whole memory, as in the driver.
 * The ledger ignores memory whose creation it has not seen. Any thread. */
#ifndef CLPOOL_LAYER_LEDGER_H
#define CLPOOL_LAYER_LEDGER_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a recording. False, after a message: there is no file to write to. */
bool clpi_ledger_begin(void);

/* Adds a new context; an earlier one with the same handle is gone. Contexts are numbered in their
 * order. */
void clpi_ledger_add_context(cl_context context);

/* Adds a new queue. If a context has one queue, that is the stream of the context's rows. */
void clpi_ledger_add_queue(cl_context context, cl_command_queue queue);

/* Adds new memory, to which the program has one reference. `kind` is as in a row, and always
 * valid. */
void clpi_ledger_add(const void *context, const void *memory, size_t bytes, const char *kind,
                     uint64_t flags);
void clpi_ledger_add_part(const void *memory, const void *whole);

/* Notes that memory was refused. */
void clpi_ledger_refuse(const void *context, size_t bytes, const char *kind, uint64_t flags);

void clpi_ledger_retain(const void *memory);

/* Drops a reference. `queue` is the queue that orders the free; NULL: the context's, if it has one.
 */
void clpi_ledger_release(const void *memory, const void *queue);

#endif
