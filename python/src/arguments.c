/* SPDX-License-Identifier: MIT */
/* Python's objects as C's. But for the converter, each returns 0, or -1 with an exception set. */
#include "clpool_module.h"

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
  if (size == (size_t)-1 && PyErr_Occurred())
    return -1;
  *out = size;
  return 0;
}

/* The same as a converter for PyArg_Parse and "O&". */
int clpool_parse_size(PyObject *object, void *out)
{
  return clpool_size_of(object, out) == 0;
}

/* PyOpenCL's objects must be of the type that is needed: drivers crash on a handle of another. */
static int check_type(PyObject *object, PyObject *type)
{
  int is = type == NULL ? 1 : PyObject_IsInstance(object, type);
  if (is == 0)
    PyErr_Format(PyExc_TypeError, "a pyopencl.%s is needed, not %.200s",
                 type == clpool_queue_type ? "CommandQueue" : "Context", Py_TYPE(object)->tp_name);
  return is > 0 ? 0 : -1;
}

/* The handle of a queue, a context or a stream: its int_ptr (PyOpenCL, where it must be of `type`),
 * ptr (CuPy) or cuda_stream (PyTorch), or the number itself. CUDA's default stream, which is 0
 * there, is 1 here. */
int clpool_handle_of(PyObject *object, PyObject *type, void **out)
{
  static const char *const names[] = {"int_ptr", "ptr", "cuda_stream"};
  PyObject *number = NULL;
  bool is_cuda = false;
  if (PyLong_Check(object)) {
    Py_INCREF(object);
    number = object;
  }
  for (size_t i = 0; number == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
    number = PyObject_GetAttrString(object, names[i]);
    is_cuda = i > 0;
    if (number == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError))
      return -1;
    PyErr_Clear();
  }
  if (number == NULL) {
    PyErr_Format(PyExc_TypeError, "a queue, a context or a stream is needed, not %.200s",
                 Py_TYPE(object)->tp_name);
    return -1;
  }
  bool is_opencl = number != object && !is_cuda;
  void *handle = PyLong_AsVoidPtr(number);
  Py_DECREF(number);
  if (is_opencl && check_type(object, type) < 0)
    return -1;
  if (handle == NULL && PyErr_Occurred())
    return -1;
  *out = handle == NULL && is_cuda ? CLP_CUDA_STREAM_LEGACY : handle;
  return 0;
}
