/* SPDX-License-Identifier: MIT */
#include "stacks.h"

#include "dispatch.h"
#include "hooks/frame_lines.h"
#include "hooks/frames.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t lock; /* guards the rest */
  clpi_call_tree tree;
  char **texts; /* of nodes by their numbers */
  uint32_t count;
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool clpi_stacks_begin(void)
{
  clpi_frames_leave_out(clpi_loader, &stacks);
  return clpi_call_tree_init(&stacks.tree);
}

/* Numbers come in order, from 1 on. */
static void define(uint32_t number, uint32_t caller, const char *text, void *argument)
{
  (void)caller, (void)argument;
  char **more = reallocarray(stacks.texts, number + (size_t)1, sizeof(*more));
  if (!more)
    return;
  for (; stacks.count < number; stacks.count++)
    more[stacks.count] = NULL;
  stacks.texts = more;
  more[stacks.count++] = strdup(text);
}

/* Python gives its lock up in calls that block, and without the lock a stack has none of its lines.
 * No lock is held here that another thread needs. Returns what gives the lock back; NULL: it is not
 * taken. */
static void (*take_python(int *state))(int)
{
  void *(*own)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  if (!own || !own()) /* each function that is not there takes a microsecond to look for */
    return NULL;
  int (*is_ending)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  int (*take)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  void (*give)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
  is_ending = is_ending ? is_ending : (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (!is_ending || !take || !give || is_ending())
    return NULL;
  *state = take();
  return give;
}

uint32_t clpi_stack_here(void)
{
  clpi_frames frames;
  int state;
  void (*give_python)(int) = take_python(&state);
  clpi_frames_read(&frames, NULL);
  pthread_mutex_lock(&stacks.lock);
  uint32_t number = clpi_frames_number(&frames, &stacks.tree, define, NULL);
  pthread_mutex_unlock(&stacks.lock);
  clpi_frames_end(&frames);
  if (give_python)
    give_python(state);
  return number;
}

/* Shows file:line:function as "file:line function". C++'s functions have colons of their own. */
static void show(const char *text, clpi_stack_visitor *visitor, void *argument)
{
  char *frame = strdup(text ? text : "??"), *at = frame ? strchr(frame, ':') : NULL;
  while (at && strspn(at + 1, "0123456789") == 0)
    at = strchr(at + 1, ':');
  if (at && at[1 + strspn(at + 1, "0123456789")] == ':')
    at[1 + strspn(at + 1, "0123456789")] = ' ';
  if (frame)
    visitor(frame, argument);
  free(frame);
}

void clpi_stack_show(uint32_t stack, clpi_stack_visitor *visitor, void *argument)
{
  clpi_frame_lines names;
  const clpi_address_lines *found;
  const bool has_names = !clpi_frame_lines_init(&names, &clpi_process_symbols);
  pthread_mutex_lock(&stacks.lock);
  for (uint32_t at = stack; at; at = stacks.tree.nodes[at].parent) {
    const char *text = at < stacks.count ? stacks.texts[at] : NULL;
    const char *offset = text ? strrchr(text, '+') : NULL;
    bool is_address = has_names && offset && strncmp(offset, "+0x", 3) == 0 &&
                      !clpi_frame_lines_find(&names, stacks.tree.nodes[at].key, &found);
    if (!is_address || !found->count || found->lines[found->count - 1]->is_nameless)
      show(text, visitor, argument);
    else
      for (size_t i = found->count; i-- > 0;)
        if (!found->lines[i]->is_startup)
          show(found->lines[i]->text, visitor, argument);
  }
  pthread_mutex_unlock(&stacks.lock);
  if (has_names)
    clpi_frame_lines_end(&names);
}
