/* SPDX-License-Identifier: MIT */
#include "count.h"

#include "context.h"
#include "dispatch.h"

#include <stdio.h>

static atomic_size_t others[2][CLPI_REASON_COUNT];

void clpi_count_other(bool is_image, clpi_reason why)
{
  atomic_fetch_add_explicit(&others[is_image][why], 1, memory_order_relaxed);
}

/* "3 not pooled (2 host pointer, 1 properties)" */
static void describe_others(bool is_image, char *to, size_t room)
{
  static const char *const names[] = {
#define NAME(name, text) text,
      CLPI_REASONS(NAME)
#undef NAME
  };
  size_t sum = 0, length;
  for (size_t i = 0; i < CLPI_REASON_COUNT; i++)
    sum += others[is_image][i];
  length = (size_t)snprintf(to, room, "%zu not pooled", sum);
  const char *separator = " (";
  for (size_t i = 0; i < CLPI_REASON_COUNT; i++) {
    size_t count = others[is_image][i];
    if (count == 0)
      continue;
    length += (size_t)snprintf(to + length, room - length, "%s%zu %s", separator, count, names[i]);
    separator = ", ";
  }
  if (sum > 0)
    snprintf(to + length, room - length, ")");
}

void clpi_report(void)
{
  const clpi_totals totals = clpi_contexts_total();
  size_t served = 0, fresh = 0;
  for (int i = 0; i < 2; i++) {
    char rest[512];
    describe_others(i, rest, sizeof(rest));
    clpi_layer_complain("%s: %zu from held memory, %zu from new memory, %s",
                        i ? "images" : "buffers", totals.served[i] - totals.fresh[i],
                        totals.fresh[i], rest);
    served += totals.served[i];
    fresh += totals.fresh[i];
  }
  clpi_layer_complain("hit rate %.1f %%; peak %zu bytes in use, %zu bytes taken; %zu bytes held at "
                      "the end",
                      served ? 100.0 * (double)(served - fresh) / (double)served : 0.0,
                      totals.peak_live_bytes, totals.peak_taken_bytes, totals.held_bytes);
}
