/* SPDX-License-Identifier: MIT */
/* Numbers by chance that are the same in every run (xorshift64). */
#ifndef CLPT_CHANCE_H
#define CLPT_CHANCE_H

#include <stdint.h>
#include <stdlib.h>

typedef struct clpt_chance {
  uint64_t state; /* never 0 */
} clpt_chance;

static inline clpt_chance clpt_chance_seed(unsigned seed)
{
  return (clpt_chance){88172645463325252u + seed * UINT64_C(0x9e3779b97f4a7c15)};
}

static inline uint64_t clpt_chance_next(clpt_chance *chance)
{
  chance->state ^= chance->state << 13;
  chance->state ^= chance->state >> 7;
  chance->state ^= chance->state << 17;
  return chance->state;
}

/** A number below `bound`, which is not 0. */
static inline uint64_t clpt_chance_below(clpt_chance *chance, uint64_t bound)
{
  return (clpt_chance_next(chance) >> 11) % bound;
}

/** The number in an environment variable, or else another one. */
static inline unsigned clpt_number_in(const char *variable, unsigned otherwise)
{
  const char *text = getenv(variable);
  return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

#endif
