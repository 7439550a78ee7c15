/* SPDX-License-Identifier: MIT */
/* Asking a pool on a full device: who helps, which calls that makes, and what is left. */
#ifndef CLPT_LADDER_H
#define CLPT_LADDER_H

#include "pools.h"

/** What an on_out_of_memory does, and saw. It notes its calls in the device's trace. */
typedef struct clpt_helper {
  clpt_device *device;
  unsigned says_yes;       /**< so often */
  clp_buffer *releases[8]; /**< one a call, from the front, while there are any */
  size_t released;
  clp_pool *uses;      /**< takes 10 bytes from it, and releases them, at each call; NULL: none */
  clp_pool *seen_pool; /**< what it was called with */
  size_t seen_bytes;
} clpt_helper;

/** The callback; its user_data is a clpt_helper. */
bool clpt_help(clp_pool *pool, size_t bytes, void *user_data);

/** A device of `capacity` bytes and a pool with `helper`, which is reset, as its callback. */
void clpt_start_with_helper(clpt_rig *rig, clpt_helper *helper, size_t capacity);

#endif
