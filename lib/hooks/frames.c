/* SPDX-License-Identifier: MIT */
/* Turns the thread's stack into numbers: nodes of a tree of frames, numbered in their order. */
#include "hooks/frames.h"

#include "hooks/object.h"

#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Python, whose functions are looked up in the process --- */

/* Members of `python`, and the names of the functions. A second name is a substitute: an older
 * function, or one that gives a line as the position. Objects are void. */
#define PYTHON_FUNCTIONS(F)                                                                        \
  F(void *, thread_state, (void), "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet")     \
  F(void *, own_thread_state, (void), "PyGILState_GetThisThreadState", NULL)                       \
  F(void *, frame, (void), "PyEval_GetFrame", NULL)                                                \
  F(void *, caller, (void *frame), "PyFrame_GetBack", NULL)                                        \
  F(void *, code, (void *frame), "PyFrame_GetCode", NULL)                                          \
  F(int, position, (void *frame), "PyFrame_GetLasti", "PyFrame_GetLineNumber")                     \
  F(int, line, (void *code, int position), "PyCode_Addr2Line", NULL)                               \
  F(void *, attribute, (void *object, const char *name), "PyObject_GetAttrString", NULL)           \
  F(const char *, text, (void *string), "PyUnicode_AsUTF8", NULL)                                  \
  F(void, drop_exception, (void), "PyErr_Clear", NULL)                                             \
  F(void, retain, (void *object), "Py_IncRef", NULL)                                               \
  F(void, release, (void *object), "Py_DecRef", NULL)                                              \
  F(int, stop_collector, (void), "PyGC_Disable", NULL) /* whether it was on */                     \
  F(int, start_collector, (void), "PyGC_Enable", NULL)                                             \
  F(int, is_ending, (void), "Py_IsFinalizing", "_Py_IsFinalizing")                                 \
  F(int, take_lock, (void), "PyGILState_Ensure", NULL)                                             \
  F(void, give_lock, (int state), "PyGILState_Release", NULL)

#define MEMBER(type, name, arguments, symbol, other) type(*name) arguments;
#define FIND(type, name, arguments, symbol, other)                                                 \
  *(void **)&to->name = find_function(symbol, other);                                              \
  if (!to->name)                                                                                   \
    return false;

typedef struct python {
  PYTHON_FUNCTIONS(MEMBER)
  clpi_object_range object; /* that the interpreter is in */
} python;

static struct {
  pthread_mutex_t lock; /* guards `functions` until `found` is set */
  python functions;
  _Atomic(const python *)
      found;             /* NULL: not yet; its release is paired with find_python's acquire */
  atomic_ullong objects; /* how many had been loaded when it was looked for */
} interpreter = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *find_function(const char *name, const char *other)
{
  void *found = dlsym(RTLD_DEFAULT, name);
  return found || !other ? found : dlsym(RTLD_DEFAULT, other);
}

static bool find_functions(python *to)
{
  PYTHON_FUNCTIONS(FIND)
  to->object = clpi_object_range_of((uintptr_t)to->frame);
  return true;
}

static int read_count(struct dl_phdr_info *object, size_t bytes, void *count)
{
  (void)bytes;
  *(unsigned long long *)count = object->dlpi_adds;
  return 1;
}

/* Looking for functions that do not exist takes microseconds, so it is repeated only after an
 * object was loaded. */
static const python *find_python(void)
{
  unsigned long long objects = 0;
  const python *found = atomic_load_explicit(&interpreter.found, memory_order_acquire);
  if (found)
    return found;
  dl_iterate_phdr(read_count, &objects);
  if (objects == atomic_load_explicit(&interpreter.objects, memory_order_relaxed))
    return NULL;
  pthread_mutex_lock(&interpreter.lock);
  found = atomic_load_explicit(&interpreter.found, memory_order_relaxed);
  if (!found && find_functions(&interpreter.functions))
    found = &interpreter.functions;
  atomic_store_explicit(&interpreter.found, found, memory_order_release);
  atomic_store_explicit(&interpreter.objects, objects, memory_order_relaxed);
  pthread_mutex_unlock(&interpreter.lock);
  return found;
}

/* With several interpreters, PyGILState_Check returns true on any thread. */
static bool holds_lock(const python *api)
{
  void *own = api->own_thread_state();
  return own && own == api->thread_state();
}

/* Python 3.11 makes objects of frames on request, and might then collect garbage. That would run
 * code of the program in the middle of a call of the driver. */
static size_t read_lines(const python *api, clpi_python_line lines[CLPI_MOST_FRAMES])
{
  size_t count = 0;
  void *frame = holds_lock(api) ? api->frame() : NULL;
  if (!frame)
    return 0;
  bool collects = api->stop_collector();
  api->retain(frame);
  for (void *caller; frame && count < CLPI_MOST_FRAMES; frame = caller) {
    lines[count++] = (clpi_python_line){api->code(frame), api->position(frame)};
    caller = api->caller(frame);
    api->release(frame);
  }
  if (frame)
    api->release(frame);
  if (collects)
    api->start_collector();
  return count;
}

static uintptr_t key_of(const clpi_python_line *line)
{
  const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
  return (uintptr_t)line->code ^ (uintptr_t)((uint64_t)line->position * odd);
}

/* The code object is kept for ever, so that no other one gets its key. */
static void describe_line(const clpi_python_line *line, char text[CLPI_FRAME_BYTES])
{
  const python *api = find_python();
  bool has_positions = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
  int number = has_positions ? api->line(line->code, line->position) : line->position;
  void *names[2] = {api->attribute(line->code, "co_filename"),
                    api->attribute(line->code, "co_name")};
  const char *file = names[0] ? api->text(names[0]) : NULL;
  const char *function = names[1] ? api->text(names[1]) : NULL;
  if (!file || !function) /* it is no UTF-8 */
    api->drop_exception();
  snprintf(text, CLPI_FRAME_BYTES, "%.*s:%d:%s", CLPI_FRAME_BYTES / 2, file ? file : "??", number,
           function ? function : "??");
  for (size_t i = 0; i < 2; i++)
    if (names[i])
      api->release(names[i]);
  api->retain(line->code);
}

/* --- C --- */

static clpi_object_range left_out[2];

void clpi_frames_leave_out(const void *one, const void *other)
{
  left_out[0] = clpi_object_range_of((uintptr_t)one);
  left_out[1] = clpi_object_range_of((uintptr_t)other);
}

static bool is_left_out(uintptr_t address)
{
  return clpi_object_range_has(left_out[0], address) || clpi_object_range_has(left_out[1], address);
}

/* The dynamic linker's paths of libraries are those that the program gave. */
static void describe_address(uintptr_t address, char text[CLPI_FRAME_BYTES])
{
  clpi_object_place place;
  char whole[PATH_MAX];
  clpi_object_find(address, &place);
  bool is_relative = place.path[0] != '/' && strchr(place.path, '/');
  const char *path = is_relative && realpath(place.path, whole) ? whole : place.path;
  snprintf(text, CLPI_FRAME_BYTES, "%.*s+0x%" PRIxPTR, CLPI_FRAME_BYTES - 32, path, place.offset);
}

/* --- both --- */

void clpi_frames_read(clpi_frames *frames, const void *callback_return, bool takes_lock)
{
  clpi_call_stack stack;
  const python *api = find_python();
  takes_lock = takes_lock && api && api->own_thread_state() && !api->is_ending();
  frames->lock = takes_lock ? api->take_lock() : -1;
  clpi_call_stack_capture(&stack, clpi_walk_stack, callback_return);
  size_t begin = 0, end = clpi_call_stack_depth(&stack);
  while (end > 0 && is_left_out(clpi_call_stack_frame(&stack, end - 1)))
    end--;
  frames->line_count = api ? read_lines(api, frames->lines) : 0;
  if (frames->line_count)
    for (begin = end; begin > 0; begin--)
      if (clpi_object_range_has(api->object, clpi_call_stack_frame(&stack, begin - 1)))
        break;
  frames->frame_count = end - begin;
  for (size_t i = begin; i < end; i++)
    frames->frames[i - begin] = clpi_call_stack_frame(&stack, i);
}

void clpi_frames_end(const clpi_frames *frames)
{
  for (size_t i = 0; i < frames->line_count; i++)
    find_python()->release(frames->lines[i].code);
  if (frames->lock >= 0)
    find_python()->give_lock(frames->lock);
}

/* Moves from a node to its child. False: there is no host memory for it. */
static bool step(clpi_call_tree *tree, uint32_t *at, uintptr_t key, const clpi_python_line *line,
                 clpi_frame_definer *define, void *argument)
{
  char text[CLPI_FRAME_BYTES];
  uint32_t caller = *at, child = clpi_call_tree_find(tree, caller, key);
  if (!child && !clpi_call_tree_reserve(tree, 1))
    return false;
  *at = child ? child : clpi_call_tree_add(tree, caller, key);
  if (child)
    return true;
  if (line)
    describe_line(line, text);
  else
    describe_address(key, text);
  for (char *letter = text; *letter; letter++)
    if (iscntrl((unsigned char)*letter))
      *letter = ' ';
  define(*at, caller, text, argument);
  return true;
}

uint32_t clpi_frames_number(const clpi_frames *frames, clpi_call_tree *tree,
                            clpi_frame_definer *define, void *argument)
{
  uint32_t at = 0;
  bool has_memory = true;
  for (const clpi_python_line *line = frames->lines + frames->line_count;
       line-- > frames->lines && has_memory;)
    has_memory = step(tree, &at, key_of(line), line, define, argument);
  for (size_t i = 0; i < frames->frame_count && has_memory; i++)
    has_memory = step(tree, &at, frames->frames[i], NULL, define, argument);
  return at;
}
