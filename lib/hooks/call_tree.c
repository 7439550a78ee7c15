/* SPDX-License-Identifier: MIT */
/* An array of nodes, and a hash table from parent and key to node. */
#include "hooks/call_tree.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, SLOTS_A_NODE = 2 };

bool clpi_call_tree_init(clpi_call_tree *tree)
{
  *tree = (clpi_call_tree){.nodes = calloc(1, sizeof(*tree->nodes)), .count = 1, .capacity = 1};
  return tree->nodes != NULL;
}

void clpi_call_tree_end(clpi_call_tree *tree)
{
  free(tree->nodes);
  free(tree->slots);
}

void clpi_call_tree_clear(clpi_call_tree *tree)
{
  tree->count = 1;
  tree->nodes[0] = (clpi_call_node){0};
  tree->in_use = tree->peak = 0;
  if (tree->slots)
    memset(tree->slots, 0, tree->slot_count * sizeof(*tree->slots));
}

bool clpi_call_tree_copy(clpi_call_tree *copy, const clpi_call_tree *tree)
{
  *copy = (clpi_call_tree){.count = tree->count, .capacity = tree->count, .peak = tree->peak};
  copy->nodes = malloc(tree->count * sizeof(*copy->nodes));
  if (copy->nodes)
    memcpy(copy->nodes, tree->nodes, tree->count * sizeof(*copy->nodes));
  for (uint32_t i = 0; copy->nodes && i < copy->count; i++)
    clpi_call_node_settle(&copy->nodes[i], tree->peak);
  return copy->nodes != NULL;
}

/* The slot of the node, or the free one where it belongs. */
static uint32_t *slot_of(const clpi_call_tree *tree, uint32_t parent, uintptr_t key)
{
  const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio (Fibonacci hashing) */
  uint64_t hash = (key ^ parent * odd) * odd;
  size_t at = (size_t)(hash >> 32) & (tree->slot_count - 1);
  for (; tree->slots[at]; at = (at + 1) & (tree->slot_count - 1)) {
    const clpi_call_node *node = &tree->nodes[tree->slots[at]];
    if (node->parent == parent && node->key == key)
      break;
  }
  return &tree->slots[at];
}

uint32_t clpi_call_tree_find(const clpi_call_tree *tree, uint32_t parent, uintptr_t key)
{
  return tree->slots ? *slot_of(tree, parent, key) : 0;
}

static bool grow_nodes(clpi_call_tree *tree, uint32_t capacity)
{
  clpi_call_node *nodes = reallocarray(tree->nodes, capacity, sizeof(*nodes));
  if (!nodes)
    return false;
  tree->nodes = nodes;
  tree->capacity = capacity;
  return true;
}

static bool grow_slots(clpi_call_tree *tree, size_t slot_count)
{
  uint32_t *slots = calloc(slot_count, sizeof(*slots));
  if (!slots)
    return false;
  free(tree->slots);
  tree->slots = slots;
  tree->slot_count = slot_count;
  for (uint32_t i = 1; i < tree->count; i++)
    *slot_of(tree, tree->nodes[i].parent, tree->nodes[i].key) = i;
  return true;
}

bool clpi_call_tree_reserve(clpi_call_tree *tree, size_t more)
{
  size_t wanted = tree->count + more;
  size_t capacity = FIRST_CAPACITY;
  while (capacity < wanted)
    capacity *= 2;
  return capacity <= UINT32_MAX &&
         (capacity <= tree->capacity || grow_nodes(tree, (uint32_t)capacity)) &&
         (capacity * SLOTS_A_NODE <= tree->slot_count || grow_slots(tree, capacity * SLOTS_A_NODE));
}

uint32_t clpi_call_tree_add(clpi_call_tree *tree, uint32_t parent, uintptr_t key)
{
  uint32_t number = tree->count++;
  tree->nodes[number] =
      (clpi_call_node){.key = key, .parent = parent, .depth = tree->nodes[parent].depth + 1};
  *slot_of(tree, parent, key) = number;
  return number;
}

void clpi_call_tree_use(clpi_call_tree *tree, clpi_call_node *node, uint64_t change)
{
  clpi_call_node_settle(node, tree->peak);
  node->in_use += change;
  tree->in_use += change;
  if (tree->peak < tree->in_use)
    tree->peak = tree->in_use;
}

void clpi_call_node_settle(clpi_call_node *node, uint64_t peak)
{
  if (node->peak != peak)
    node->at_peak = node->in_use;
  node->peak = peak;
}

void clpi_call_node_add(clpi_call_node *sum, const clpi_call_node *more)
{
  clpi_profiled_bytes_add(&sum->bytes, more->bytes);
  sum->in_use += more->in_use;
  sum->at_peak += more->at_peak;
}

clpi_profiled_bytes clpi_call_node_bytes(const clpi_call_node *node, clp_line_profile_view view)
{
  if (view == CLP_VIEW_SUMS)
    return node->bytes;
  return (clpi_profiled_bytes){.used = view == CLP_VIEW_NOW ? node->in_use : node->at_peak};
}
