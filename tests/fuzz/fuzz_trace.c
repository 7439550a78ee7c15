/* SPDX-License-Identifier: MIT */
/* Fuzzes traces in RMM's format. */
#include "fuzz.h"
#include "reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  fuzz_reading(input, length, CLPI_TRACE_RMM);
  return 0;
}
