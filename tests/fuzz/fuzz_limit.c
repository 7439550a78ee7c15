/* SPDX-License-Identifier: MIT */
/* Fuzzes CLPOOL_MEMORY_LIMIT: a value is understood, or refused in words that name the variable. */
#include "fuzz.h"

#include <clpool/clpool.h>
#include <string.h>

const char fuzz_corpus[] = "limit";

enum { LONGEST = 256 };
static const size_t capacity = 1000000;

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length)
{
  char value[LONGEST];
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;
  if (length >= sizeof value)
    length = sizeof value - 1;
  memcpy(value, input, length);
  value[length] = '\0';
  fuzz_require(setenv("CLPOOL_MEMORY_LIMIT", value, 1) == 0);

  fuzz_require(clp_simulated_allocator_create(capacity, &allocator) == CLP_SUCCESS);
  clp_status status = clp_pool_create(allocator, NULL, &pool);
  if (status == CLP_SUCCESS) {
    size_t limit = clp_pool_get_limit(pool), end = strlen(value);
    fuzz_require(end == 0 || strspn(value, "0123456789.") > 0);
    fuzz_require(end == 0 || value[end - 1] != '%' || limit <= capacity);
  } else {
    fuzz_require(status == CLP_INVALID_ARGUMENT);
    fuzz_require(pool == NULL);
    fuzz_require(strstr(clp_last_error()->message, "CLPOOL_MEMORY_LIMIT") != NULL);
  }
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return 0;
}
