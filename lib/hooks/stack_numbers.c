/* SPDX-License-Identifier: MIT */
#include "hooks/stack_numbers.h"

#include "core/base/map.h"
#include "hooks/frame_lines.h"
#include "hooks/frames.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock; /* guards the rest */
  clpi_call_tree tree;
  clpi_map texts; /* of nodes by their numbers */
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool clpi_stacks_begin(const void *left_out)
{
  clpi_frames_leave_out(left_out, &stacks);
  return clpi_call_tree_init(&stacks.tree);
}

static void define(uint32_t number, uint32_t caller, const char *text, void *argument)
{
  (void)caller, (void)argument;
  if (clpi_map_reserve(&stacks.texts))
    clpi_map_put(&stacks.texts, number, (uintptr_t)strdup(text));
}

uint32_t clpi_stack_here(void)
{
  clpi_frames frames;
  clpi_frames_read(&frames, NULL, true);
  pthread_mutex_lock(&stacks.lock);
  uint32_t number = clpi_frames_number(&frames, &stacks.tree, define, NULL);
  pthread_mutex_unlock(&stacks.lock);
  clpi_frames_end(&frames);
  return number;
}

static void put_node(FILE *to, clpi_frame_lines *names, uint32_t node)
{
  const uint64_t *kept = clpi_map_find(&stacks.texts, node);
  const char *text = kept && *kept ? (const char *)(uintptr_t)*kept : "??";
  const clpi_address_lines *found;
  if (!strstr(text, "+0x") || clpi_frame_lines_find(names, stacks.tree.nodes[node].key, &found) ||
      !found->count || found->lines[found->count - 1]->is_nameless)
    fprintf(to, "%s%c", text, '\0');
  else
    for (size_t i = found->count; i-- > 0;)
      if (!found->lines[i]->is_startup)
        fprintf(to, "%s%c", found->lines[i]->text, '\0');
}

/* Makes file:line:function "file:line function". C++'s functions have colons of their own. */
static void part(char *frame)
{
  while ((frame = strchr(frame, ':'))) {
    frame += 1 + strspn(frame + 1, "0123456789");
    if (*frame == ':' && frame[-1] != ':')
      *frame = ' ';
  }
}

char *clpi_stack_text(uint32_t stack)
{
  clpi_frame_lines names;
  char *text = NULL;
  size_t bytes;
  if (!stack || clpi_frame_lines_init(&names, &clpi_process_symbols))
    return NULL;
  FILE *to = open_memstream(&text, &bytes);
  pthread_mutex_lock(&stacks.lock);
  for (uint32_t node = stack; to && node; node = stacks.tree.nodes[node].parent)
    put_node(to, &names, node);
  pthread_mutex_unlock(&stacks.lock);
  clpi_frame_lines_end(&names);
  if (to)
    fclose(to);
  for (char *frame = text; frame && *frame; frame += strlen(frame) + 1)
    part(frame);
  return text;
}
