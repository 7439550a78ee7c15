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

/** Takes a buffer of 1023 bytes, which is its bin's size, and releases it; asserts which calls that
 * made. */
void clpt_assert_served(clpt_rig *rig, const char *trace);

/** Fails to take such a buffer; asserts with what and which calls that made, and that
 * figures are as before but for held blocks that went. */
void clpt_assert_refused(clpt_rig *rig, clp_status status, const char *trace);

#endif
