/* SPDX-License-Identifier: MIT */
/* Everything about a row that need not be timed, done before its batch runs. */
#include "trace/batch.h"

#include "trace/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>
#include <zlib.h>

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

/* --- what is kept --- */

static clp_status failed(const char *what)
{
  int code = errno;
  return trace_error(CLP_IO_ERROR, code,
                     "cannot %s a temporary file: %s (set TMPDIR to another directory)", what,
                     strerror(code));
}

static FILE *open_file(void)
{
  const char *directory = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof(path), "%s/clpool-XXXXXX", directory && *directory ? directory : "/tmp");
  int descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor < 0)
    return NULL;
  unlink(path);
  return fdopen(descriptor, "w+");
}

void trace_batch_source_end(trace_batch_source *source)
{
  trace_live_blocks_end(&source->live);
  for (int i = 0; i < 2; i++) {
    clpi_map_end(&source->owner_numbers[i]);
    clpi_map_end(&source->context_numbers[i]);
  }
  free(source->batch);
  if (source->file)
    fclose(source->file);
  source->batch = NULL;
  source->file = NULL;
}

static clp_status begin_again(trace_batch_source *source)
{
  source->is_read = true;
  if (fflush(source->file) || ferror(source->file))
    return failed("write");
  rewind(source->file);
  return CLP_SUCCESS;
}

void trace_batch_source_progress(const trace_batch_source *source, uint64_t *done, uint64_t *total)
{
  const trace_lines *lines = &source->reader->lines;
  const off_t offset = source->is_read ? ftello(source->file) : (off_t)gzoffset(lines->file);
  *done = offset > 0 ? (uint64_t)offset : 0;
  *total = source->is_read ? (source->allocations + source->frees) * sizeof(trace_operation)
                           : lines->file_bytes;
}

static clp_status keep(trace_batch_source *source)
{
  const size_t count = source->batch->count, size = sizeof(source->batch->operations[0]);
  if (!source->is_kept)
    return CLP_SUCCESS;
  if (!source->file && !(source->file = open_file()))
    return failed("make");
  return fwrite(source->batch->operations, size, count, source->file) == count ? CLP_SUCCESS
                                                                               : failed("write");
}

/* --- rows --- */

static clp_status scale(trace_operation *operation, const trace_batch_source *source)
{
  if (trace_scale_size(operation->size, source->scale, &operation->bytes))
    return CLP_SUCCESS;
  return trace_error_at(source->reader->lines.name, operation->line, operation->size_column,
                        "expected a size of at most %zu bytes when scaled by %g, found %" PRIu64,
                        SIZE_MAX, source->scale, operation->size);
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
  operation->size = event->size;
  operation->size_column = (uint16_t)event->columns[TRACE_SIZE];
  operation->line = event->line;
  operation->event = source->rows;
  operation->is_free = event->action == TRACE_FREE;
  clp_status status = scale(operation, source);
  if (status)
    return status;
  if (operation->is_free)
    return trace_live_blocks_remove(&source->live, source->reader, event, &operation->slot);
  operation->flags = event->flags;
  operation->kind = (uint8_t)event->kind;
  status = number_of(source->owner_numbers, event->context, &source->owners, &operation->owner);
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
  trace_reader *reader = source->reader;
  if (event->action != TRACE_FREE || !reader->is_lenient ||
      trace_live_blocks_has(&source->live, event))
    return false;
  if (reader->left_out++ == 0)
    reader->first_left_out = event->line;
  return true;
}

static void count(trace_batch_source *source, const trace_operation *operation)
{
  source->allocations += !operation->is_free;
  source->frees += operation->is_free;
  source->active_bytes += operation->is_free ? -operation->bytes : operation->bytes;
  source->peak_active_bytes = MAX(source->peak_active_bytes, source->active_bytes);
}

static clp_status read_rows(trace_batch_source *source, size_t most)
{
  trace_batch *batch = source->batch;
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
    source->is_recorded = event->columns[TRACE_CONTEXT] > 0;
    bool is_failure = event->action == TRACE_ALLOCATE_FAILURE;
    batch->recorded_failures += is_failure;
    source->recorded_failures += is_failure;
    if (is_failure || is_left_out(source, event))
      continue;
    status = resolve(&batch->operations[batch->count], event, source);
    if (status)
      return status;
    count(source, &batch->operations[batch->count++]);
  }
  return CLP_SUCCESS;
}

static clp_status read_kept(const trace_batch_source *source, size_t most)
{
  trace_batch *batch = source->batch;
  clp_status status = CLP_SUCCESS;
  const size_t size = sizeof(batch->operations[0]);
  const size_t count = fread(batch->operations, size, MIN(most, TRACE_BATCH_ROWS), source->file);
  batch->at_end = count < most && count < TRACE_BATCH_ROWS;
  batch->recorded_failures = batch->at_end ? source->recorded_failures : 0;
  for (; batch->count < count && !status; batch->count++)
    status = scale(&batch->operations[batch->count], source);
  return ferror(source->file) ? failed("read") : status;
}

clp_status trace_batch_read(trace_batch_source *source, size_t most)
{
  clp_status status = CLP_SUCCESS;
  if (!source->batch) /* all zero: what is kept has no byte that was never set */
    source->batch = calloc(1, sizeof(*source->batch));
  if (!source->batch)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  if (source->batch->at_end && source->is_kept)
    status = begin_again(source);
  source->batch->count = 0;
  source->batch->recorded_failures = 0;
  source->batch->at_end = false;
  if (!status && source->is_read)
    return read_kept(source, most);
  if (!status)
    status = read_rows(source, most);
  return status ? status : keep(source);
}

clp_status trace_batch_read_all(trace_batch_source *source)
{
  clp_status status;
  do
    status = trace_batch_read(source, TRACE_BATCH_ROWS);
  while (!status && !source->batch->at_end);
  return status;
}
