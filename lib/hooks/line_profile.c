/* SPDX-License-Identifier: MIT */
/* The line profile: callbacks that record, and the reports.
 *
 * Semantics: cupy.cuda.memory_hooks.LineProfileHook, which has no bytes in use. */
#include "hooks/line_profile.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "hooks/line_report.h"

#include <stdlib.h>

/* The most frames of the C library above main or a thread's first function; reports leave them
 * out. */
enum { STARTUP_FRAMES = 4 };

/* In place of a node's number: of clp_line_profile.unrecorded. */
#define UNRECORDED UINT32_MAX

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

static clpi_call_node *node_at(clp_line_profile *profile, uint32_t number)
{
  return number == UNRECORDED ? &profile->unrecorded : &profile->stacks.nodes[number];
}

/* Adds the bytes to the node of the thread's stack. Returns its number, with the profile locked. */
static uint32_t lock_and_record(clp_line_profile *profile, clpi_profiled_bytes bytes,
                                const void *callback_return)
{
  clpi_call_stack stack;
  uint32_t node;
  stack.seen = 0;
  if (profile->max_depth != 1)
    clpi_call_stack_capture(&stack, profile->walk, callback_return);
  size_t frames = wanted_frames(profile, &stack);
  pthread_mutex_lock(&profile->lock);
  if (!find_node_locked(&profile->stacks, &stack, frames, &node))
    node = UNRECORDED;
  clpi_profiled_bytes_add(&node_at(profile, node)->bytes, bytes);
  return node;
}

static bool put_locked(clpi_map *map, uint64_t key, uint64_t value)
{
  bool is_reserved = clpi_map_reserve(map);
  if (is_reserved)
    clpi_map_put(map, key, value);
  return is_reserved;
}

static uint64_t own_thread(void)
{
  return (uintptr_t)pthread_self();
}

static void end_use_locked(clp_line_profile *profile, uint64_t buffer_id)
{
  uint64_t node, bytes;
  if (clpi_map_take(&profile->nodes, buffer_id, &node) &&
      clpi_map_take(&profile->sizes, buffer_id, &bytes))
    clpi_call_tree_use(&profile->stacks, node_at(profile, (uint32_t)node), -bytes);
}

/* If a buffer is in use already, the hook did not see its release. */
static void begin_use_locked(clp_line_profile *profile, const clp_hook_event *event, uint32_t node)
{
  end_use_locked(profile, event->buffer_id);
  if (!put_locked(&profile->sizes, event->buffer_id, event->mem_size))
    return;
  if (put_locked(&profile->nodes, event->buffer_id, node))
    clpi_call_tree_use(&profile->stacks, node_at(profile, node), event->mem_size);
}

static void record_request(const clp_hook_event *event, void *user_data)
{
  clp_line_profile *profile = user_data;
  if (clpi_is_inherited(profile->forks))
    return;
  clpi_profiled_bytes bytes = {.used = event->mem_size};
  uint32_t node = lock_and_record(profile, bytes, CLPI_CALLBACK_RETURN);
  (void)put_locked(&profile->requests, own_thread(), node);
  pthread_mutex_unlock(&profile->lock);
}

/* The request's node is no longer known after a reset, or after another request of the thread, made
 * by an on_out_of_memory. */
static void record_buffer(const clp_hook_event *event, void *user_data)
{
  clp_line_profile *profile = user_data;
  uint64_t node;
  if (clpi_is_inherited(profile->forks))
    return;
  pthread_mutex_lock(&profile->lock);
  bool is_known = clpi_map_take(&profile->requests, own_thread(), &node);
  if (!is_known && event->buffer_id) {
    pthread_mutex_unlock(&profile->lock);
    node = lock_and_record(profile, (clpi_profiled_bytes){0}, CLPI_CALLBACK_RETURN);
  }
  if (event->buffer_id)
    begin_use_locked(profile, event, (uint32_t)node);
  pthread_mutex_unlock(&profile->lock);
}

static void record_acquired(const clp_hook_event *event, void *user_data)
{
  clp_line_profile *profile = user_data;
  if (!event->memory || clpi_is_inherited(profile->forks))
    return;
  clpi_profiled_bytes bytes = {.acquired = event->mem_size};
  lock_and_record(profile, bytes, CLPI_CALLBACK_RETURN);
  pthread_mutex_unlock(&profile->lock);
}

/* Called before the release: afterwards, another thread may have the buffer. */
static void record_release(const clp_hook_event *event, void *user_data)
{
  clp_line_profile *profile = user_data;
  if (clpi_is_inherited(profile->forks))
    return;
  pthread_mutex_lock(&profile->lock);
  end_use_locked(profile, event->buffer_id);
  pthread_mutex_unlock(&profile->lock);
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
  profile->hook.malloc_preprocess = record_request;
  profile->hook.malloc_postprocess = record_buffer;
  profile->hook.alloc_postprocess = record_acquired;
  profile->hook.free_preprocess = record_release;
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

static void end_maps(clp_line_profile *profile)
{
  clpi_map_end(&profile->requests);
  clpi_map_end(&profile->nodes);
  clpi_map_end(&profile->sizes);
}

/* A thread of the parent may have been changing an inherited profile. */
void clp_line_profile_destroy(clp_line_profile *profile)
{
  if (!profile || clpi_is_inherited(profile->forks))
    return;
  pthread_mutex_destroy(&profile->lock);
  clpi_call_tree_end(&profile->stacks);
  end_maps(profile);
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
  profile->unrecorded = (clpi_call_node){0};
  end_maps(profile);
  pthread_mutex_unlock(&profile->lock);
  return CLP_SUCCESS;
}

/* --- reports --- */

/* Works on a copy, so that recording need not wait while names are found. */
static clp_status make_report(clp_line_profile *profile, clp_line_profile_view view,
                              clpi_line_report *report)
{
  clpi_call_tree stacks;
  pthread_mutex_lock(&profile->lock);
  bool copied = clpi_call_tree_copy(&stacks, &profile->stacks);
  clpi_call_node unrecorded = profile->unrecorded;
  pthread_mutex_unlock(&profile->lock);
  if (!copied)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a copy of a line profile");
  clpi_call_node_settle(&unrecorded, stacks.peak);
  clp_status status = clpi_line_report_init(report, &stacks, profile->max_depth, profile->symbols);
  report->unrecorded = unrecorded;
  report->view = view;
  clpi_call_tree_end(&stacks);
  return status;
}

static clp_status write_report(clp_line_profile *profile, clp_line_profile_view view, FILE *file,
                               const char *function,
                               clp_status (*write)(const clpi_line_report *report, FILE *file))
{
  CLPI_UNCANCELLED;
  clp_status status = check(profile, function);
  if (!status && !file)
    status = clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: file is NULL", function);
  if (!status && (unsigned)view > CLP_VIEW_PEAK)
    status = clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: unknown view %d", function, (int)view);
  if (status)
    return status;
  clpi_line_report report;
  status = make_report(profile, view, &report);
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
  return write_report(profile, CLP_VIEW_SUMS, file, "clp_line_profile_print",
                      clpi_line_report_print);
}

clp_status clp_line_profile_print_view(clp_line_profile *profile, clp_line_profile_view view,
                                       FILE *file)
{
  return write_report(profile, view, file, "clp_line_profile_print_view", clpi_line_report_print);
}

clp_status clp_line_profile_write_folded(clp_line_profile *profile, FILE *file)
{
  return write_report(profile, CLP_VIEW_SUMS, file, "clp_line_profile_write_folded",
                      clpi_line_report_write_folded);
}

clp_status clp_line_profile_write_folded_view(clp_line_profile *profile, clp_line_profile_view view,
                                              FILE *file)
{
  return write_report(profile, view, file, "clp_line_profile_write_folded_view",
                      clpi_line_report_write_folded);
}
