/* SPDX-License-Identifier: MIT */
/* clpool.MemoryPool and clpool.SVMPool: making and ending them. */
#include "clpool_module.h"

#include <string.h>
#include <structmember.h>

PyTypeObject *clpool_pool_type;
static PyTypeObject *svm_pool_type;
static PyTypeObject *on_queue_type;

/* --- Out of memory ---------------------------------------------------------------------------- */

/* Asks the pool's callback in Python whether it freed something. What that raises ends the
 * allocation. */
static bool ask(Pool *pool, size_t bytes)
{
  if (pool->reaction == NULL)
    return false;
  PyObject *answer = PyObject_CallFunction(pool->reaction, "On", pool, (Py_ssize_t)bytes);
  int freed = answer == NULL ? -1 : PyObject_IsTrue(answer);
  Py_XDECREF(answer);
  if (freed < 0)
    clpool_keep_exception();
  return freed > 0;
}

static bool on_out_of_memory(clp_pool *inner, size_t bytes, void *user_data)
{
  (void)inner;
  if (!Py_IsInitialized())
    return false;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *cause = clpool_swap_cause(NULL);
  bool freed = clpool_drop_parked() > 0 || ask(user_data, bytes);
  Py_XDECREF(clpool_swap_cause(cause));
  PyGILState_Release(state);
  return freed;
}

/* --- Making ----------------------------------------------------------------------------------- */

/* A converter for PyArg_Parse: None leaves `*out` as it was. */
static int parse_size_or_none(PyObject *object, void *out)
{
  return object == Py_None || clpool_parse_size(object, out);
}

static int parse_arena(PyObject *object, void *out)
{
  int wanted = PyObject_IsTrue(object);
  if (object != Py_None && wanted >= 0)
    *(unsigned *)out = (unsigned)wanted;
  return wanted >= 0;
}

/* A converter, too: None is NULL. */
static int parse_name(PyObject *object, void *out)
{
  if (object == Py_None)
    return 1;
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "name must be a str or None, not %.200s",
                 Py_TYPE(object)->tp_name);
    return 0;
  }
  Py_ssize_t length;
  const char *name = PyUnicode_AsUTF8AndSize(object, &length);
  if (name != NULL && strlen(name) != (size_t)length) {
    PyErr_SetString(PyExc_ValueError, "name contains a null character");
    return 0;
  }
  *(const char **)out = name;
  return name != NULL;
}

/* Has the arena keep that many bytes, as RMM's pool takes them at once. */
static int reserve(const Pool *self, size_t bytes)
{
  clp_pool *pool = self->pool;
  size_t limit = clp_pool_get_limit(pool);
  if (limit != 0 && bytes > limit) {
    PyErr_Format(PyExc_ValueError, "initial_pool_size is %zu bytes, above the limit of %zu bytes",
                 bytes, limit);
    return -1;
  }
  if (clpool_refuse_inside_callback(self->allocator) < 0)
    return -1;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_arena_reserve(clp_pool_allocator(pool), bytes);
  Py_END_ALLOW_THREADS
  return clpool_check(status);
}

static int create(Pool *self, clp_pool_options *options, PyObject *limit, size_t initial)
{
  size_t most = 0;
  if (limit != Py_None && !PyFloat_Check(limit) && clpool_size_of(limit, &most) < 0)
    return -1;
  options->on_out_of_memory = on_out_of_memory;
  options->user_data = self;
  if (clpool_check(clp_pool_create(self->allocator->allocator, options, &self->pool)) < 0)
    return -1;
  if (clp_pool_allocator(self->pool) != self->allocator->allocator) {
    PyObject *arena = clpool_arena_of(clp_pool_allocator(self->pool), self->allocator);
    if (arena == NULL)
      return -1;
    Py_SETREF(self->allocator, (Allocator *)arena);
  }
  if (limit != Py_None &&
      clpool_check(PyFloat_Check(limit)
                       ? clp_pool_set_limit_fraction(self->pool, PyFloat_AS_DOUBLE(limit))
                       : clp_pool_set_limit(self->pool, most)) < 0)
    return -1;
  return initial == 0 ? 0 : reserve(self, initial);
}

/* An initial size needs an arena of the pool's own: 0, or -1 with an exception. */
static int check_initial_size(size_t bytes, unsigned *arena, PyObject *allocator)
{
  if (bytes == 0)
    return 0;
  const char *remedy = *arena == 0 ? "omit arena=False" : NULL;
  if (Py_TYPE(allocator) == clpool_arena_type)
    remedy = "pass reserve_bytes to the ArenaAllocator instead";
  if (remedy != NULL) {
    PyErr_Format(PyExc_ValueError, "initial_pool_size needs an arena of the pool's own: %s",
                 remedy);
    return -1;
  }
  *arena = 1;
  return 0;
}

static Pool *empty_pool(PyTypeObject *type)
{
  Pool *self = (Pool *)type->tp_alloc(type, 0);
  if (self == NULL)
    return NULL;
  self->vectorcall = clpool_pool_call;
  self->holding = true;
  return self;
}

static int pool_init(PyObject *object, PyObject *args, PyObject *keywords)
{
  static char *names[] = {
      "allocator",  "leading_bits_in_bin_id", "arena", "limit", "on_out_of_memory",
      "hold_bytes", "initial_pool_size",      "name",  NULL};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  PyObject *allocator, *limit = Py_None, *reaction = clpool_default_reaction;
  PyTypeObject *type = Py_TYPE(object);
  size_t leading_bits = CLP_DEFAULT_BITS, initial = 0;
  Pool *self = (Pool *)object;
  if (self->made_by_new) {
    self->made_by_new = false;
    return 0;
  }
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O&$O&OOO&O&O&:MemoryPool", names, &allocator,
                                   parse_size_or_none, &leading_bits, parse_arena, &options.arena,
                                   &limit, &reaction, parse_size_or_none, &options.hold_bytes,
                                   parse_size_or_none, &initial, parse_name, &options.name))
    return -1;
  options.leading_bits_in_bin_id = (unsigned)Py_MIN(leading_bits, UINT_MAX);
  if (self->allocator != NULL) {
    PyErr_Format(PyExc_TypeError, "this %.100s is already initialized", type->tp_name);
    return -1;
  }
  if (!PyObject_TypeCheck(allocator, clpool_allocator_type)) {
    PyErr_Format(
        PyExc_TypeError,
        "a pool needs an allocator of clpool, such as clpool.ImmediateAllocator(queue), not %.200s",
        Py_TYPE(allocator)->tp_name);
    return -1;
  }
  self->kind = ((Allocator *)allocator)->kind;
  if (PyType_IsSubtype(type, svm_pool_type) != (self->kind == MEMORY_SVM)) {
    PyErr_Format(PyExc_TypeError, "%.100s cannot be used with %.100s", type->tp_name,
                 Py_TYPE(allocator)->tp_name);
    return -1;
  }
  if (reaction == Py_Ellipsis)
    reaction = clpool_default_reaction;
  if (reaction != Py_None && !PyCallable_Check(reaction)) {
    PyErr_Format(PyExc_TypeError, "on_out_of_memory must be a function or None, not %.200s",
                 Py_TYPE(reaction)->tp_name);
    return -1;
  }
  if (check_initial_size(initial, &options.arena, allocator) < 0)
    return -1;
  Py_INCREF(allocator);
  self->allocator = (Allocator *)allocator;
  if (reaction != Py_None) {
    Py_INCREF(reaction);
    self->reaction = reaction;
  }
  if (create(self, &options, limit, initial) == 0)
    return 0;
  clp_pool_release(self->pool);
  self->pool = NULL;
  Py_CLEAR(self->allocator);
  Py_CLEAR(self->reaction);
  return -1;
}

/* Makes a pool that __init__ completes: a derived class may have one of its own, with other
 * arguments. One whose own __new__ passes arguments gets the complete pool. */
static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  Pool *self = empty_pool(type);
  if (self == NULL)
    return NULL;
  self->hooks = PyList_New(0);
  /* The pool shows the collector what is in it. The list itself must not be cleared: its hooks stay
   * as long as they are registered. */
  if (self->hooks != NULL)
    PyObject_GC_UnTrack(self->hooks);
  bool is_for_init = type->tp_new == pool_new || (PyTuple_GET_SIZE(args) == 0 &&
                                                  (keywords == NULL || PyDict_Size(keywords) == 0));
  if (self->hooks == NULL || (!is_for_init && pool_init((PyObject *)self, args, keywords) < 0))
    Py_CLEAR(self);
  else
    self->made_by_new = !is_for_init;
  return (PyObject *)self;
}

/* The pool of libclpool's. NULL: there is none, and the next clpool_check raises why. With or
 * without the interpreter's lock. */
clp_pool *clpool_inner(Pool *self)
{
  if (self->pool == NULL) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_Format(PyExc_TypeError,
                 "this %.100s is not initialized: call super().__init__(allocator)",
                 Py_TYPE(self)->tp_name);
    clpool_keep_exception();
    PyGILState_Release(state);
  }
  return self->pool;
}

PyObject *clpool_pool_on(PyObject *object, PyObject *queue)
{
  Pool *root = clpool_root((Pool *)object);
  void *stream;
  if (clpool_inner(root) == NULL)
    return clpool_check(CLP_SUCCESS), NULL;
  if (clpool_stream_of(queue, clpool_is_cuda(root), &stream) < 0)
    return NULL;
  Pool *self = empty_pool(on_queue_type);
  if (self == NULL)
    return NULL;
  self->kind = root->kind;
  self->stream = stream;
  Py_INCREF(queue);
  self->queue = queue;
  Py_INCREF(root);
  self->root = root;
  self->pool = clp_pool_retain(root->pool);
  return (PyObject *)self;
}

/* --- Ending ----------------------------------------------------------------------------------- */

static int pool_traverse(PyObject *object, visitproc visit, void *arg)
{
  Pool *self = (Pool *)object;
  Py_VISIT(self->queue);
  Py_VISIT(self->root);
  Py_VISIT(self->allocator);
  Py_VISIT(self->reaction);
  for (Py_ssize_t i = self->hooks == NULL ? 0 : PyList_GET_SIZE(self->hooks); i-- > 0;)
    Py_VISIT(PyList_GET_ITEM(self->hooks, i));
  Py_VISIT(Py_TYPE(object));
  return 0;
}

static int pool_clear(PyObject *object)
{
  Py_CLEAR(((Pool *)object)->reaction);
  return 0;
}

/* Before a cycle that the pool is in is cleared, and hooks and callbacks of it may end first: they
 * see the held blocks go while they are whole, and hooks nothing afterwards. Inside a callback
 * neither can be. */
static void pool_finalize(PyObject *object)
{
  Pool *self = (Pool *)object;
  if (self->root != NULL || self->allocator == NULL)
    return;
  bool calls_back = clpool_calls_back(self->allocator);
  if (PyList_GET_SIZE(self->hooks) == 0 && !calls_back)
    return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (calls_back)
    self->holding = false;
  Py_BEGIN_ALLOW_THREADS
  if (calls_back)
    clp_pool_stop_holding(self->pool);
  else
    clp_pool_free_held(self->pool);
  Py_END_ALLOW_THREADS
  clpool_report_kept();
  for (Py_ssize_t i = PyList_GET_SIZE(self->hooks); i-- > 0;) {
    const clp_hook *hook = clpool_hook_of(PyList_GET_ITEM(self->hooks, i));
    if (hook != NULL)
      clp_pool_remove_hook(self->pool, hook);
  }
  PyErr_Restore(type, value, traceback);
}

static void pool_dealloc(PyObject *object)
{
  Pool *self = (Pool *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak != NULL)
    PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->reaction);
  if (self->root == NULL)
    clpool_drop_parked();
  clp_pool *pool = self->pool;
  if (pool != NULL) {
    Py_BEGIN_ALLOW_THREADS
    clp_pool_release(pool);
    Py_END_ALLOW_THREADS
  }
  clpool_report_kept();
  Py_XDECREF(self->hooks);
  Py_XDECREF(self->queue);
  Py_XDECREF(self->root);
  Py_XDECREF(self->allocator);
  type->tp_free(object);
  Py_DECREF(type);
}

/* --- The types -------------------------------------------------------------------------------- */

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Pool, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Pool, weak), READONLY, NULL},
    {"queue", T_OBJECT, offsetof(Pool, queue), READONLY,
     "The queue or stream passed to `on`, or None."},
    {NULL, 0, 0, 0, NULL},
};

static PyMemberDef on_queue_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Pool, vectorcall), READONLY, NULL},
    {"queue", T_OBJECT, offsetof(Pool, queue), READONLY, "The queue or stream."},
    {"pool", T_OBJECT, offsetof(Pool, root), READONLY, "The pool."},
    {NULL, 0, 0, 0, NULL},
};

static int add_pool(PyObject *module, const char *name, const char *documentation,
                    PyTypeObject *base, PyTypeObject **out)
{
  bool is_pool = out != &on_queue_type;
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)documentation},
      {Py_tp_dealloc, pool_dealloc},
      {Py_tp_traverse, pool_traverse},
      {Py_tp_clear, pool_clear},
      {Py_tp_finalize, pool_finalize},
      {Py_tp_call, PyVectorcall_Call},
      {Py_tp_members, is_pool ? members : on_queue_members},
      {Py_tp_methods, clpool_pool_methods},
      {Py_tp_getset, clpool_pool_properties},
      {is_pool ? Py_tp_new : 0, pool_new}, /* 0 ends the list */
      {Py_tp_init, pool_init},
      {0, NULL},
  };
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Spec spec = {name, sizeof(Pool), 0, is_pool ? flags | Py_TPFLAGS_BASETYPE : flags, slots};
  return clpool_add_type(module, &spec, base, out);
}

#define POOL_ARGUMENTS                                                                             \
  "(allocator, leading_bits_in_bin_id=None, *, arena=None, limit=None,\n"                          \
  "           on_out_of_memory=..., hold_bytes=None, initial_pool_size=None,\n"                    \
  "           name=None)\n--\n\n"
#define POOL_DETAILS                                                                               \
  "leading_bits_in_bin_id: 0 to 16. More bits mean less padding and fewer hits.\n"                 \
  "arena: carve blocks out of large segments, for a footprint near the memory in use.\n"           \
  "hold_bytes: the pool returns held bytes beyond it to the device.\n"                             \
  "initial_pool_size: bytes that an arena takes from the device at once and keeps.\n"              \
  "If one is None, CLPOOL_LEADING_BITS, CLPOOL_ARENA or CLPOOL_HOLD sets it.\n"                    \
  "limit: the most bytes to manage, or a float, a fraction of the device's memory.\n"              \
  "name: the name in traces and messages.\n"                                                       \
  "on_out_of_memory(pool, size): called if memory runs out or the limit leaves no room. It\n"      \
  "frees something and returns whether it did. Default: gc.collect(). None: do nothing.\n"         \
  "\nCalled with a size in bytes, an int, it returns "

int clpool_add_pools(PyObject *module)
{
  if (add_pool(module, "clpool.MemoryPool",
               "MemoryPool" POOL_ARGUMENTS "Holds released memory and hands it out again "
               "(pyopencl.tools.MemoryPool).\n\n" POOL_DETAILS
               "a PooledBuffer, or a Memory if the memory\n"
               "is not a cl_mem. Raises clpool.MemoryError if there is no memory.",
               NULL, &clpool_pool_type) < 0 ||
      add_pool(module, "clpool.SVMPool",
               "SVMPool" POOL_ARGUMENTS
               "Holds released shared virtual memory (pyopencl.tools.SVMPool).\n\n" POOL_DETAILS
               "a PooledSVM.",
               clpool_pool_type, &svm_pool_type) < 0 ||
      add_pool(
          module, "clpool.PoolOnQueue",
          "A pool as its method `on` returns it: allocate and calls return memory for use on the\n"
          "queue. All other members are those of the pool.",
          NULL, &on_queue_type) < 0)
    return -1;
  on_queue_type->tp_new = NULL;
  return 0;
}
