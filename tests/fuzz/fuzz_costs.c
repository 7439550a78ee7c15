/* SPDX-License-Identifier: MIT */
/* Fuzzes cost files: whatever one says, it is read or refused; and what was written of it is
 * written the same once it was read again. */
#include "fuzz.h"

#include "trace/costs.h"

#include <string.h>

const char fuzz_corpus[] = "costs";

/* Large, and begun anew by each reading. */
static trace_costs costs, again;

static clp_status read_bytes(const void *bytes, size_t length, trace_costs *out)
{
  char path[32];
  int descriptor = fuzz_open(bytes, length);
  snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
  clp_status status = trace_costs_read(path, out);
  close(descriptor);
  if (status) {
    fuzz_require(strncmp(clp_last_error()->message, path, strlen(path)) == 0);
    fuzz_require(out->count == 0);
  }
  return status;
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

static char *write_costs(const trace_costs *what, size_t *length)
{
  char *text = NULL;
  FILE *file = open_memstream(&text, length);
  fuzz_require(file != NULL);
  trace_costs_write(what, file);
  fuzz_require(fclose(file) == 0);
  return text;
}

static void check_round_trip(void)
{
  size_t length, length_again;
  char *text = write_costs(&costs, &length);
  fuzz_require(read_bytes(text, length, &again) == CLP_SUCCESS);
  char *text_again = write_costs(&again, &length_again);
  fuzz_require(length_again == length && memcmp(text, text_again, length) == 0);
  free(text);
  free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clp_status status = read_bytes(input, length, &costs);
  bool may_be_gzip = length >= 2 && input[0] == 0x1f && input[1] == 0x8b;
  fuzz_require(status == CLP_SUCCESS || status == CLP_INVALID_ARGUMENT || may_be_gzip);
  if (status)
    return 0;
  check_figures();
  check_round_trip();
  return 0;
}
