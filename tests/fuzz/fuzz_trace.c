/* SPDX-License-Identifier: MIT */
/* Fuzzes traces and cost files: whatever one says, it is read or refused; and the trace that was
 * read is replayed, with and without a pool, or refused as impossible. */
#include "fuzz.h"

#include "trace/costs.h"
#include "trace/reader.h"
#include "trace/replay.h"

#include <string.h>

const char fuzz_corpus[] = "trace";

enum { CAPACITY = 1000000 };

/* Reads to the end or to what is wrong; how many rows came. */
static size_t read_rows(trace_reader *reader, clp_status *status)
{
  trace_event event;
  bool found = true;
  size_t rows = 0;
  while ((*status = trace_next(reader, &event, &found)) == CLP_SUCCESS && found) {
    fuzz_require(event.line > 0 && event.columns[TRACE_POINTER] > 0);
    rows++;
  }
  if (*status != CLP_SUCCESS) {
    fuzz_require(*status == CLP_INVALID_ARGUMENT || *status == CLP_IO_ERROR);
    fuzz_require(strstr(clp_last_error()->message, "fuzzed") != NULL);
  }
  return rows;
}

static trace_reader *open_input(const uint8_t *input, size_t length)
{
  trace_reader *reader = NULL;
  fuzz_require(trace_open(fuzz_open(input, length), "fuzzed", &reader) == CLP_SUCCESS);
  return reader;
}

/* Replays what is well-formed as far as `rows`; `readable` says whether that is all of it. */
static void replay(trace_reader *reader, bool pooled, size_t rows, bool readable)
{
  clp_allocator *allocator = NULL;
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  trace_replay_result result = {0};
  options.pooled = pooled;
  fuzz_require(clp_simulated_allocator_create(CAPACITY, &allocator) == CLP_SUCCESS);
  clp_status status = trace_replay(reader, allocator, &options, &result);
  clp_allocator_release(allocator);
  trace_close(reader);
  if (status != CLP_SUCCESS) {
    fuzz_require(status == CLP_INVALID_ARGUMENT || !readable);
    fuzz_require(strstr(clp_last_error()->message, "fuzzed") != NULL);
    return;
  }
  fuzz_require(readable);
  fuzz_require(result.allocations + result.failures + result.recorded_failures <= rows);
  fuzz_require(result.frees <= result.allocations);
  fuzz_require(result.peak_active_bytes <= result.peak_device_bytes);
  fuzz_require(result.peak_device_bytes <= CAPACITY);
}

static void read_costs(const uint8_t *input, size_t length)
{
  static trace_costs costs; /* large */
  char path[32];
  int descriptor = fuzz_open(input, length);
  snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
  clp_status status = trace_costs_read(path, &costs);
  close(descriptor);
  fuzz_require(!status || (!costs.count && strstr(clp_last_error()->message, path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clp_status first = CLP_SUCCESS;
  read_costs(input, length);
  trace_reader *reader = open_input(input, length);
  size_t rows = read_rows(reader, &first);
  trace_close(reader);
  for (int pooled = 0; pooled < 2; pooled++)
    replay(open_input(input, length), pooled, rows, first == CLP_SUCCESS);
  return 0;
}
