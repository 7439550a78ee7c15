/* SPDX-License-Identifier: MIT */
/* What a buffer or SVM of a pool's becomes when it is released: an object of a class that PyOpenCL
 * takes for no memory. Else a kernel or a copy that is given it would reach the block's next owner.
 * Only its class changes, and it becomes what it was for its end. */
#include "clpool_module.h"

static PyTypeObject *released_buffer, *released_svm;

static PyTypeObject *former_type(PyObject *object)
{
  return Py_TYPE(object) == released_buffer ? clpool_wrapper_type : (PyTypeObject *)clpool_svm_type;
}

static void set_type(PyObject *object, PyTypeObject *type)
{
  PyTypeObject *before = Py_TYPE(object);
  Py_INCREF(type);
  Py_SET_TYPE(object, type);
  Py_DECREF(before);
}

/* Makes an object, whose block is gone or will go with its parts, unusable. */
void clpool_make_released(PyObject *object)
{
  bool is_buffer = Py_TYPE(object) == clpool_wrapper_type;
  clpool_clear_attributes(object);
  set_type(object, is_buffer ? released_buffer : released_svm);
}

static void released_dealloc(PyObject *object)
{
  set_type(object, former_type(object));
  Py_TYPE(object)->tp_dealloc(object);
}

static int released_traverse(PyObject *object, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(object));
  return clpool_traverse_record(object, visit, arg);
}

static PyObject *raise_released(PyObject *object, PyObject *unused)
{
  (void)object, (void)unused;
  clp_set_last_error(CLP_ALREADY_RELEASED, CL_INVALID_MEM_OBJECT, "the buffer was released");
  return clpool_raise();
}

/* What begins with two underscores is Python's own: repr() and isinstance() still work. */
static PyObject *released_getattro(PyObject *object, PyObject *name)
{
  if (PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_')
    return PyObject_GenericGetAttr(object, name);
  return raise_released(object, NULL);
}

static int released_setattro(PyObject *object, PyObject *name, PyObject *value)
{
  (void)name, (void)value;
  raise_released(object, NULL);
  return -1;
}

static PyObject *released_class(PyObject *object, void *closure)
{
  (void)closure;
  PyObject *type = (PyObject *)former_type(object);
  Py_INCREF(type);
  return type;
}

static PyObject *released_repr(PyObject *object)
{
  return PyUnicode_FromFormat("<%s at %p, released>", Py_TYPE(object)->tp_name, object);
}

static PyGetSetDef properties[] = {
    {"__class__", released_class, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A released object. Every use of it raises an exception."},
    {Py_tp_dealloc, released_dealloc},
    {Py_tp_traverse, released_traverse},
    {Py_tp_getattro, released_getattro},
    {Py_tp_setattro, released_setattro},
    {Py_tp_getset, properties},
    {Py_tp_repr, released_repr},
    {Py_mp_subscript, raise_released},
    {0, NULL},
};

static int add(const char *name, PyTypeObject **out)
{
  PyType_Spec spec = {name, sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  *out = (PyTypeObject *)PyType_FromSpec(&spec);
  if (*out == NULL)
    return -1;
  (*out)->tp_new = NULL;
  return 0;
}

int clpool_add_released(void)
{
  return add("clpool.ReleasedBuffer", &released_buffer) < 0
             ? -1
             : add("clpool.ReleasedSVM", &released_svm);
}
