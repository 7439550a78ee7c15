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

void clpi_batch_source_begin(clpi_batch_source *source, clpi_trace_reader *reader, double scale)
{
  *source = (clpi_batch_source){.reader = reader, .scale = scale};
  clpi_live_blocks_init(&source->live);
}

void clpi_batch_source_end(clpi_batch_source *source)
{
  clpi_live_blocks_end(&source->live);
}

clp_status clpi_batch_source_rewind(clpi_batch_source *source)
{
  clpi_live_blocks_end(&source->live);
  clpi_live_blocks_init(&source->live);
  source->rows = 0;
  return clpi_trace_rewind(source->reader);
}

static clp_status resolve(clpi_operation *operation, const clpi_trace_event *event,
                          clpi_batch_source *source)
{
  if (!clpi_scale_size(event->size, source->scale, &operation->bytes))
    return clpi_trace_reject(source->reader, event->line, event->columns[CLPI_TRACE_SIZE],
                             "expected a size of at most %zu bytes when scaled by %g, found "
                             "%" PRIu64,
                             SIZE_MAX, source->scale, event->size);
  operation->line = event->line;
  operation->event = source->rows;
  operation->is_free = event->action == CLPI_TRACE_FREE;
  if (operation->is_free)
    return clpi_live_blocks_remove(&source->live, source->reader, event, &operation->slot);
  return clpi_live_blocks_add(&source->live, source->reader, event, &operation->slot);
}

clp_status clpi_batch_read(clpi_batch *batch, clpi_batch_source *source, size_t most)
{
  batch->count = 0;
  batch->recorded_failures = 0;
  batch->at_end = false;
  for (size_t rows = 0; rows < most && rows < CLPI_BATCH_ROWS; rows++) {
    clpi_trace_event *event = &batch->newest;
    bool found;
    clp_status status = clpi_trace_next(source->reader, event, &found);
    if (status)
      return status;
    if (!found) {
      batch->at_end = true;
      return CLP_SUCCESS;
    }
    source->rows++;
    if (event->action == CLPI_TRACE_ALLOCATE_FAILURE) {
      batch->recorded_failures++;
      continue;
    }
    status = resolve(&batch->operations[batch->count], event, source);
    if (status)
      return status;
    batch->count++;
  }
  return CLP_SUCCESS;
}
