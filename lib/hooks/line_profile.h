/* SPDX-License-Identifier: MIT */
/* A line profile: its hook, and its records. */
#ifndef CLPOOL_HOOKS_LINE_PROFILE_H
#define CLPOOL_HOOKS_LINE_PROFILE_H

#include "core/base/map.h"
#include "hooks/call_stack.h"
#include "hooks/call_tree.h"
#include "hooks/symbols.h"

#include <clpool/profile.h>
#include <pthread.h>

struct clp_line_profile {
  /* Set at create. Tests replace the walker and the symbols. */
  clp_hook hook;
  unsigned max_depth;
  unsigned forks; /* clpi_forks when the profile was made */
  clpi_stack_walker *walk;
  const clpi_symbols *symbols;

  pthread_mutex_t lock;      /* guards the rest */
  clpi_call_tree stacks;     /* keys are addresses */
  clpi_call_node unrecorded; /* for stacks for which host memory ran out; not in the tree */
  clpi_map requests;         /* by thread: the node of the request that it is in */
  clpi_map nodes, sizes;     /* by the ID of a buffer in use: its node, and its bytes */
};

#endif
