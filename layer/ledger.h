/* SPDX-License-Identifier: MIT */
/* What memory the program holds, by its references, and the rows about it: an allocation once it
 * has succeeded, a free before the driver learns of the last release. So where several threads
 * allocate, too, memory is free in the trace before it is allocated again.
 *
 * Memory is known by its handle, or the pointer of shared virtual memory. Parts of other memory,
 * such as sub-buffers, have no rows: they keep the whole, as they do for the driver. What the
 * ledger has not seen made, it ignores. Any thread. */
#ifndef CLPOOL_LAYER_LEDGER_H
#define CLPOOL_LAYER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False, after a complaint: there is nothing to write to. */
bool clpi_ledger_begin(void);

/* A context was made; one that had the same handle is gone. Contexts are numbered as they come. */
void clpi_ledger_add_context(const void *context);

/* A queue was made. The rows of a context that has one queue have it as their stream. */
void clpi_ledger_add_queue(const void *context, const void *queue);

/* Memory was made, for which the program has one reference. `kind` is as in a row, and lives for
 * ever. */
void clpi_ledger_add(const void *context, const void *memory, size_t bytes, const char *kind,
                     uint64_t flags);
void clpi_ledger_add_part(const void *memory, const void *whole);

/* Memory was refused. */
void clpi_ledger_refuse(const void *context, size_t bytes, const char *kind, uint64_t flags);

void clpi_ledger_retain(const void *memory);

/* `queue` is what the free is in order with, or NULL: that of the context, if it has one. */
void clpi_ledger_release(const void *memory, const void *queue);

#endif
