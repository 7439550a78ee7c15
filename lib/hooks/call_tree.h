/* SPDX-License-Identifier: MIT */
/* Bytes by call stack, as a tree in which stacks share their outer frames. It grows with the number
 * of different stacks, not with how often they occur. */
#ifndef CLPOOL_HOOKS_CALL_TREE_H
#define CLPOOL_HOOKS_CALL_TREE_H

#include <clpool/profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_profiled_bytes {
  uint64_t used;     /* requested from pools; in a report, those in use */
  uint64_t acquired; /* from the device */
} clpi_profiled_bytes;

static inline void clpi_profiled_bytes_add(clpi_profiled_bytes *sum, clpi_profiled_bytes more)
{
  sum->used += more.used;
  sum->acquired += more.acquired;
}

typedef struct clpi_call_node {
  uintptr_t key;             /* distinguishes it from its siblings: an address, or a clpi_line */
  uint32_t parent;           /* its number is smaller than the node's own */
  uint32_t depth;            /* the root's is 0 */
  clpi_profiled_bytes bytes; /* of stacks that end here, without those of children */
  uint64_t in_use;           /* bytes of such stacks that are in use */
  uint64_t at_peak, peak;    /* its bytes in use when those of the tree were `peak` */
} clpi_call_node;

/* Nodes are numbered in the order in which they were added; the root is 0. */
typedef struct clpi_call_tree {
  clpi_call_node *nodes;
  uint32_t count, capacity;
  uint32_t *slots;       /* a hash table of node numbers; 0: a free slot */
  size_t slot_count;     /* 0, or a power of two, at least twice the capacity */
  uint64_t in_use, peak; /* bytes in use of all nodes, now and at most */
} clpi_call_tree;

/* Makes a tree with only a root. False: out of host memory. */
bool clpi_call_tree_init(clpi_call_tree *tree);
void clpi_call_tree_end(clpi_call_tree *tree);

/* Removes all nodes except the root; the memory is kept for new ones. */
void clpi_call_tree_clear(clpi_call_tree *tree);

/* Makes `copy` a read-only copy of `tree`, in which all nodes are settled. False: out of host
 * memory. */
bool clpi_call_tree_copy(clpi_call_tree *copy, const clpi_call_tree *tree);

/* Returns the child of `parent` with this key; 0: none. */
uint32_t clpi_call_tree_find(const clpi_call_tree *tree, uint32_t parent, uintptr_t key);

/* Makes room for `more` nodes. False: out of host memory; the tree is unchanged. */
bool clpi_call_tree_reserve(clpi_call_tree *tree, size_t more);

/* Adds a child and returns its number. The caller must have reserved room. */
uint32_t clpi_call_tree_add(clpi_call_tree *tree, uint32_t parent, uintptr_t key);

/* Adds `change` to a node's bytes in use; a negative change wraps around. A new peak costs nothing:
 * a node saves its bytes at the peak when it first changes after the peak. */
void clpi_call_tree_use(clpi_call_tree *tree, clpi_call_node *node, uint64_t change);

/* Settles a node: makes its `at_peak` correct for the tree's `peak`. */
void clpi_call_node_settle(clpi_call_node *node, uint64_t peak);

/* Adds the bytes of another node, in every view. Both must be settled. */
void clpi_call_node_add(clpi_call_node *sum, const clpi_call_node *more);

/* Returns the bytes of a settled node in a view. */
clpi_profiled_bytes clpi_call_node_bytes(const clpi_call_node *node, clp_line_profile_view view);

#endif
