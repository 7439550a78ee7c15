/* SPDX-License-Identifier: MIT */
/* The extension module clpool._clpool. */
#include "clpool_module.h"

#include <string.h>

PyObject *clpool_buffer_type;
PyObject *clpool_queue_type;
PyObject *clpool_context_type;
PyObject *clpool_svm_type;
PyObject *clpool_svm_allocation;
PyObject *clpool_stats_type;
PyObject *clpool_default_reaction;

/* Makes a type and adds it to the module under the last part of its name. `out`, unless NULL, is
 * borrowed from the module, which never ends. */
int clpool_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **out)
{
  PyObject *bases = base == NULL ? NULL : PyTuple_Pack(1, base);
  PyObject *type = PyType_FromSpecWithBases(spec, bases);
  Py_XDECREF(bases);
  if (type == NULL)
    return -1;
  if (out != NULL)
    *out = (PyTypeObject *)type;
  /* The module's reference and one that is kept. */
  Py_INCREF(type);
  return PyModule_AddObject(module, strrchr(spec->name, '.') + 1, type);
}

/* Sets one of the variables above to an entry of a dictionary, or to NULL where that is None. */
static int take(PyObject *from, const char *name, PyObject **out)
{
  PyObject *object = PyDict_GetItemString(from, name);
  if (object == NULL) {
    PyErr_Format(PyExc_KeyError, "%s", name);
    return -1;
  }
  if (object == Py_None)
    return 0;
  Py_INCREF(object);
  *out = object;
  return 0;
}

/* set_up(**objects): what the extension needs of the package's Python, once. */
static PyObject *set_up(PyObject *module, PyObject *args, PyObject *keywords)
{
  (void)args;
  if (keywords == NULL || clpool_make_error != NULL)
    return PyErr_Format(PyExc_RuntimeError, "only clpool itself may call this, and only once");
  if (take(keywords, "make_error", &clpool_make_error) < 0 ||
      take(keywords, "is_out_of_memory", &clpool_is_out_of_memory) < 0 ||
      take(keywords, "buffer_type", &clpool_buffer_type) < 0 ||
      take(keywords, "queue_type", &clpool_queue_type) < 0 ||
      take(keywords, "context_type", &clpool_context_type) < 0 ||
      take(keywords, "svm_type", &clpool_svm_type) < 0 ||
      take(keywords, "svm_allocation", &clpool_svm_allocation) < 0 ||
      take(keywords, "stats_type", &clpool_stats_type) < 0 ||
      take(keywords, "default_reaction", &clpool_default_reaction) < 0)
    return NULL;
  if (clpool_buffer_type == NULL)
    Py_RETURN_NONE;
  if (clpool_make_wrapper_types() < 0)
    return NULL;
  if (PyObject_SetAttrString(module, "PooledBuffer", (PyObject *)clpool_wrapper_type) < 0 ||
      PyObject_SetAttrString(module, "PooledSVM",
                             clpool_svm_type == NULL ? Py_None : clpool_svm_type) < 0)
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *drop_parked(PyObject *module, PyObject *unused)
{
  (void)module;
  (void)unused;
  return PyLong_FromSize_t(clpool_drop_parked());
}

static PyMethodDef functions[] = {
    {"set_up", (PyCFunction)(void (*)(void))set_up, METH_VARARGS | METH_KEYWORDS,
     "set_up($module, /, **objects)\n--\n\n"},
    {"drop_parked", drop_parked, METH_NOARGS, "drop_parked($module, /)\n--\n\n"},
    {"set_log", clpool_set_log, METH_O, "set_log($module, function, /)\n--\n\n"},
    {"free_all_held", clpool_free_all_held, METH_NOARGS,
     "free_all_held($module, /)\n--\n\n"
     "Returns to the device what all pools of the process hold, for another library that\n"
     "needs the memory. Allowed in callbacks."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_clpool", NULL, -1, functions, NULL, NULL, NULL, NULL};

/* State is the process's, as that of PyOpenCL is, which imports in no second interpreter either. */
static int refuse_subinterpreter(void)
{
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    return 0;
  PyErr_SetString(PyExc_ImportError, "clpool works in the main interpreter only");
  return -1;
}

PyMODINIT_FUNC PyInit__clpool(void)
{
  if (refuse_subinterpreter() < 0)
    return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL)
    return NULL;
#ifdef Py_GIL_DISABLED
  /* The interpreter's lock guards all state: a free-threaded interpreter turns it on and warns. */
  PyUnstable_Module_SetGIL(module, Py_MOD_GIL_USED);
#endif
  if (PyModule_AddStringConstant(module, "__version__", CLPOOL_PACKAGE_VERSION) < 0 ||
      PyModule_AddStringConstant(module, "library_version", clp_version()) < 0 ||
      clpool_add_allocators(module) < 0 || clpool_add_callback_allocator(module) < 0 ||
      clpool_add_pools(module) < 0 || clpool_add_memory(module) < 0 ||
      clpool_add_hook(module) < 0 || clpool_add_trace(module) < 0 || clpool_add_torch(module) < 0 ||
      clpool_add_released() < 0 || clpool_add_cuda_mempool(module) < 0 ||
      clpool_add_async_pool(module) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
