/* SPDX-License-Identifier: MIT */
/* Statuses as exceptions. clpool/_errors.py has the classes. */
#include "clpool_module.h"

PyObject *clpool_make_error;
PyObject *clpool_is_out_of_memory;

/* The first exception of a callback in Python on this thread. It waits here until the call of
 * libclpool's that it was called from has returned. */
static _Thread_local PyObject *kept_type, *kept_value, *kept_traceback;

/* Why a callback in Python last found no memory, on this thread, until the call has returned. */
static _Thread_local PyObject *kept_cause;

/* Puts another cause there; returns what was there. */
PyObject *clpool_swap_cause(PyObject *cause)
{
  PyObject *earlier = kept_cause;
  kept_cause = cause;
  return earlier;
}

/* Raises the thread's last error of libclpool's; returns NULL. */
void *clpool_raise(void)
{
  PyObject *cause = clpool_swap_cause(NULL);
  const clp_error *last = clp_last_error();
  PyObject *error =
      PyObject_CallFunction(clpool_make_error, "iiss", (int)last->status, last->native_code,
                            clp_status_name(last->status), last->message);
  if (error == NULL) {
    Py_XDECREF(cause);
    return NULL;
  }
  if (cause != NULL)
    PyException_SetCause(error, cause);
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

/* 0 for success; otherwise raises what a callback raised, or else the last error. */
int clpool_check(clp_status status)
{
  int result = clpool_raise_kept();
  if (result == 0 && status != CLP_SUCCESS) {
    clpool_raise();
    return -1;
  }
  Py_CLEAR(kept_cause);
  return result;
}

/* None for success; otherwise raises as clpool_check does. */
PyObject *clpool_none_or_raise(clp_status status)
{
  if (clpool_check(status) < 0)
    return NULL;
  Py_RETURN_NONE;
}

/* Puts the exception that is set away, as the cause of a failure that may follow. */
void clpool_keep_cause(void)
{
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != NULL)
    PyException_SetTraceback(value, traceback);
  Py_XDECREF(clpool_swap_cause(value));
  Py_XDECREF(type);
  Py_XDECREF(traceback);
}

/* Puts the exception that is set away. Of several, the first is raised and the rest are printed. */
void clpool_keep_exception(void)
{
  if (kept_type != NULL) {
    PyErr_WriteUnraisable(NULL);
    return;
  }
  PyErr_Fetch(&kept_type, &kept_value, &kept_traceback);
}

/* Raises what was put away. 0: nothing was. */
int clpool_raise_kept(void)
{
  if (kept_type == NULL)
    return 0;
  PyErr_Restore(kept_type, kept_value, kept_traceback);
  kept_type = kept_value = kept_traceback = NULL;
  return -1;
}

/* Prints what was put away, where the caller is not Python's. With or without the interpreter's
 * lock; an exception that is on its way stays. */
void clpool_report_kept(void)
{
  if (kept_type == NULL)
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  clpool_raise_kept();
  PyErr_WriteUnraisable(NULL);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}
