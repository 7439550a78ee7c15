/* SPDX-License-Identifier: MIT */
/* Fuzzes cost files: whatever one says, it is read or refused; and what was written of it is
 * written the same once it was read again. */
#include "fuzz.h"

#include "trace/costs.h"

#include <string.h>

const char fuzz_corpus[] = "costs";

static trace_costs costs; /* large, and begun anew by each reading */

static clp_status read_bytes(const void *bytes, size_t length)
{
  char path[32];
  int descriptor = fuzz_open(bytes, length);
  snprintf(path, sizeof(path), "/dev/fd/%d", descriptor);
  clp_status status = trace_costs_read(path, &costs);
  close(descriptor);
  if (status)
    fuzz_require(!costs.count && strncmp(clp_last_error()->message, path, strlen(path)) == 0);
  return status;
}

static char *write_costs(size_t *length)
{
  char *text = NULL;
  FILE *file = open_memstream(&text, length);
  fuzz_require(file != NULL);
  trace_costs_write(&costs, file);
  fuzz_require(fclose(file) == 0);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  clp_status status = read_bytes(input, length);
  bool may_be_gzip = length >= 2 && input[0] == 0x1f && input[1] == 0x8b;
  fuzz_require(status == CLP_SUCCESS || status == CLP_INVALID_ARGUMENT || may_be_gzip);
  if (status)
    return 0;
  size_t once, twice;
  char *text = write_costs(&once);
  fuzz_require(read_bytes(text, once) == CLP_SUCCESS);
  char *again = write_costs(&twice);
  fuzz_require(once == twice && memcmp(text, again, once) == 0);
  free(text);
  free(again);
  return 0;
}
