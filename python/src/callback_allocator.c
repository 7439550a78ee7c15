/* SPDX-License-Identifier: MIT */
/* clpool.CallbackAllocator: memory that functions in Python take and give back. */
#include "clpool_module.h"

#include <stdlib.h>
#include <string.h>

typedef struct CallbackAllocator {
  Allocator base;
  PyObject *allocate;
  PyObject *free;                   /* NULL: an object that is dropped is free */
  PyObject *blocks;                 /* what `allocate` gave and is in use, by address */
  struct CallbackAllocator **owner; /* what libclpool's side of it has, and frees */
} CallbackAllocator;

/* A call of a function in Python, on the thread that is inside of it. */
typedef struct running_call {
  const CallbackAllocator *allocator;
  struct running_call *outer;
} running_call;

static PyTypeObject *callback_type;
static unsigned long main_thread;
static _Thread_local running_call *running;

/* --- What pools ask --------------------------------------------------------------------------- */

static const Allocator *lowest(const Allocator *allocator)
{
  while (allocator->upstream != NULL)
    allocator = allocator->upstream;
  return allocator;
}

/* Whether an allocator is a CallbackAllocator, or stands on one. */
bool clpool_calls_back(const Allocator *allocator)
{
  return Py_TYPE(lowest(allocator)) == callback_type;
}

/* -1 with an exception: the thread is inside of a callback of the allocator. To ask for memory
 * there would call it without end, or wait for itself. */
int clpool_refuse_inside_callback(const Allocator *allocator)
{
  for (const running_call *call = running; call != NULL; call = call->outer) {
    if (&call->allocator->base != lowest(allocator))
      continue;
    clp_set_last_error(CLP_BUSY, 0,
                       "a callback of a CallbackAllocator must not allocate from a pool or arena "
                       "on that allocator");
    clpool_raise();
    return -1;
  }
  return 0;
}

/* --- From C to Python ------------------------------------------------------------------------- */

static PyObject *call(CallbackAllocator *self, PyObject *function, PyObject *object, size_t bytes)
{
  PyObject *size = PyLong_FromSize_t(bytes);
  if (size == NULL)
    return NULL;
  running_call me = {self, running};
  running = &me;
  PyObject *result = PyObject_CallFunctionObjArgs(function, object == NULL ? size : object,
                                                  object == NULL ? NULL : size, NULL);
  running = me.outer;
  Py_DECREF(size);
  return result;
}

/* Whether the exception that is set says that there is no memory. */
static bool is_out_of_memory(void)
{
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *answer = PyObject_CallFunctionObjArgs(clpool_is_out_of_memory, value, NULL);
  bool is_so = answer == Py_True;
  Py_XDECREF(answer);
  PyErr_Restore(type, value, traceback); /* also in place of what that raised */
  return is_so;
}

/* The status for the exception that is set, which the caller of the pool gets as it is. */
static clp_status failed(const char *message)
{
  clpool_keep_exception();
  return clp_set_last_error(CLP_BACKEND_ERROR, 0, message);
}

static int refuse_result(const CallbackAllocator *self, PyObject *object)
{
  const char *wanted = self->base.kind == MEMORY_HOST     ? "an object with a writable buffer"
                       : self->base.kind == MEMORY_CL_MEM ? "a pyopencl.Buffer"
                                                          : "an object with the attribute ptr";
  PyErr_Format(PyExc_TypeError, "%s %s, not %.200s",
               self->free == NULL ? "without free, allocate must return"
                                  : "allocate must return an int or",
               wanted, Py_TYPE(object)->tp_name);
  return -1;
}

static int check_size(Py_ssize_t got, size_t bytes)
{
  if (got >= 0 && (size_t)got >= bytes)
    return 0;
  PyErr_Format(PyExc_ValueError, "allocate was asked for %zu bytes, but returned %zd", bytes, got);
  return -1;
}

static int address_of_buffer(PyObject *object, size_t bytes, void **out)
{
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_WRITABLE) < 0)
    return -1;
  *out = view.buf;
  Py_ssize_t length = view.len;
  PyBuffer_Release(&view);
  return check_size(length, bytes);
}

static int address_of_cl_mem(PyObject *object, size_t bytes, void **out)
{
  PyObject *size = PyObject_GetAttrString(object, "size");
  if (size == NULL)
    return -1;
  Py_ssize_t length = PyNumber_AsSsize_t(size, PyExc_OverflowError);
  Py_DECREF(size);
  if ((length == -1 && PyErr_Occurred()) || check_size(length, bytes) < 0)
    return -1;
  return clpool_number_in(object, "int_ptr", out);
}

/* The address of what `allocate` returned for so many bytes: 0, or -1 with an exception. */
static int address_of(const CallbackAllocator *self, PyObject *object, size_t bytes, void **out)
{
  int result;
  if (PyLong_Check(object) && !PyBool_Check(object) && self->free != NULL) {
    size_t address = PyLong_AsSize_t(object);
    *out = (void *)address;
    result = address == (size_t)-1 && PyErr_Occurred() ? -1 : 0;
  } else if (self->base.kind == MEMORY_HOST && PyObject_CheckBuffer(object)) {
    result = address_of_buffer(object, bytes, out);
  } else if (self->base.kind == MEMORY_CL_MEM &&
             PyObject_TypeCheck(object, (PyTypeObject *)clpool_buffer_type)) {
    result = address_of_cl_mem(object, bytes, out);
  } else if (self->base.kind == MEMORY_ADDRESS && PyObject_HasAttrString(object, "ptr")) {
    result = clpool_number_in(object, "ptr", out);
  } else {
    result = refuse_result(self, object);
  }
  if (result == 0 && *out == NULL) {
    PyErr_SetString(PyExc_ValueError, "allocate returned the address 0");
    result = -1;
  }
  return result;
}

/* Keeps what is in use. */
static int add_block(CallbackAllocator *self, void *address, PyObject *object)
{
  PyObject *key = PyLong_FromVoidPtr(address);
  if (key == NULL)
    return -1;
  int is_there = PyDict_Contains(self->blocks, key);
  if (is_there > 0)
    PyErr_Format(PyExc_ValueError, "allocate returned the address %p, which is in use", address);
  int result = is_there == 0 ? PyDict_SetItem(self->blocks, key, object) : -1;
  Py_DECREF(key);
  return result;
}

static clp_status allocate_in(CallbackAllocator *self, size_t bytes, clp_memory *out)
{
  PyObject *object = call(self, self->allocate, NULL, bytes);
  if (object == NULL && is_out_of_memory()) {
    clpool_keep_cause();
    return clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0,
                              "allocate of the CallbackAllocator raised MemoryError");
  }
  void *address = NULL;
  int result = object == NULL ? -1 : address_of(self, object, bytes, &address);
  if (result == 0)
    result = add_block(self, address, object);
  Py_XDECREF(object);
  if (result < 0)
    return failed("allocate of the CallbackAllocator raised an exception");
  *out = (clp_memory)address;
  return CLP_SUCCESS;
}

/* The address may come again before `free` returns, on another thread. */
static clp_status free_in(CallbackAllocator *self, size_t bytes, clp_memory *memory)
{
  PyObject *key = PyLong_FromVoidPtr((void *)*memory), *object = NULL, *result = NULL;
  if (key != NULL)
    object = PyDict_GetItemWithError(self->blocks, key);
  Py_XINCREF(object);
  if (object != NULL && PyDict_DelItem(self->blocks, key) == 0) {
    result = self->free == NULL ? Py_None : call(self, self->free, object, bytes);
    if (self->free == NULL)
      Py_INCREF(result);
    if (result == NULL)
      clpool_keep_exception();
    if (result == NULL && PyDict_SetItem(self->blocks, key, object) < 0)
      PyErr_WriteUnraisable(NULL);
  } else if (PyErr_Occurred()) {
    clpool_keep_exception();
  }
  Py_XDECREF(object);
  Py_XDECREF(key);
  if (result == NULL)
    return clp_set_last_error(CLP_BACKEND_ERROR, 0,
                              "free of the CallbackAllocator raised an exception");
  Py_DECREF(result);
  return CLP_SUCCESS;
}

/* Runs one of the two with the interpreter's lock. Memory may go back while an exception is on its
 * way, which Python must not run with. When the interpreter ends, its own thread still may. */
static clp_status enter(CallbackAllocator **owner, size_t bytes, clp_memory *memory,
                        clp_status (*run)(CallbackAllocator *, size_t, clp_memory *))
{
  clp_status status = CLP_BACKEND_ERROR;
  if (!Py_IsInitialized() && PyThread_get_thread_ident() != main_thread)
    return clp_set_last_error(status, 0, "the Python interpreter is ending");
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  CallbackAllocator *self = *owner;
  Py_XINCREF(self);
  if (self == NULL || self->allocate == NULL)
    clp_set_last_error(status, 0, "the CallbackAllocator has ended");
  else
    status = run(self, bytes, memory);
  Py_XDECREF(self);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
  return status;
}

static clp_status allocate(void *owner, size_t bytes, clp_memory *out)
{
  return enter(owner, bytes, out, allocate_in);
}

static clp_status give_back(void *owner, clp_memory memory, size_t bytes)
{
  return enter(owner, bytes, &memory, free_in);
}

/* Memory is an address here, so that a part is one, too. */
static clp_status split(void *owner, clp_memory block, size_t offset, size_t bytes,
                        clp_memory *part)
{
  (void)owner, (void)bytes;
  *part = block + offset;
  return CLP_SUCCESS;
}

static clp_status unsplit(void *owner, clp_memory part, size_t bytes)
{
  (void)owner, (void)part, (void)bytes;
  return CLP_SUCCESS;
}

/* --- The type --------------------------------------------------------------------------------- */

static int parse_kind(const char *name, memory_kind *out, clp_memory_kind *native)
{
  static const struct {
    const char *name;
    memory_kind kind;
    clp_memory_kind native;
  } kinds[] = {
      {"address", MEMORY_ADDRESS, CLP_MEMORY_UNSTATED},
      {"host", MEMORY_HOST, CLP_MEMORY_HOST},
      {"buffer", MEMORY_CL_MEM, CLP_MEMORY_CL_MEM},
  };
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
    if (strcmp(name, kinds[i].name) != 0)
      continue;
    *out = kinds[i].kind;
    *native = kinds[i].native;
    return 0;
  }
  PyErr_Format(PyExc_ValueError, "kind is '%.100s'; expected 'address', 'host' or 'buffer'", name);
  return -1;
}

static int create(CallbackAllocator *self, clp_memory_kind kind)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "callback";
  ops.allocate = allocate;
  ops.free = give_back;
  ops.destroy = free;
  ops.memory_kind = kind;
  if (kind != CLP_MEMORY_CL_MEM) {
    ops.split = split;
    ops.unsplit = unsplit;
  }
  CallbackAllocator **owner = malloc(sizeof(*owner)); /* NOLINT: a pointer to a pointer */
  if (owner == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  *owner = self;
  if (clpool_check(clp_allocator_create(&ops, owner, &self->base.allocator)) < 0) {
    free(owner);
    return -1;
  }
  self->owner = owner;
  return 0;
}

static int check_function(const char *name, PyObject *function)
{
  if (PyCallable_Check(function))
    return 0;
  PyErr_Format(PyExc_TypeError, "%s must be a function, not %.200s", name,
               Py_TYPE(function)->tp_name);
  return -1;
}

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"allocate", "free", "kind", NULL};
  PyObject *function, *free_function = Py_None;
  const char *kind_name = "address";
  memory_kind kind = MEMORY_ADDRESS;
  clp_memory_kind native = CLP_MEMORY_UNSTATED;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$s", names, &function, &free_function,
                                   &kind_name) ||
      check_function("allocate", function) < 0 ||
      (free_function != Py_None && check_function("free", free_function) < 0) ||
      parse_kind(kind_name, &kind, &native) < 0 ||
      (kind == MEMORY_CL_MEM && !clpool_has_pyopencl()))
    return NULL;
  CallbackAllocator *self = (CallbackAllocator *)type->tp_alloc(type, 0);
  if (self == NULL)
    return NULL;
  self->base.kind = kind;
  self->base.device = -1;
  Py_INCREF(function);
  self->allocate = function;
  if (free_function != Py_None) {
    Py_INCREF(free_function);
    self->free = free_function;
  }
  self->blocks = PyDict_New();
  if (self->blocks == NULL || create(self, native) < 0)
    Py_CLEAR(self);
  return (PyObject *)self;
}

static int callback_traverse(PyObject *object, visitproc visit, void *arg)
{
  CallbackAllocator *self = (CallbackAllocator *)object;
  Py_VISIT(self->allocate);
  Py_VISIT(self->free);
  Py_VISIT(self->blocks);
  return clpool_allocator_type->tp_traverse(object, visit, arg);
}

/* What is in use can be freed still. */
static int callback_clear(PyObject *object)
{
  CallbackAllocator *self = (CallbackAllocator *)object;
  if (self->blocks != NULL && PyDict_GET_SIZE(self->blocks) > 0)
    return 0;
  Py_CLEAR(self->allocate);
  Py_CLEAR(self->free);
  return 0;
}

static void callback_dealloc(PyObject *object)
{
  CallbackAllocator *self = (CallbackAllocator *)object;
  PyObject_GC_UnTrack(object);
  if (self->owner != NULL)
    *self->owner = NULL;
  Py_CLEAR(self->allocate);
  Py_CLEAR(self->free);
  Py_CLEAR(self->blocks);
  clpool_allocator_type->tp_dealloc(object);
}

/* Any thread may import the package. */
static int find_main_thread(void)
{
  PyObject *threading = PyImport_ImportModule("threading");
  PyObject *main = threading == NULL ? NULL : PyObject_CallMethod(threading, "main_thread", NULL);
  PyObject *ident = main == NULL ? NULL : PyObject_GetAttrString(main, "ident");
  if (ident != NULL)
    main_thread = PyLong_AsUnsignedLong(ident);
  Py_XDECREF(ident);
  Py_XDECREF(main);
  Py_XDECREF(threading);
  return PyErr_Occurred() ? -1 : 0;
}

int clpool_add_callback_allocator(PyObject *module)
{
  PyType_Slot slots[] = {
      {Py_tp_doc,
       "CallbackAllocator(allocate, free=None, *, kind=\"address\")\n--\n\n"
       "Memory that your functions allocate and free (rmm.mr.CallbackMemoryResource). The pool\n"
       "passes what allocate(size) returned to free(memory, size)::\n\n"
       "    CallbackAllocator(lambda size: mmap.mmap(-1, size), kind=\"host\")\n\n"
       "If allocate raises MemoryError, a pool frees memory and retries; in the end it raises\n"
       "clpool.MemoryError with that cause. Other exceptions reach the caller of the pool. If "
       "free\n"
       "raises, the pool keeps the memory and tries again later. If one of the functions "
       "allocates\n"
       "from a pool on this allocator, that raises clpool.RuntimeError.\n\n"
       "kind is what allocate returns, and what pools return for it:\n"
       "\"address\": an int or an object with ptr; a Memory that the host cannot reach\n"
       "\"host\": an int or an object with a writable buffer; a Memory with that buffer\n"
       "\"buffer\": a pyopencl.Buffer or a handle; a PooledBuffer, without an arena\n\n"
       "Without free, objects are dropped, and ints are refused. The pool orders no work: use the\n"
       "memory on one queue in order, or wait for its work before the release."},
      {Py_tp_new, callback_new},
      {Py_tp_traverse, callback_traverse},
      {Py_tp_clear, callback_clear},
      {Py_tp_dealloc, callback_dealloc},
      {0, NULL},
  };
  PyType_Spec spec = {"clpool.CallbackAllocator", sizeof(CallbackAllocator), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  if (find_main_thread() < 0)
    return -1;
  return clpool_add_type(module, &spec, clpool_allocator_type, &callback_type);
}
