/* SPDX-License-Identifier: MIT */
/* Python's objects as C's. But for the converters, each returns 0, or -1 with an exception set. */
#include "clpool_module.h"

#include <string.h>

/* A number of bytes: an int, or what can be an index, as numpy's integers. */
int clpool_size_of(PyObject *object, size_t *out)
{
  size_t size;
  if (PyLong_CheckExact(object)) {
    size = PyLong_AsSize_t(object);
  } else {
    PyObject *index = PyNumber_Index(object);
    if (index == NULL)
      return -1;
    size = PyLong_AsSize_t(index);
    Py_DECREF(index);
  }
  if (size == (size_t)-1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_Format(PyExc_OverflowError, "expected an int from 0 to %zu, not %S", SIZE_MAX, object);
    return -1;
  }
  *out = size;
  return 0;
}

/* The same as a converter for PyArg_Parse and "O&". */
int clpool_parse_size(PyObject *object, void *out)
{
  return clpool_size_of(object, out) == 0;
}

/* The number that an attribute of an object is. */
int clpool_number_in(PyObject *object, const char *name, void **out)
{
  PyObject *number = PyObject_GetAttrString(object, name);
  if (number == NULL)
    return -1;
  *out = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  return *out == NULL && PyErr_Occurred() ? -1 : 0;
}

/* The handle of a pyopencl.Context or CommandQueue, whichever `type` is. Nothing else will do,
 * since drivers crash on what is no handle of theirs. */
int clpool_handle_of(PyObject *object, PyObject *type, void **out)
{
  if (type != NULL && PyObject_TypeCheck(object, (PyTypeObject *)type))
    return clpool_number_in(object, "int_ptr", out);
  PyErr_Format(PyExc_TypeError, "expected a pyopencl.%s, not %.200s",
               type == clpool_queue_type ? "CommandQueue" : "Context", Py_TYPE(object)->tp_name);
  return -1;
}

/* Whether a class is one of streams by its name, or derived from one. CuPy's streams are known by
 * that, since its other objects have an attribute ptr, too. */
static bool is_stream_class(PyTypeObject *type)
{
  for (; type != NULL; type = type->tp_base) {
    size_t length = strlen(type->tp_name);
    if (length >= 6 && strcmp(type->tp_name + length - 6, "Stream") == 0)
      return true;
  }
  return false;
}

/* The handle of a stream of CuPy's (ptr) or PyTorch's (cuda_stream). The default stream, which is 0
 * there, is CLP_CUDA_STREAM_LEGACY here. */
static int cuda_stream_of(PyObject *object, void **out)
{
  void *handle = NULL;
  bool is_torch = PyObject_HasAttrString(object, "cuda_stream");
  bool is_stream = is_torch || is_stream_class(Py_TYPE(object));
  int found = clpool_number_in(object, is_torch ? "cuda_stream" : "ptr", &handle);
  if (found < 0 && is_stream)
    return -1;
  PyErr_Clear();
  if (found < 0 || (handle != NULL && !is_stream)) {
    PyErr_Format(PyExc_TypeError, "expected a stream of CuPy or PyTorch, not %.200s",
                 Py_TYPE(object)->tp_name);
    return -1;
  }
  *out = handle == NULL ? CLP_CUDA_STREAM_LEGACY : handle;
  return 0;
}

/* The handle of what orders the work on an allocator's memory: a queue, or a stream of CUDA's. */
int clpool_stream_of(PyObject *object, bool is_cuda, void **out)
{
  return is_cuda ? cuda_stream_of(object, out) : clpool_handle_of(object, clpool_queue_type, out);
}

/* The same for a stream of CUDA's, as a converter. None leaves `out` as it was. */
int clpool_parse_stream(PyObject *object, void *out)
{
  return object == Py_None || clpool_stream_of(object, true, out) == 0;
}
