/* SPDX-License-Identifier: MIT */
/* clpool's trace hook, which writes what it is shown to a file. */
#include "clpool_module.h"

typedef struct Trace {
  PyObject ob_base;
  clp_hook *hook; /* NULL: closed */
} Trace;

static PyTypeObject *trace_type;

const clp_hook *clpool_trace_hook_of(PyObject *object)
{
  if (Py_TYPE(object) != trace_type) {
    PyErr_Format(PyExc_TypeError, "expected a hook, not %.200s", Py_TYPE(object)->tp_name);
    return NULL;
  }
  if (((Trace *)object)->hook == NULL)
    PyErr_SetString(PyExc_ValueError, "the trace was closed");
  return ((Trace *)object)->hook;
}

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)keywords;
  PyObject *path;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
    return NULL;
  Trace *self = (Trace *)type->tp_alloc(type, 0);
  if (self != NULL &&
      clpool_check(clp_trace_hook_create(PyBytes_AS_STRING(path), NULL, &self->hook)) < 0)
    Py_CLEAR(self);
  Py_DECREF(path);
  return (PyObject *)self;
}

static clp_status end_hook(Trace *self)
{
  clp_hook *hook = self->hook;
  self->hook = NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_trace_hook_destroy(hook);
  Py_END_ALLOW_THREADS
  return status;
}

static PyObject *trace_close(PyObject *self, PyObject *unused)
{
  (void)unused;
  return clpool_none_or_raise(end_hook((Trace *)self));
}

static PyObject *trace_flush(PyObject *self, PyObject *unused)
{
  (void)unused;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_trace_hook_flush(((Trace *)self)->hook);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

static void trace_dealloc(PyObject *object)
{
  PyTypeObject *type = Py_TYPE(object);
  end_hook((Trace *)object);
  type->tp_free(object);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"close", trace_close, METH_NOARGS, "close($self, /)\n--\n\n"},
    {"flush", trace_flush, METH_NOARGS, "flush($self, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Trace(path, /)\n--\n\n"},
    {Py_tp_new, trace_new},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"clpool._clpool.Trace", sizeof(Trace), 0, Py_TPFLAGS_DEFAULT, slots};

int clpool_add_trace(PyObject *module)
{
  return clpool_add_type(module, &spec, NULL, &trace_type);
}
