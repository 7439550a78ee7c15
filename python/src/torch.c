/* SPDX-License-Identifier: MIT */
/* Pools for PyTorch: memory is known by its address there, so this finds an address' buffer.
 * PyTorch calls from any thread, with and without the interpreter's lock. */
#include "torch.h"
#include "clpool_module.h"
#include "pointer_map.h"

#include <pthread.h>

#define DEVICES 64

/* Held across a fork. No call of clpool is made under this lock: clpool holds locks of its own
 * across a fork, and may take those first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clp_pool *pools[DEVICES]; /* guarded by the lock; these pools are never destroyed */
static pointer_map buffers;      /* guarded by the lock: addresses to what the pools gave */

/* PyTorch's default stream, which is NULL there. */
static clp_stream named(void *stream)
{
  return stream == NULL ? CLP_CUDA_STREAM_LEGACY : stream;
}

static clp_pool *pool_of(int device)
{
  clp_pool *pool = NULL;
  pthread_mutex_lock(&lock);
  if (device >= 0 && device < DEVICES)
    pool = pools[device];
  pthread_mutex_unlock(&lock);
  if (pool == NULL)
    clp_set_last_error(CLP_NOT_FOUND, 0, "clpool.torch_allocator has no pool for this device");
  return pool;
}

static bool remember(const void *memory, clp_buffer *buffer)
{
  pthread_mutex_lock(&lock);
  bool added = pointer_map_add(&buffers, memory, buffer);
  pthread_mutex_unlock(&lock);
  if (!added)
    clp_set_last_error(CLP_OUT_OF_HOST_MEMORY, 0, NULL);
  return added;
}

static clp_buffer *find(const void *memory, bool forget)
{
  pthread_mutex_lock(&lock);
  clp_buffer *buffer = pointer_map_get(&buffers, memory);
  if (forget)
    pointer_map_remove(&buffers, memory);
  pthread_mutex_unlock(&lock);
  if (buffer == NULL)
    clp_set_last_error(CLP_NOT_FOUND, 0, "this memory is not from clpool");
  return buffer;
}

void *clpool_torch_take(size_t bytes, int device, void *stream)
{
  clp_pool *pool = pool_of(device);
  if (pool == NULL)
    return NULL;
  clp_buffer *buffer;
  clp_status status = clp_pool_allocate_on(pool, bytes, named(stream), &buffer);
  clpool_report_kept();
  if (status != CLP_SUCCESS)
    return NULL;
  void *memory = (void *)clp_buffer_memory(buffer);
  if (memory != NULL && remember(memory, buffer))
    return memory;
  clp_buffer_release_on(buffer, named(stream));
  return NULL;
}

bool clpool_torch_give(void *memory, void *stream)
{
  clp_buffer *buffer = find(memory, true);
  if (buffer == NULL)
    return false;
  clp_status status = clp_buffer_release_on(buffer, named(stream));
  clpool_report_kept();
  return status == CLP_SUCCESS;
}

bool clpool_torch_use(void *memory, void *stream)
{
  clp_buffer *buffer = find(memory, false);
  return buffer != NULL && clp_buffer_record_use(buffer, named(stream)) == CLP_SUCCESS;
}

/* set_torch_pool(pool): PyTorch's memory of the pool's device comes from it, for ever. */
static PyObject *set_torch_pool(PyObject *module, PyObject *object)
{
  (void)module;
  if (!PyObject_TypeCheck(object, clpool_pool_type))
    return PyErr_Format(PyExc_TypeError, "expected a clpool.MemoryPool");
  if (clpool_inner((Pool *)object) == NULL)
    return clpool_check(CLP_SUCCESS), NULL;
  int device = ((Pool *)object)->allocator->device;
  if (device < 0 || device >= DEVICES)
    return PyErr_Format(PyExc_ValueError, "the pool must be on a clpool.CudaAsyncAllocator");
  /* The object stays for ever, and keeps its pool and the callback, which is in Python. */
  Py_INCREF(object);
  pthread_mutex_lock(&lock);
  pools[device] = ((Pool *)object)->pool;
  pthread_mutex_unlock(&lock);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set_torch_pool", set_torch_pool, METH_O, "set_torch_pool($module, pool, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static void lock_all(void)
{
  pthread_mutex_lock(&lock);
}

static void unlock_all(void)
{
  pthread_mutex_unlock(&lock);
}

/* A forked child frees what it inherited, too, so no thread that it lacks may have the lock. */
int clpool_add_torch(PyObject *module)
{
  if (pthread_atfork(lock_all, unlock_all, unlock_all) != 0) {
    PyErr_SetString(PyExc_ImportError, "pthread_atfork failed");
    return -1;
  }
  return PyModule_AddFunctions(module, functions);
}
