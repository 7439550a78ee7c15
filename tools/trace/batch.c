/* SPDX-License-Identifier: MIT */
/* Everything about a row that need not be timed, done before its batch runs. */
#include "trace/batch.h"

#include "trace/error.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

bool trace_scale_size(uint64_t bytes, double scale, size_t *scaled)
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

void trace_batch_source_end(trace_batch_source *source)
{
  trace_live_blocks_end(&source->live);
  for (int i = 0; i < 2; i++) {
    clpi_map_end(&source->owner_numbers[i]);
    clpi_map_end(&source->context_numbers[i]);
  }
}

clp_status trace_batch_source_rewind(trace_batch_source *source)
{
  trace_live_blocks_end(&source->live);
  source->rows = 0;
  return trace_rewind(source->reader);
}

/* Numbers values in the order in which they come. A map has no key 0, so values have one more, and
 * those of 64 bits have a map of their own. */
static clp_status number_of(clpi_map numbers[2], uint64_t value, uint32_t *count, uint32_t *number)
{
  clpi_map *map = &numbers[value >> 63];
  const uint64_t key = (value & INT64_MAX) + 1, *found = clpi_map_find(map, key);
  *number = found ? (uint32_t)*found : *count;
  if (found)
    return CLP_SUCCESS;
  if (!clpi_map_reserve(map))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to follow more than %u contexts",
                       *count);
  clpi_map_put(map, key, (*count)++);
  return CLP_SUCCESS;
}

static clp_status resolve(trace_operation *operation, const trace_event *event,
                          trace_batch_source *source)
{
  if (!trace_scale_size(event->size, source->scale, &operation->bytes))
    return trace_error_at(source->reader->lines.name, event->line, event->columns[TRACE_SIZE],
                          "expected a size of at most %zu bytes when scaled by %g, found "
                          "%" PRIu64,
                          SIZE_MAX, source->scale, event->size);
  operation->line = event->line;
  operation->event = source->rows;
  operation->is_free = event->action == TRACE_FREE;
  if (operation->is_free)
    return trace_live_blocks_remove(&source->live, source->reader, event, &operation->slot);
  operation->flags = event->flags;
  operation->kind = (uint8_t)event->kind;
  clp_status status =
      number_of(source->owner_numbers, event->context, &source->owners, &operation->owner);
  if (!status)
    status = number_of(source->context_numbers,
                       (uint64_t)operation->owner * TRACE_KINDS + (uint64_t)event->kind,
                       &source->contexts, &operation->context);
  return status ? status
                : trace_live_blocks_add(&source->live, source->reader, event, &operation->slot);
}

/* A free of what was allocated before the trace begins, if such frees do not matter. */
static bool is_left_out(const trace_batch_source *source, const trace_event *event)
{
  trace_notes *notes = &source->reader->notes;
  if (event->action != TRACE_FREE || !notes->is_lenient ||
      trace_live_blocks_has(&source->live, event))
    return false;
  if (notes->left_out++ == 0)
    notes->first_left_out = event->line;
  return true;
}

clp_status trace_batch_read(trace_batch *batch, trace_batch_source *source, size_t most)
{
  batch->count = 0;
  batch->recorded_failures = 0;
  batch->at_end = false;
  for (size_t rows = 0; rows < most && rows < TRACE_BATCH_ROWS; rows++) {
    trace_event *event = &batch->newest;
    bool found;
    clp_status status = trace_next(source->reader, event, &found);
    if (status)
      return status;
    if (!found) {
      batch->at_end = true;
      return CLP_SUCCESS;
    }
    source->rows++;
    bool is_failure = event->action == TRACE_ALLOCATE_FAILURE;
    batch->recorded_failures += is_failure;
    if (is_failure || is_left_out(source, event))
      continue;
    status = resolve(&batch->operations[batch->count], event, source);
    if (status)
      return status;
    batch->count++;
  }
  return CLP_SUCCESS;
}
