/* SPDX-License-Identifier: MIT */
/* The line profile: two callbacks that record, and the reports.
 *
 * Semantics: cupy.cuda.memory_hooks.LineProfileHook. */
#include "hooks/line_profile.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "hooks/line_report.h"

#include <stdlib.h>

/* The most frames of the C library above main or a thread's first function; reports leave them
 * out. */
enum { STARTUP_FRAMES = 4 };

/* The return address of the hook's callback. Must be used in the callback itself. */
#define CALLBACK_RETURN __builtin_extract_return_addr(__builtin_return_address(0))

/* --- recording --- */

/* How many of the outermost frames to keep. A frame becomes one line or, with inlined calls,
 * several, so max_depth frames suffice for max_depth lines. */
static size_t wanted_frames(const clp_line_profile *profile, const clpi_call_stack *stack)
{
  size_t depth = clpi_call_stack_depth(stack);
  size_t most = profile->max_depth ? profile->max_depth - 1 + (size_t)STARTUP_FRAMES : depth;
  return depth < most ? depth : most;
}

/* Finds or adds the node of the stack's outermost `frames` frames. False: out of host memory. */
static bool find_node_locked(clpi_call_tree *tree, const clpi_call_stack *stack, size_t frames,
                             uint32_t *node)
{
  size_t i = 0;
  *node = 0;
  for (; i < frames; i++) {
    uint32_t child = clpi_call_tree_find(tree, *node, clpi_call_stack_frame(stack, i));
    if (!child)
      break;
    *node = child;
  }
  if (i < frames && !clpi_call_tree_reserve(tree, frames - i))
    return false;
  for (; i < frames; i++)
    *node = clpi_call_tree_add(tree, *node, clpi_call_stack_frame(stack, i));
  return true;
}

static void record(clp_line_profile *profile, clpi_profiled_bytes bytes,
                   const void *callback_return)
{
  if (clpi_is_inherited(profile->forks))
    return;
  clpi_call_stack stack;
  uint32_t node;
  stack.seen = 0;
  if (profile->max_depth != 1)
    clpi_call_stack_capture(&stack, profile->walk, callback_return);
  size_t frames = wanted_frames(profile, &stack);
  pthread_mutex_lock(&profile->lock);
  bool found = find_node_locked(&profile->stacks, &stack, frames, &node);
  clpi_profiled_bytes_add(found ? &profile->stacks.nodes[node].bytes : &profile->unrecorded, bytes);
  pthread_mutex_unlock(&profile->lock);
}

static void record_used(const clp_hook_event *event, void *user_data)
{
  record(user_data, (clpi_profiled_bytes){.used = event->mem_size}, CALLBACK_RETURN);
}

static void record_acquired(const clp_hook_event *event, void *user_data)
{
  record(user_data, (clpi_profiled_bytes){.acquired = event->mem_size}, CALLBACK_RETURN);
}

/* --- life --- */

static void ignore_frame(uintptr_t address, void *argument)
{
  (void)address, (void)argument;
}

clp_status clp_line_profile_create(unsigned max_depth, clp_line_profile **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_line_profile_create: out is NULL");
  *out = NULL;
  clp_line_profile *profile = clpi_forks_watch() ? malloc(sizeof(*profile)) : NULL;
  if (!profile)
    goto no_memory;
  *profile = (clp_line_profile){
      .hook = CLP_HOOK_INIT,
      .max_depth = max_depth,
      .forks = clpi_relaxed(clpi_forks),
      .walk = clpi_walk_stack,
      .symbols = &clpi_process_symbols,
  };
  profile->hook.name = "line_profile";
  profile->hook.user_data = profile;
  profile->hook.malloc_preprocess = record_used;
  profile->hook.alloc_preprocess = record_acquired;
  if (!clpi_call_tree_init(&profile->stacks))
    goto free_profile;
  pthread_mutex_init(&profile->lock, NULL);
  /* Sets the unwinder up, so that callbacks need not. */
  profile->walk(ignore_frame, NULL);
  *out = profile;
  return CLP_SUCCESS;

free_profile:
  free(profile);
no_memory:
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a line profile");
}

/* A thread of the parent may have been changing what an inherited one has. */
void clp_line_profile_destroy(clp_line_profile *profile)
{
  if (!profile || clpi_is_inherited(profile->forks))
    return;
  pthread_mutex_destroy(&profile->lock);
  clpi_call_tree_end(&profile->stacks);
  free(profile);
}

const clp_hook *clp_line_profile_hook(clp_line_profile *profile)
{
  return profile ? &profile->hook : NULL;
}

static clp_status check(const clp_line_profile *profile, const char *function)
{
  if (!profile)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: profile is NULL", function);
  return clpi_is_inherited(profile->forks) ? clpi_refuse_inherited(function, "the profile")
                                           : CLP_SUCCESS;
}

clp_status clp_line_profile_reset(clp_line_profile *profile)
{
  clp_status status = check(profile, "clp_line_profile_reset");
  if (status)
    return status;
  pthread_mutex_lock(&profile->lock);
  clpi_call_tree_clear(&profile->stacks);
  profile->unrecorded = (clpi_profiled_bytes){0};
  pthread_mutex_unlock(&profile->lock);
  return CLP_SUCCESS;
}

/* --- reports --- */

/* Works on a copy, so that recording need not wait while names are looked up. */
static clp_status make_report(clp_line_profile *profile, clpi_line_report *report)
{
  clpi_call_tree stacks;
  pthread_mutex_lock(&profile->lock);
  bool copied = clpi_call_tree_copy(&stacks, &profile->stacks);
  clpi_profiled_bytes unrecorded = profile->unrecorded;
  pthread_mutex_unlock(&profile->lock);
  if (!copied)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a copy of a line profile");
  clp_status status = clpi_line_report_init(report, &stacks, profile->max_depth, profile->symbols);
  report->unrecorded = unrecorded;
  clpi_call_tree_end(&stacks);
  return status;
}

static clp_status write_report(clp_line_profile *profile, FILE *file, const char *function,
                               clp_status (*write)(const clpi_line_report *report, FILE *file))
{
  CLPI_UNCANCELLED;
  clp_status status = check(profile, function);
  if (!status && !file)
    status = clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: file is NULL", function);
  if (status)
    return status;
  clpi_line_report report;
  status = make_report(profile, &report);
  if (status)
    return status;
  flockfile(file); /* no other thread's lines between these */
  status = write(&report, file);
  funlockfile(file);
  clpi_line_report_end(&report);
  return status;
}

clp_status clp_line_profile_print(clp_line_profile *profile, FILE *file)
{
  return write_report(profile, file, "clp_line_profile_print", clpi_line_report_print);
}

clp_status clp_line_profile_write_folded(clp_line_profile *profile, FILE *file)
{
  return write_report(profile, file, "clp_line_profile_write_folded",
                      clpi_line_report_write_folded);
}
