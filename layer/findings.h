/* SPDX-License-Identifier: MIT */
/* Errors of the program: each is printed when it is found first, and all are summed up at the end.
 * Any thread. */
#ifndef CLPOOL_LAYER_FINDINGS_H
#define CLPOOL_LAYER_FINDINGS_H

#include "hooks/stack_numbers.h"

typedef enum clpi_finding_kind {
  CLPI_PAST_END,
  CLPI_AFTER_RELEASE,
  CLPI_UNWRITTEN,
  CLPI_LEAK,
  CLPI_WRONG_CALL,
  CLPI_FINDING_KINDS
} clpi_finding_kind;

/* Numbers of stacks; 0: there is none. */
typedef struct clpi_places {
  uint32_t here, released, allocated;
} clpi_places;

/* Reads CLPOOL_LAYER_SUPPRESSIONS and _JSON. False, after a complaint: one cannot be opened. */
bool clpi_findings_begin(void);

/* Tells an error. Where it was allocated is told behind the text. Not told are errors that a
 * suppression fits, and those of a kind at places where one was told. */
void clpi_find(clpi_finding_kind kind, clpi_places places, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void clpi_findings_sum_up(void);

#endif
