/* SPDX-License-Identifier: MIT */
/* Bytes by call stack: a tree, so that what stacks have in common is there once. It grows with the
 * number of different stacks, never with how often they are seen. */
#ifndef CLPOOL_HOOKS_CALL_TREE_H
#define CLPOOL_HOOKS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_profiled_bytes {
  uint64_t used;     /* asked of pools */
  uint64_t acquired; /* asked of the device */
} clpi_profiled_bytes;

static inline void clpi_profiled_bytes_add(clpi_profiled_bytes *sum, clpi_profiled_bytes more)
{
  sum->used += more.used;
  sum->acquired += more.acquired;
}

typedef struct clpi_call_node {
  uintptr_t key;             /* what tells it from its siblings: an address, or a line's text */
  uint32_t parent;           /* a smaller number than its own */
  uint32_t depth;            /* the root's is 0 */
  clpi_profiled_bytes bytes; /* of the stack that ends here */
} clpi_call_node;

/* Nodes have numbers, in the order in which they came; the root is 0. */
typedef struct clpi_call_tree {
  clpi_call_node *nodes;
  uint32_t count, capacity;
  uint32_t *slots;   /* a hash table of all nodes but the root; 0: nothing there */
  size_t slot_count; /* 0, or a power of two, at least twice the capacity */
} clpi_call_tree;

/* A tree of a root alone. False: no host memory. */
bool clpi_call_tree_init(clpi_call_tree *tree);
void clpi_call_tree_end(clpi_call_tree *tree);

/* Back to a root alone; its memory stays, for what comes next. */
void clpi_call_tree_clear(clpi_call_tree *tree);

/* Makes `copy` a tree of the same nodes, to be read only. False: no host memory. */
bool clpi_call_tree_copy(clpi_call_tree *copy, const clpi_call_tree *tree);

/* The child of `parent` with that key; 0: there is none. */
uint32_t clpi_call_tree_find(const clpi_call_tree *tree, uint32_t parent, uintptr_t key);

/* Makes room for so many nodes more. False: no host memory; the tree is as it was. */
bool clpi_call_tree_reserve(clpi_call_tree *tree, size_t more);

/* Adds a child that is not there, in reserved room. */
uint32_t clpi_call_tree_add(clpi_call_tree *tree, uint32_t parent, uintptr_t key);

#endif
