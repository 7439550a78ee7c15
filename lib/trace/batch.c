/* SPDX-License-Identifier: MIT */
/* Everything about a row that need not be timed, done before its batch runs. */
#include "trace/batch.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

bool clpi_scale_size(uint64_t bytes, double scale, size_t *scaled)
{
  long double exact = roundl((long double)bytes * (long double)scale);
  if (scale == 1.0) { /* without a detour over a type that may be too narrow */
    *scaled = (size_t)bytes;
    return bytes <= SIZE_MAX;
  }
  if (exact >= ldexpl(1.0L, sizeof(size_t) * CHAR_BIT))
    return false;
  *scaled = bytes > 0 && exact < 1.0L ? 1 : (size_t)exact;
  return true;
}

static clp_status resolve(clpi_operation *operation, const clpi_trace_event *event,
                          const clpi_trace_reader *reader, clpi_live_blocks *live, double scale)
{
  if (!clpi_scale_size(event->size, scale, &operation->bytes))
    return clpi_trace_reject(reader, event->line, event->columns[CLPI_TRACE_SIZE],
                             "expected a size of at most %zu bytes when scaled by %g, found "
                             "%" PRIu64,
                             SIZE_MAX, scale, event->size);
  operation->line = event->line;
  operation->is_free = event->action == CLPI_TRACE_FREE;
  if (operation->is_free)
    return clpi_live_blocks_remove(live, reader, event, &operation->slot);
  return clpi_live_blocks_add(live, reader, event, &operation->slot);
}

clp_status clpi_batch_read(clpi_batch *batch, clpi_trace_reader *reader, clpi_live_blocks *live,
                           double scale, size_t most)
{
  batch->count = 0;
  batch->recorded_failures = 0;
  batch->at_end = false;
  for (size_t rows = 0; rows < most && rows < CLPI_BATCH_ROWS; rows++) {
    clpi_trace_event *event = &batch->newest;
    bool found;
    clp_status status = clpi_trace_next(reader, event, &found);
    if (status)
      return status;
    if (!found) {
      batch->at_end = true;
      return CLP_SUCCESS;
    }
    if (event->action == CLPI_TRACE_ALLOCATE_FAILURE) {
      batch->recorded_failures++;
      continue;
    }
    status = resolve(&batch->operations[batch->count], event, reader, live, scale);
    if (status)
      return status;
    batch->count++;
  }
  return CLP_SUCCESS;
}
