/* SPDX-License-Identifier: MIT */
/* The library's messages as calls of a Python function: clpool.set_log. */
#include "clpool_module.h"

#include <string.h>

static PyObject *receiver; /* called with a level of the module logging and a text; NULL: nobody */

/* Calls with the interpreter's lock. A message may come while an exception is on its way, which
 * Python must not run with. What the receiver raises is printed. */
static void call(clp_log_level level, const char *message)
{
  PyObject *type, *value, *traceback, *function = receiver;
  PyErr_Fetch(&type, &value, &traceback);
  Py_INCREF(function);
  PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject *result = PyObject_CallFunction(function, "iN", 20 + 10 * (int)level, text);
  if (result == NULL)
    PyErr_WriteUnraisable(function);
  Py_XDECREF(result);
  Py_DECREF(function);
  PyErr_Restore(type, value, traceback);
}

/* Called under no lock of the library, by any thread, with or without the interpreter's lock. */
static void show(clp_log_level level, const char *message, void *user_data)
{
  (void)user_data;
  if (!Py_IsInitialized())
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  if (receiver != NULL)
    call(level, message);
  PyGILState_Release(state);
}

PyObject *clpool_set_log(PyObject *module, PyObject *callable)
{
  (void)module;
  PyObject *former = receiver;
  receiver = callable == Py_None ? NULL : callable;
  Py_XINCREF(receiver);
  clp_set_log(receiver == NULL ? NULL : show, NULL);
  Py_XDECREF(former);
  Py_RETURN_NONE;
}
