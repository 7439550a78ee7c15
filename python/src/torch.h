/* SPDX-License-Identifier: MIT */
/* What PyTorch's pluggable allocator is to do, as C that reports failure; see torch_entry.cc. */
#ifndef CLPOOL_TORCH_H
#define CLPOOL_TORCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory on a device for use on a stream, from the pool that was set for the device. NULL: none,
 * and clp_last_error says why. Zero bytes are NULL, too, without an error. */
void *clpool_torch_take(size_t bytes, int device, void *stream);

/* Takes such memory back, behind the work of a stream. False: clp_last_error says why. */
bool clpool_torch_give(void *memory, void *stream);

/* Notes that another stream uses such memory. */
bool clpool_torch_use(void *memory, void *stream);

#ifdef __cplusplus
}
#endif

#endif
