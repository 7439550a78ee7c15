/* SPDX-License-Identifier: MIT */
/* What a cl_mem's buffer and one of addresses have in common: calls of libclpool's that may wait,
 * during which the interpreter's lock is let go of. */
#include "clpool_module.h"

static PyObject *with_stream(clp_buffer *buffer, Pool *pool, PyObject *queue,
                             clp_status (*call)(Pool *, clp_buffer *, clp_stream))
{
  void *stream;
  if (buffer == NULL || clpool_stream_of(queue, clpool_is_cuda(pool), &stream) < 0)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = call(pool, buffer, stream);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

static clp_status record_use(Pool *pool, clp_buffer *buffer, clp_stream stream)
{
  (void)pool;
  return clp_buffer_record_use(buffer, stream);
}

/* What came of `on` is released on the queue that `on` was given, which is then the queue that the
 * buffer comes from, and its use on the new one is noted. */
static clp_status bind(Pool *pool, clp_buffer *buffer, clp_stream stream)
{
  if (pool->stream == NULL)
    return clp_buffer_bind(buffer, stream);
  clp_status status = clp_buffer_bind(buffer, pool->stream);
  if (status == CLP_SUCCESS)
    status = clp_buffer_bind(buffer, stream);
  return status == CLP_SUCCESS ? clp_buffer_record_use(buffer, stream) : status;
}

/* NULL for the buffer, here and below: an exception is set. */
PyObject *clpool_record_use(clp_buffer *buffer, Pool *pool, PyObject *queue)
{
  return with_stream(buffer, pool, queue, record_use);
}

PyObject *clpool_bind(clp_buffer *buffer, Pool *pool, PyObject *queue)
{
  return with_stream(buffer, pool, queue, bind);
}

PyObject *clpool_unbind(clp_buffer *buffer)
{
  if (buffer == NULL)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_buffer_unbind(buffer);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}
