/* SPDX-License-Identifier: MIT */
/* Hooks whose callbacks are in Python. clpool.MemoryHook makes an object of this type for itself,
 * with a callable for each callback that it overrides. */
#include "clpool_module.h"

#define CALLBACKS 8

typedef struct Hook {
  PyObject ob_base;
  clp_hook hook;
  PyObject *name;
  PyObject *callables[CALLBACKS]; /* NULL: not overridden */
  bool tells_size_of_frees;       /* unlike CuPy's hooks */
} Hook;

static PyTypeObject *hook_type;

/* --- From C to Python ------------------------------------------------------------------------- */

/* What the callbacks are told, by keyword. Each is told of these: */
enum {
  TELLS_SIZE = 1,   /* bytes as asked for */
  TELLS_MEMORY = 2, /* the address */
  TELLS_BUFFER = 4, /* the identity of the allocation */
};

static const int tells[CALLBACKS] = {
    TELLS_SIZE,                               /* malloc_preprocess */
    TELLS_SIZE | TELLS_MEMORY | TELLS_BUFFER, /* malloc_postprocess */
    0,                                        /* alloc_preprocess */
    TELLS_MEMORY,                             /* alloc_postprocess */
    TELLS_MEMORY | TELLS_BUFFER,              /* free_preprocess */
    TELLS_MEMORY | TELLS_BUFFER,              /* free_postprocess */
    TELLS_MEMORY,                             /* device_free_preprocess */
    TELLS_MEMORY,                             /* device_free_postprocess */
};

static int tell(PyObject *keywords, const char *name, unsigned long long value)
{
  PyObject *number = PyLong_FromUnsignedLongLong(value);
  if (number == NULL)
    return -1;
  int result = PyDict_SetItemString(keywords, name, number);
  Py_DECREF(number);
  return result;
}

static PyObject *keywords_of(const clp_hook_event *event, int told)
{
  PyObject *keywords = PyDict_New();
  if (keywords == NULL)
    return NULL;
  if (tell(keywords, "device_id", (unsigned long long)event->device_id) < 0 ||
      ((told & TELLS_SIZE) && tell(keywords, "size", event->size) < 0) ||
      tell(keywords, "mem_size", event->mem_size) < 0 ||
      ((told & TELLS_MEMORY) && tell(keywords, "mem_ptr", event->memory) < 0) ||
      ((told & TELLS_BUFFER) && tell(keywords, "pmem_id", event->buffer_id) < 0))
    Py_CLEAR(keywords);
  return keywords;
}

/* Calls with the interpreter's lock. Memory may go back while an exception is on its way, which
 * Python must not run with. The collector waits until the callback has returned: hooks would not be
 * shown what it releases. */
static void call(const clp_hook_event *event, const Hook *hook, int which)
{
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
#if PY_VERSION_HEX >= 0x030a0000
  int is_collecting = PyGC_Disable();
#endif
  bool is_free = tells[which] == (TELLS_MEMORY | TELLS_BUFFER);
  int told = tells[which] | (is_free && hook->tells_size_of_frees ? TELLS_SIZE : 0);
  PyObject *none = PyTuple_New(0), *keywords = keywords_of(event, told), *result = NULL;
  if (none != NULL && keywords != NULL)
    result = PyObject_Call(hook->callables[which], none, keywords);
  if (result == NULL)
    clpool_keep_exception();
  Py_XDECREF(result);
  Py_XDECREF(keywords);
  Py_XDECREF(none);
#if PY_VERSION_HEX >= 0x030a0000
  if (is_collecting)
    PyGC_Enable();
#endif
  PyErr_Restore(type, value, traceback);
}

/* A hook that the collector has cleared shows no more, where it is registered still. */
static void show(const clp_hook_event *event, const Hook *hook, int which)
{
  if (!Py_IsInitialized())
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  if (hook->callables[which] != NULL)
    call(event, hook, which);
  PyGILState_Release(state);
}

#define CALLBACK(which)                                                                            \
  static void show_##which(const clp_hook_event *event, void *hook)                                \
  {                                                                                                \
    show(event, hook, which);                                                                      \
  }
CALLBACK(0)
CALLBACK(1)
CALLBACK(2)
CALLBACK(3)
CALLBACK(4)
CALLBACK(5)
CALLBACK(6)
CALLBACK(7)

static const clp_hook_callback callbacks[CALLBACKS] = {show_0, show_1, show_2, show_3,
                                                       show_4, show_5, show_6, show_7};

/* --- The type --------------------------------------------------------------------------------- */

static PyObject *hook_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)keywords;
  PyObject *name, *callables;
  int tells_size_of_frees = 0;
  if (!PyArg_ParseTuple(args, "UO!|p", &name, &PyTuple_Type, &callables, &tells_size_of_frees))
    return NULL;
  const char *text = PyUnicode_AsUTF8(name);
  if (text == NULL)
    return NULL;
  if (PyTuple_GET_SIZE(callables) != CALLBACKS)
    return PyErr_Format(PyExc_ValueError, "expected %d callables", CALLBACKS);
  Hook *self = (Hook *)type->tp_alloc(type, 0);
  if (self == NULL)
    return NULL;
  Py_INCREF(name);
  self->name = name;
  self->tells_size_of_frees = tells_size_of_frees;
  self->hook = (clp_hook)CLP_HOOK_INIT;
  self->hook.name = text;
  self->hook.user_data = self;
  clp_hook_callback *slots = &self->hook.malloc_preprocess;
  for (int i = 0; i < CALLBACKS; i++) {
    PyObject *callable = PyTuple_GET_ITEM(callables, i);
    if (callable == Py_None)
      continue;
    Py_INCREF(callable);
    self->callables[i] = callable;
    slots[i] = callbacks[i];
  }
  return (PyObject *)self;
}

static int hook_traverse(PyObject *object, visitproc visit, void *arg)
{
  Hook *self = (Hook *)object;
  for (int i = 0; i < CALLBACKS; i++)
    Py_VISIT(self->callables[i]);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

static int hook_clear(PyObject *object)
{
  Hook *self = (Hook *)object;
  for (int i = 0; i < CALLBACKS; i++)
    Py_CLEAR(self->callables[i]);
  return 0;
}

static void hook_dealloc(PyObject *object)
{
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  hook_clear(object);
  Py_DECREF(((Hook *)object)->name);
  type->tp_free(object);
  Py_DECREF(type);
}

static PyObject *push(PyObject *module, PyObject *object)
{
  (void)module;
  const clp_hook *hook = clpool_hook_of(object);
  if (hook == NULL || clpool_check(clp_hook_push(hook)) < 0)
    return NULL;
  /* The registration's, until pop. */
  Py_INCREF(object);
  Py_RETURN_NONE;
}

static PyObject *pop(PyObject *module, PyObject *object)
{
  (void)module;
  const clp_hook *hook = clpool_hook_of(object);
  if (hook == NULL || clpool_check(clp_hook_pop(hook)) < 0)
    return NULL;
  Py_DECREF(object);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"push_hook", push, METH_O, "push_hook($module, hook, /)\n--\n\n"},
    {"pop_hook", pop, METH_O, "pop_hook($module, hook, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Hook(name, callables, tells_size_of_frees=False, /)\n--\n\n"},
    {Py_tp_new, hook_new},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear},
    {0, NULL},
};

static PyType_Spec spec = {"clpool._clpool.Hook", sizeof(Hook), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

/* The hook of an object that has one, of this type or a trace's; NULL with an exception. */
const clp_hook *clpool_hook_of(PyObject *object)
{
  if (Py_TYPE(object) == hook_type)
    return &((Hook *)object)->hook;
  return clpool_trace_hook_of(object);
}

int clpool_add_hook(PyObject *module)
{
  if (clpool_add_type(module, &spec, NULL, &hook_type) < 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
