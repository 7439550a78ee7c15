/* SPDX-License-Identifier: MIT */
/* Ranges are open: two nodes climb from the steps beside both of its ends until they meet, and
 * whatever is between them in each level is a whole child of a node that they meet above. */
#include "arena/usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

bool clpi_usage_begin(clpi_usage *usage, uint32_t steps)
{
  *usage = (clpi_usage){.width = 2};
  while (usage->width < (size_t)steps + 2)
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
  size_t before = usage->width + from, behind = usage->width + until + 1;
  while (before / 2 != behind / 2) {
    if (before % 2 == 0)
      add(&nodes[before + 1], bytes);
    if (behind % 2)
      add(&nodes[behind - 1], bytes);
    update(nodes, before /= 2);
    update(nodes, behind /= 2);
  }
  while (before > 1)
    update(nodes, before /= 2);
}

size_t clpi_usage_most(const clpi_usage *usage, uint32_t from, uint32_t until)
{
  const clpi_usage_node *nodes = usage->nodes;
  size_t before = usage->width + from, behind = usage->width + until + 1, first = 0, last = 0;
  while (before / 2 != behind / 2) {
    if (before % 2 == 0)
      first = MAX(first, nodes[before + 1].most);
    if (behind % 2)
      last = MAX(last, nodes[behind - 1].most);
    first += nodes[before /= 2].added;
    last += nodes[behind /= 2].added;
  }
  first = MAX(first, last);
  while (before > 1)
    first += nodes[before /= 2].added;
  return first;
}
