/* SPDX-License-Identifier: MIT */
/* The spool: what trace_batch_read gives, as it is in memory. */
#include "trace/spool.h"

#include "trace/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static clp_status failed(const char *what)
{
  int code = errno;
  return trace_error(CLP_IO_ERROR, code,
                     "cannot %s a temporary file: %s (TMPDIR names another directory for it)", what,
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

static void count(trace_spool *spool, const trace_operation *operation)
{
  if (operation->is_free) {
    spool->frees++;
    spool->active_bytes -= operation->bytes;
    return;
  }
  spool->allocations++;
  spool->active_bytes += operation->bytes;
  if (spool->peak_active_bytes < spool->active_bytes)
    spool->peak_active_bytes = spool->active_bytes;
}

static clp_status read_all(trace_spool *spool, trace_batch_source *source)
{
  trace_batch *batch = spool->batch;
  do {
    clp_status status = trace_batch_read(batch, source, TRACE_BATCH_ROWS);
    if (status)
      return status;
    for (size_t i = 0; i < batch->count; i++)
      count(spool, &batch->operations[i]);
    spool->recorded_failures += batch->recorded_failures;
    fwrite(batch->operations, sizeof(batch->operations[0]), batch->count, spool->file);
  } while (!batch->at_end && !ferror(spool->file));
  spool->slots = source->live.capacity;
  spool->contexts = source->contexts;
  spool->owners = source->owners;
  spool->is_recorded = spool->batch->newest.columns[TRACE_CONTEXT] > 0;
  return fflush(spool->file) || ferror(spool->file) ? failed("write") : CLP_SUCCESS;
}

clp_status trace_spool_read(trace_spool *spool, trace_reader *reader)
{
  trace_batch_source source = {.reader = reader, .scale = 1.0};
  spool->batch = calloc(1, sizeof(*spool->batch)); /* the file has no byte that was never set */
  if (!spool->batch)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to read a trace");
  spool->file = open_file();
  if (!spool->file)
    return failed("make");
  clp_status status = read_all(spool, &source);
  trace_batch_source_end(&source);
  return status;
}

void trace_spool_end(trace_spool *spool)
{
  if (spool->file)
    fclose(spool->file);
  free(spool->batch);
  *spool = (trace_spool){0};
}

void trace_spool_rewind(trace_spool *spool)
{
  rewind(spool->file);
}

clp_status trace_spool_next(trace_spool *spool)
{
  trace_batch *batch = spool->batch;
  batch->count =
      fread(batch->operations, sizeof(batch->operations[0]), TRACE_BATCH_ROWS, spool->file);
  return ferror(spool->file) ? failed("read") : CLP_SUCCESS;
}
