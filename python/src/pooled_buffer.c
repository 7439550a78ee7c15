/* SPDX-License-Identifier: MIT */
/* What a PooledBuffer does beyond, or unlike, a pyopencl.Buffer. */
#include "clpool_module.h"

static PyObject *base_release;

static PyObject *release(PyObject *self, PyObject *unused)
{
  (void)unused;
  if (!clpool_release_wrapped(self))
    return NULL;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject *none = PyObject_CallFunctionObjArgs(base_release, self, NULL);
  clpool_make_released(self);
  if (type != NULL) {
    Py_CLEAR(none);
    PyErr_Restore(type, value, traceback);
  }
  return none;
}

/* Bytes [origin, origin + bytes) of a buffer or a part of one. OpenCL has no parts of parts, so all
 * are parts of the whole. */
static PyObject *sub_buffer(PyObject *self, size_t origin, size_t bytes, unsigned long long flags)
{
  PyObject *whole;
  size_t begin, size;
  clp_buffer *buffer = clpool_region_of(self, &whole, &begin, &size);
  if (buffer == NULL)
    return NULL;
  if (bytes == 0 || origin > size || bytes > size - origin) {
    char text[128];
    snprintf(text, sizeof(text), "%zu bytes at offset %zu are not a part of a buffer of %zu bytes",
             bytes, origin, size);
    clp_set_last_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE, text);
    return clpool_raise();
  }
  begin += origin;
  cl_mem memory;
  if (clpool_check(clp_buffer_create_sub_buffer(buffer, flags, begin, bytes, &memory)) < 0)
    return NULL;
  PyObject *part = PyObject_CallMethod(clpool_buffer_type, "from_int_ptr", "KO",
                                       (unsigned long long)(uintptr_t)memory, Py_False);
  if (part == NULL || clpool_keep_alive(part, whole, begin, bytes) < 0) {
    Py_XDECREF(part);
    return NULL;
  }
  return part;
}

static PyObject *get_sub_region(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"origin", "size", "flags", NULL};
  PyObject *origin, *size;
  size_t begin, bytes;
  unsigned long long flags = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|K", names, &origin, &size, &flags) ||
      clpool_size_of(origin, &begin) < 0 || clpool_size_of(size, &bytes) < 0)
    return NULL;
  return sub_buffer(self, begin, bytes, flags);
}

static PyObject *get_item(PyObject *self, PyObject *slice)
{
  Py_ssize_t begin, end, step;
  PyObject *whole;
  size_t origin, size;
  if (clpool_region_of(self, &whole, &origin, &size) == NULL)
    return NULL;
  if (!PySlice_Check(slice))
    return PyErr_Format(PyExc_TypeError, "the index of a buffer must be a slice of bytes");
  if (PySlice_Unpack(slice, &begin, &end, &step) < 0)
    return NULL;
  Py_ssize_t bytes = PySlice_AdjustIndices((Py_ssize_t)size, &begin, &end, step);
  if (step != 1)
    return PyErr_Format(PyExc_ValueError, "a buffer's slice must have a step of 1");
  return sub_buffer(self, (size_t)begin, (size_t)bytes, 0);
}

static PyObject *record_use(PyObject *self, PyObject *queue)
{
  Pool *pool = NULL;
  clp_buffer *buffer = clpool_buffer_of(self, &pool);
  return clpool_record_use(buffer, pool, queue);
}

static PyObject *bind_to_queue(PyObject *self, PyObject *queue)
{
  Pool *pool = NULL;
  clp_buffer *buffer = clpool_buffer_of(self, &pool);
  return clpool_bind(buffer, pool, queue);
}

static PyObject *unbind_from_queue(PyObject *self, PyObject *unused)
{
  (void)unused;
  return clpool_unbind(clpool_buffer_of(self, NULL));
}

static PyObject *get_size(PyObject *self, void *closure)
{
  (void)closure;
  PyObject *whole;
  size_t origin, size;
  if (clpool_region_of(self, &whole, &origin, &size) == NULL)
    return NULL;
  return PyLong_FromSize_t(size);
}

static PyObject *get_allocated_size(PyObject *self, void *closure)
{
  (void)closure;
  PyObject *whole;
  size_t origin, size;
  clp_buffer *buffer = clpool_region_of(self, &whole, &origin, &size);
  if (buffer == NULL)
    return NULL;
  return PyLong_FromSize_t(whole == self ? clp_buffer_capacity(buffer) : size);
}

static PyObject *get_pool(PyObject *self, void *closure)
{
  (void)closure;
  Pool *pool;
  if (clpool_buffer_of(self, &pool) == NULL)
    return NULL;
  Py_INCREF(pool);
  return (PyObject *)pool;
}

static PyMethodDef methods[] = {
    {"release", release, METH_NOARGS,
     "release($self, /)\n--\n\n"
     "Releases the memory to the pool at once, or with the last part of the buffer.\n"
     "Any later use of the buffer raises an exception."},
    {"get_sub_region", (PyCFunction)(void (*)(void))get_sub_region, METH_VARARGS | METH_KEYWORDS,
     "get_sub_region($self, origin, size, flags=0)\n--\n\n"
     "Returns bytes [origin, origin + size) as a buffer, which keeps this one alive. The origin\n"
     "must be aligned to the device's mem_base_addr_align."},
    {"__getitem__", get_item, METH_O,
     "__getitem__($self, slice, /)\n--\n\n"
     "Returns a slice of bytes, as get_sub_region does."},
    {"record_use", record_use, METH_O,
     "record_use($self, queue, /)\n--\n\n"
     "Records that another queue also uses the buffer. The pool reuses the memory only after\n"
     "the work that the queue has been given by the release (torch.Tensor.record_stream)."},
    {"bind_to_queue", bind_to_queue, METH_O,
     "bind_to_queue($self, queue, /)\n--\n\n"
     "Binds the buffer to a queue, on which it is then used and released."},
    {"unbind_from_queue", unbind_from_queue, METH_NOARGS,
     "unbind_from_queue($self, /)\n--\n\n"
     "Waits for the queue that the buffer is bound to, and unbinds the buffer."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"pool", get_pool, NULL, "The pool that the buffer is from.", NULL},
    {"size", get_size, NULL, "Bytes as requested.", NULL},
    {"requested_size", get_size, NULL, "The same as size.", NULL},
    {"allocated_size", get_allocated_size, NULL, "Bytes as allocated (MEM_SIZE of OpenCL).", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int set_owned(PyTypeObject *type, const char *name, PyObject *attribute)
{
  if (attribute == NULL)
    return -1;
  int result = PyObject_SetAttrString((PyObject *)type, name, attribute);
  Py_DECREF(attribute);
  return result;
}

int clpool_add_methods(PyTypeObject *type, PyMethodDef *method)
{
  for (; method->ml_name != NULL; method++)
    if (set_owned(type, method->ml_name, PyDescr_NewMethod(type, method)) < 0)
      return -1;
  return 0;
}

int clpool_add_properties(PyTypeObject *type, PyGetSetDef *property)
{
  for (; property->name != NULL; property++)
    if (set_owned(type, property->name, PyDescr_NewGetSet(type, property)) < 0)
      return -1;
  return 0;
}

int clpool_add_buffer_methods(PyTypeObject *type)
{
  base_release = PyObject_GetAttrString((PyObject *)type->tp_base, "release");
  if (base_release == NULL || clpool_add_methods(type, methods) < 0)
    return -1;
  return clpool_add_properties(type, properties);
}
