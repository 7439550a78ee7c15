/* SPDX-License-Identifier: MIT */
/* Fuzzes cost files: whatever one says, it is read or refused, from its text as from a file; and
 * what was read is written so that it reads the same. */
#include "fuzz.h"

#include "trace/costs.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char fuzz_corpus[] = "costs";

/* Large, and begun anew by each reading. */
static trace_costs costs, again;

static bool is_plain(const uint8_t *input, size_t length)
{
  return length < 2 || input[0] != 0x1f || input[1] != 0x8b; /* else zlib may find a gzip file */
}

static void check_refusal(const char *name, const trace_costs *refused)
{
  fuzz_require(strncmp(clp_last_error()->message, name, strlen(name)) == 0);
  fuzz_require(refused->count == 0);
}

static void check_figures(void)
{
  size_t figures = 0;
  for (size_t i = 0; i < costs.count; i++)
    for (trace_cost_operation operation = 0; operation < TRACE_COST_OPERATIONS; operation++) {
      const trace_cost_curve *curve = &costs.tables[i].curves[operation];
      for (size_t j = 0; j < curve->count; j++, figures++) {
        size_t bytes = curve->points[j].bytes;
        double at = trace_cost_at(&costs.tables[i], operation, bytes);
        fuzz_require(bytes > (j > 0 ? curve->points[j - 1].bytes : 0));
        fuzz_require(memcmp(&at, &curve->points[j].nanoseconds, sizeof(at)) == 0);
      }
    }
  fuzz_require(figures > 0);
}

static void check_round_trip(void)
{
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  fuzz_require(file != NULL);
  trace_costs_write(&costs, file);
  fuzz_require(fclose(file) == 0);
  fuzz_require(trace_costs_parse("written", text, length, &again) == CLP_SUCCESS);
  free(text);
  fuzz_require(again.count == costs.count);
  fuzz_require(strlen(again.device) == strlen(costs.device));
  fuzz_require(memcmp(again.tables, costs.tables, costs.count * sizeof(costs.tables[0])) == 0);
}

static void check_file(const uint8_t *input, size_t length, clp_status parsed)
{
  char path[32];
  int descriptor = memfd_create("fuzzed", MFD_CLOEXEC);
  fuzz_require(descriptor >= 0);
  fuzz_require(write(descriptor, input, length) == (ssize_t)length);
  snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
  clp_status status = trace_costs_read(path, &again);
  close(descriptor);
  fuzz_require(status == parsed || !is_plain(input, length));
  if (status)
    check_refusal(path, &again);
  else if (!parsed)
    fuzz_require(memcmp(again.tables, costs.tables, costs.count * sizeof(costs.tables[0])) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clp_status status = trace_costs_parse("fuzzed", (const char *)input, length, &costs);
  fuzz_require(status == CLP_SUCCESS || status == CLP_INVALID_ARGUMENT);
  if (status)
    check_refusal("fuzzed:", &costs);
  else
    check_figures();
  check_file(input, length, status);
  if (!status)
    check_round_trip();
  return 0;
}
