/* SPDX-License-Identifier: MIT */
/* Counts for the report. Any thread. */
#ifndef CLPOOL_LAYER_COUNT_H
#define CLPOOL_LAYER_COUNT_H

#include <stdbool.h>

/* Why an object was not pooled: the name, and its text in the report. */
#define CLPI_REASONS(X)                                                                            \
  X(HOST_POINTER, "host pointer")                                                                  \
  X(PROPERTIES, "properties")                                                                      \
  X(LAYOUT, "pitches, mip levels or samples")                                                      \
  X(EXTENSION, "after an extension's function")                                                    \
  X(CONTEXT, "several devices or OpenCL before 1.2")                                               \
  X(OWN_POOL, "for the program's own pools")                                                       \
  X(OTHER, "other")

typedef enum clpi_reason {
#define CLPI_REASON(name, text) CLPI_##name,
  CLPI_REASONS(CLPI_REASON)
#undef CLPI_REASON
      CLPI_REASON_COUNT,
  CLPI_POOLED = CLPI_REASON_COUNT /* no reason: it is pooled */
} clpi_reason;

/* Counts an object that the driver has made and that is not pooled. */
void clpi_count_other(bool is_image, clpi_reason why);

/* Writes the report. */
void clpi_report(void);

#endif
