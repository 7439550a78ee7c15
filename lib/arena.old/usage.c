/* SPDX-License-Identifier: MIT */
/* Two nodes climb from the ends of a range, until they meet; what they pass between them are whole
 * nodes of it. */
#include "arena/usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

bool clpi_usage_begin(clpi_usage *usage, uint32_t steps)
{
  *usage = (clpi_usage){.width = 1};
  while (usage->width < steps)
    usage->width *= 2;
  usage->nodes = calloc(2 * usage->width, sizeof(*usage->nodes));
  return usage->nodes;
}

void clpi_usage_end(clpi_usage *usage)
{
  free(usage->nodes);
}

void clpi_usage_copy(clpi_usage *usage, const clpi_usage *from)
{
  memcpy(usage->nodes, from->nodes, 2 * from->width * sizeof(*from->nodes));
}

static void add(clpi_usage_node *node, size_t bytes)
{
  node->added += bytes;
  node->most += bytes;
}

static void update(clpi_usage_node *nodes, size_t node)
{
  nodes[node].most = nodes[node].added + MAX(nodes[2 * node].most, nodes[2 * node + 1].most);
}

void clpi_usage_add(clpi_usage *usage, uint32_t from, uint32_t until, size_t bytes)
{
  clpi_usage_node *nodes = usage->nodes;
  size_t first = usage->width + from, last = usage->width + until - 1;
  add(&nodes[first], bytes);
  if (last != first)
    add(&nodes[last], bytes);
  while (first / 2 != last / 2) {
    if (first % 2 == 0)
      add(&nodes[first + 1], bytes);
    if (last % 2)
      add(&nodes[last - 1], bytes);
    update(nodes, first /= 2);
    update(nodes, last /= 2);
  }
  while (first > 1)
    update(nodes, first /= 2);
}

size_t clpi_usage_most(const clpi_usage *usage, uint32_t from, uint32_t until)
{
  const clpi_usage_node *nodes = usage->nodes;
  size_t first = usage->width + from, last = usage->width + until - 1;
  size_t most_first = nodes[first].most, most_last = nodes[last].most;
  while (first / 2 != last / 2) {
    if (first % 2 == 0)
      most_first = MAX(most_first, nodes[first + 1].most);
    if (last % 2)
      most_last = MAX(most_last, nodes[last - 1].most);
    most_first += nodes[first /= 2].added;
    most_last += nodes[last /= 2].added;
  }
  size_t most = MAX(most_first, most_last);
  while (first > 1)
    most += nodes[first /= 2].added;
  return most;
}
