/* SPDX-License-Identifier: MIT */
/* What clpool.MemoryAsyncPool is derived from: libclpool's asynchronous pool, whose memory is an
 * address. */
#include "clpool_module.h"

typedef struct AsyncPool {
  PyObject ob_base;
  clp_cuda_async_pool *pool;
  PyObject *mempools; /* a tuple of the CudaMemPool objects that are used, or a str: the choice */
} AsyncPool;

static clp_cuda_async_pool *inner(PyObject *self)
{
  return ((AsyncPool *)self)->pool;
}

/* --- Making ----------------------------------------------------------------------------------- */

static clp_cuda_mempool *handles_of(PyObject *tuple)
{
  Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  clp_cuda_mempool *handles = PyMem_New(clp_cuda_mempool, (size_t)count + 1);
  if (handles == NULL)
    PyErr_NoMemory();
  for (Py_ssize_t i = 0; handles != NULL && i < count; i++)
    if (clpool_mempool_of(PyTuple_GET_ITEM(tuple, i), &handles[i]) < 0) {
      PyMem_Free(handles);
      return NULL;
    }
  return handles;
}

static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)keywords;
  PyObject *mempools;
  if (!PyArg_ParseTuple(args, "O", &mempools))
    return NULL;
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool *handles = NULL;
  if (PyTuple_Check(mempools)) {
    handles = handles_of(mempools);
    if (handles == NULL)
      return NULL;
    options.mempools = handles;
    options.mempool_count = (size_t)PyTuple_GET_SIZE(mempools);
  } else if (PyUnicode_Check(mempools) &&
             PyUnicode_CompareWithASCIIString(mempools, "current") == 0) {
    options.mempool_choice = CLP_CUDA_MEMPOOL_CURRENT;
  }
  clp_cuda_async_pool *pool;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_async_pool_create(&options, &pool);
  Py_END_ALLOW_THREADS
  PyMem_Free(handles);
  if (clpool_check(status) < 0)
    return NULL;
  AsyncPool *self = (AsyncPool *)type->tp_alloc(type, 0);
  if (self == NULL) {
    clp_cuda_async_pool_release(pool);
    return NULL;
  }
  self->pool = pool;
  Py_INCREF(mempools);
  self->mempools = mempools;
  return (PyObject *)self;
}

static void pool_dealloc(PyObject *self)
{
  PyTypeObject *type = Py_TYPE(self);
  clp_cuda_async_pool *pool = inner(self);
  Py_BEGIN_ALLOW_THREADS
  clp_cuda_async_pool_release(pool);
  Py_END_ALLOW_THREADS
  Py_XDECREF(((AsyncPool *)self)->mempools);
  type->tp_free(self);
  Py_DECREF(type);
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* _malloc(size, stream) -> int. */
static PyObject *pool_malloc(PyObject *self, PyObject *args)
{
  size_t bytes;
  void *stream = NULL;
  if (!PyArg_ParseTuple(args, "O&O&", clpool_parse_size, &bytes, clpool_parse_stream, &stream))
    return NULL;
  unsigned long long pointer;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_async_pool_malloc(inner(self), bytes, stream, &pointer);
  Py_END_ALLOW_THREADS
  if (clpool_check(status) == 0)
    return PyLong_FromUnsignedLongLong(pointer);
  if (status == CLP_SUCCESS) { /* a hook's callback raised */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_BEGIN_ALLOW_THREADS
    clp_cuda_async_pool_free(inner(self), pointer, stream);
    Py_END_ALLOW_THREADS
    clpool_report_kept();
    PyErr_Restore(type, value, traceback);
  }
  return NULL;
}

/* _free(pointer, stream). */
static PyObject *pool_free(PyObject *self, PyObject *args)
{
  unsigned long long pointer;
  void *stream = NULL;
  if (!PyArg_ParseTuple(args, "KO&", &pointer, clpool_parse_stream, &stream))
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_async_pool_free(inner(self), pointer, stream);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

/* _free_all_blocks(stream). */
static PyObject *free_all_blocks(PyObject *self, PyObject *object)
{
  void *stream = NULL;
  if (!clpool_parse_stream(object, &stream))
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_async_pool_free_all_blocks(inner(self), stream);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

/* --- Figures ---------------------------------------------------------------------------------- */

static PyObject *figure(PyObject *self, clp_status (*get)(clp_cuda_async_pool *, size_t *))
{
  size_t number;
  if (clpool_check(get(inner(self), &number)) < 0)
    return NULL;
  return PyLong_FromSize_t(number);
}

#define FIGURE(name)                                                                               \
  static PyObject *name(PyObject *self, PyObject *unused)                                          \
  {                                                                                                \
    (void)unused;                                                                                  \
    return figure(self, clp_cuda_async_pool_##name);                                               \
  }
FIGURE(n_free_blocks)
FIGURE(used_bytes)
FIGURE(free_bytes)
FIGURE(total_bytes)
FIGURE(get_limit)

static PyObject *set_limit(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"size", "fraction", NULL};
  PyObject *size = Py_None, *fraction = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &size, &fraction))
    return NULL;
  size_t bytes = 0;
  double part = fraction == Py_None ? 0.0 : PyFloat_AsDouble(fraction);
  if (PyErr_Occurred() || (size != Py_None && clpool_size_of(size, &bytes) < 0))
    return NULL;
  return clpool_none_or_raise(clp_cuda_async_pool_set_limit(inner(self), bytes, part));
}

static PyObject *has_statistics(PyObject *self, void *closure)
{
  (void)closure;
  return PyBool_FromLong(clp_cuda_async_pool_has_statistics(inner(self)));
}

/* cuda_device_count() -> int. */
static PyObject *device_count(PyObject *module, PyObject *unused)
{
  (void)module, (void)unused;
  int count;
  if (clpool_check(clp_cuda_device_count(&count)) < 0)
    return NULL;
  return PyLong_FromLong(count);
}

/* --- The type --------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"_malloc", pool_malloc, METH_VARARGS, "_malloc($self, size, stream, /)\n--\n\n"},
    {"_free", pool_free, METH_VARARGS, "_free($self, pointer, stream, /)\n--\n\n"},
    {"_free_all_blocks", free_all_blocks, METH_O, "_free_all_blocks($self, stream, /)\n--\n\n"},
    {"n_free_blocks", n_free_blocks, METH_NOARGS,
     "n_free_blocks($self, /)\n--\n\n"
     "Raises clpool.NotSupported, which is also a NotImplementedError: the driver does not\n"
     "count its free blocks."},
    {"used_bytes", used_bytes, METH_NOARGS,
     "used_bytes($self, /)\n--\n\n"
     "Bytes in use in the current device's memory pool, by all its users. This, free_bytes\n"
     "and total_bytes raise clpool.NotSupported if the driver does not count."},
    {"free_bytes", free_bytes, METH_NOARGS,
     "free_bytes($self, /)\n--\n\n"
     "Bytes that the memory pool has taken from the device and that nobody uses."},
    {"total_bytes", total_bytes, METH_NOARGS,
     "total_bytes($self, /)\n--\n\nBytes that the memory pool has taken from the device."},
    {"set_limit", (PyCFunction)(void (*)(void))set_limit, METH_VARARGS | METH_KEYWORDS,
     "set_limit($self, size=None, fraction=None)\n--\n\n"
     "The most bytes that this pool hands out on the current device, or a fraction of its\n"
     "memory, 0 to 1. Neither, or 0, means no limit. An allocation beyond the limit raises\n"
     "clpool.LimitExceeded. Raises clpool.LogicError if both are given, or if the fraction is\n"
     "not 0 to 1."},
    {"get_limit", get_limit, METH_NOARGS,
     "get_limit($self, /)\n--\n\n"
     "The current device's limit in bytes; 0 means none."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"memoryAsyncHasStat", has_statistics, NULL,
     "Whether the driver counts bytes, as of CUDA 11.3.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "AsyncPool(mempools, /)\n--\n\n"},
    {Py_tp_new, pool_new},
    {Py_tp_dealloc, pool_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"clpool._clpool.AsyncPool", sizeof(AsyncPool), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

static PyMethodDef functions[] = {
    {"cuda_device_count", device_count, METH_NOARGS, "cuda_device_count($module, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

int clpool_add_async_pool(PyObject *module)
{
  if (clpool_add_type(module, &spec, NULL, NULL) < 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
