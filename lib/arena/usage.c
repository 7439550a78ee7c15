/* SPDX-License-Identifier: MIT */
#include "arena/usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* A node and its steps. */
typedef struct span {
  size_t node;
  uint32_t from, until;
} span;

static span root_of(const clpi_usage *usage)
{
  return (span){.node = 1, .until = usage->width};
}

static span half_of(span whole, bool is_second)
{
  uint32_t middle = whole.from + (whole.until - whole.from) / 2;
  return (span){.node = 2 * whole.node + is_second,
                .from = is_second ? middle : whole.from,
                .until = is_second ? whole.until : middle};
}

bool clpi_usage_begin(clpi_usage *usage, uint32_t steps)
{
  *usage = (clpi_usage){.width = 1};
  while (usage->width < steps)
    usage->width *= 2;
  usage->nodes = calloc(2 * (size_t)usage->width, sizeof(*usage->nodes));
  return usage->nodes;
}

void clpi_usage_end(clpi_usage *usage)
{
  free(usage->nodes);
}

void clpi_usage_copy(clpi_usage *usage, const clpi_usage *from)
{
  memcpy(usage->nodes, from->nodes, 2 * (size_t)from->width * sizeof(*from->nodes));
}

static void add(clpi_usage_node *nodes, span whole, uint32_t from, uint32_t until, size_t bytes)
{
  clpi_usage_node *node = &nodes[whole.node];
  if (from <= whole.from && whole.until <= until) {
    node->added += bytes;
    node->most += bytes;
  } else if (from < whole.until && whole.from < until) {
    add(nodes, half_of(whole, false), from, until, bytes);
    add(nodes, half_of(whole, true), from, until, bytes);
    node->most = node->added + MAX(nodes[2 * whole.node].most, nodes[2 * whole.node + 1].most);
  }
}

void clpi_usage_add(clpi_usage *usage, uint32_t from, uint32_t until, size_t bytes)
{
  add(usage->nodes, root_of(usage), from, until, bytes);
}

static size_t most(const clpi_usage_node *nodes, span whole, uint32_t from, uint32_t until)
{
  if (from >= whole.until || whole.from >= until)
    return 0;
  if (from <= whole.from && whole.until <= until)
    return nodes[whole.node].most;
  size_t first = most(nodes, half_of(whole, false), from, until);
  size_t second = most(nodes, half_of(whole, true), from, until);
  return nodes[whole.node].added + MAX(first, second);
}

size_t clpi_usage_most(const clpi_usage *usage, uint32_t from, uint32_t until)
{
  return most(usage->nodes, root_of(usage), from, until);
}
