/* SPDX-License-Identifier: MIT */
/* From a size to a Python object, and from a block back to its pool. A hit never waits for a lock,
 * so it keeps the interpreter's. */
#include "clpool_module.h"

#include <stdlib.h>
#include <string.h>

static bool try_allocate(Pool *pool, size_t bytes, clp_buffer **out)
{
  if (pool->stream == NULL)
    return clp_pool_try_allocate(pool->pool, bytes, out);
  return clp_pool_try_allocate_on(pool->pool, bytes, pool->stream, out);
}

/* Buffers that are parked keep memory that the pool gave back meanwhile. After a failure the last
 * error stays what it is, which the question of statistics might not leave. */
static void drop_parked_after_frees(Pool *pool, clp_status status)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (status != CLP_SUCCESS) {
    clpool_drop_parked();
    return;
  }
  pool = clpool_root(pool);
  if ((pool->kind != MEMORY_CL_MEM && pool->kind != MEMORY_SVM) ||
      clp_pool_get_stats(pool->pool, &stats) != CLP_SUCCESS)
    return;
  if (stats.device_frees != pool->device_frees)
    clpool_drop_parked();
  pool->device_frees = stats.device_frees;
}

/* Gives a block back, on a stream unless that is NULL. Lets go of the interpreter's lock where it
 * may take long. */
clp_status clpool_release_block(Pool *pool, clp_buffer *buffer, clp_stream stream)
{
  bool done =
      stream == NULL ? clp_buffer_try_release(buffer) : clp_buffer_try_release_on(buffer, stream);
  if (done)
    return CLP_SUCCESS;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = stream == NULL ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, stream);
  Py_END_ALLOW_THREADS
  drop_parked_after_frees(pool, status);
  return status;
}

/* As clpool_release_block, where nothing can be raised: a failure is printed, and an exception that
 * is on its way stays. */
void clpool_release_or_report(Pool *pool, clp_buffer *buffer, clp_stream stream)
{
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (clpool_check(clpool_release_block(pool, buffer, stream)) < 0)
    PyErr_WriteUnraisable(NULL);
  PyErr_Restore(type, value, traceback);
}

/* A trace with stacks has Python's lines where the thread has the interpreter's lock. */
static bool traces_stacks(void)
{
  const char *stacks = getenv("CLPOOL_TRACE_STACKS");
  return stacks && strcmp(stacks, "1") == 0;
}

static clp_buffer *allocate_slowly(Pool *pool, size_t bytes)
{
  clp_buffer *buffer;
  clp_status status;
  if (clpool_inner(pool) == NULL)
    return clpool_check(CLP_SUCCESS), NULL;
  const Allocator *allocator = clpool_root(pool)->allocator;
  if (clpool_refuse_inside_callback(allocator) < 0)
    return NULL;
  /* Another thread may need the lock for a callback that this one would wait for. */
  bool keeps_lock = traces_stacks() && !clpool_calls_back(allocator);
  PyThreadState *state = keeps_lock ? NULL : PyEval_SaveThread();
  if (pool->stream == NULL)
    status = clp_pool_allocate(pool->pool, bytes, &buffer);
  else
    status = clp_pool_allocate_on(pool->pool, bytes, pool->stream, &buffer);
  if (state != NULL)
    PyEval_RestoreThread(state);
  drop_parked_after_frees(pool, status);
  if (clpool_check(status) == 0)
    return buffer;
  if (status == CLP_SUCCESS)
    clpool_release_or_report(pool, buffer, pool->stream);
  return NULL;
}

static PyObject *to_object(Pool *pool, clp_buffer *buffer)
{
  if (pool->kind == MEMORY_CL_MEM)
    return clpool_wrap(pool, buffer);
  if (pool->kind == MEMORY_SVM)
    return clpool_wrap_svm(pool, buffer);
  return clpool_memory_new(pool, buffer);
}

PyObject *clpool_pool_allocate(PyObject *self, PyObject *size)
{
  Pool *pool = (Pool *)self;
  size_t bytes;
  clp_buffer *buffer;
  if (clpool_size_of(size, &bytes) < 0)
    return NULL;
  /* OpenCL has no buffer of zero bytes, and PyOpenCL's pool gives one of the smallest bin. */
  if (bytes == 0)
    bytes = 1;
  if (!try_allocate(pool, bytes, &buffer)) {
    buffer = allocate_slowly(pool, bytes);
    if (buffer == NULL)
      return NULL;
  }
  return to_object(pool, buffer);
}

PyObject *clpool_pool_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
  Py_ssize_t positional = PyVectorcall_NARGS(flags);
  Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  if (positional + named != 1 ||
      (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "size") != 0)) {
    PyErr_SetString(PyExc_TypeError, "a pool takes one argument, the size in bytes");
    return NULL;
  }
  return clpool_pool_allocate(self, args[0]);
}
