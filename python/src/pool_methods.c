/* SPDX-License-Identifier: MIT */
/* What pools tell and do besides allocating. What `on` gives does it for its pool. */
#include "clpool_module.h"

#include <stddef.h>

static clp_pool *inner(PyObject *self)
{
  return clpool_inner((Pool *)self);
}

/* --- Giving back ------------------------------------------------------------------------------ */

/* Ends a call that may have given memory back: what parked buffers keep of it goes, too. */
static PyObject *given_back(clp_status status)
{
  clpool_drop_parked();
  return clpool_none_or_raise(status);
}

static PyObject *free_held(PyObject *self, PyObject *unused)
{
  (void)unused;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_pool_free_held(inner(self));
  Py_END_ALLOW_THREADS
  return given_back(status);
}

static PyObject *stop_holding(PyObject *self, PyObject *unused)
{
  (void)unused;
  clpool_root((Pool *)self)->holding = false;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_pool_stop_holding(inner(self));
  Py_END_ALLOW_THREADS
  return given_back(status);
}

static PyObject *trim_to(PyObject *self, PyObject *size)
{
  size_t bytes;
  if (clpool_size_of(size, &bytes) < 0)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_pool_trim_to(inner(self), bytes);
  Py_END_ALLOW_THREADS
  return given_back(status);
}

static PyObject *trim_idle(PyObject *self, PyObject *milliseconds)
{
  unsigned long long since = PyLong_AsUnsignedLongLong(milliseconds);
  if (PyErr_Occurred())
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_pool_trim_idle(inner(self), since);
  Py_END_ALLOW_THREADS
  return given_back(status);
}

PyObject *clpool_free_all_held(PyObject *module, PyObject *unused)
{
  (void)module, (void)unused;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_free_all_held();
  Py_END_ALLOW_THREADS
  return given_back(status);
}

static PyObject *forget_queue(PyObject *self, PyObject *queue)
{
  void *stream;
  if (clpool_stream_of(queue, clpool_is_cuda((Pool *)self), &stream) < 0)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_pool_forget_stream(inner(self), stream);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

/* --- Bins ------------------------------------------------------------------------------------- */

static PyObject *bin_number(PyObject *self, PyObject *size)
{
  size_t bytes;
  if (clpool_size_of(size, &bytes) < 0)
    return NULL;
  bytes = clp_pool_bin_number(inner(self), bytes);
  return clpool_check(CLP_SUCCESS) < 0 ? NULL : PyLong_FromSize_t(bytes);
}

static PyObject *alloc_size(PyObject *self, PyObject *number)
{
  size_t bin;
  if (clpool_size_of(number, &bin) < 0)
    return NULL;
  size_t bytes = clp_pool_alloc_size(inner(self), bin);
  return clpool_check(CLP_SUCCESS) < 0 ? NULL : PyLong_FromSize_t(bytes);
}

static PyObject *one_bin(clp_pool *pool, size_t bin)
{
  clp_bin_stats stats = CLP_BIN_STATS_INIT;
  if (clpool_check(clp_pool_get_bin_stats(pool, bin, &stats)) < 0)
    return NULL;
  return Py_BuildValue("{snsnsnsnsnsnsKsK}", "bin", stats.bin, "block_bytes", stats.block_bytes,
                       "held_blocks", stats.held_blocks, "held_bytes", stats.held_bytes,
                       "active_blocks", stats.active_blocks, "padding_bytes", stats.padding_bytes,
                       "hits", (unsigned long long)stats.hits, "misses",
                       (unsigned long long)stats.misses);
}

static PyObject *bin_stats(PyObject *self, PyObject *unused)
{
  (void)unused;
  size_t count, capacity;
  if (clpool_check(clp_pool_get_bins(inner(self), NULL, 0, &count)) < 0)
    return NULL;
  capacity = count;
  size_t *bins = PyMem_New(size_t, capacity + 1);
  if (bins == NULL)
    return PyErr_NoMemory();
  PyObject *all = NULL;
  if (clpool_check(clp_pool_get_bins(inner(self), bins, capacity, &count)) == 0)
    all = PyList_New(0);
  for (size_t i = 0; all != NULL && i < capacity; i++) {
    PyObject *one = one_bin(inner(self), bins[i]);
    if (one == NULL || PyList_Append(all, one) < 0)
      Py_CLEAR(all);
    Py_XDECREF(one);
  }
  PyMem_Free(bins);
  return all;
}

/* --- Figures ---------------------------------------------------------------------------------- */

static PyObject *get_stats(PyObject *self, void *closure)
{
  (void)closure;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (clpool_check(clp_pool_get_stats(inner(self), &stats)) < 0)
    return NULL;
  return PyObject_CallFunction(
      clpool_stats_type, "nnnnnnnKKKKKK", stats.held_blocks, stats.active_blocks,
      stats.managed_bytes, stats.active_bytes, stats.held_bytes, stats.peak_managed_bytes,
      stats.peak_active_bytes, (unsigned long long)stats.allocations,
      (unsigned long long)stats.hits, (unsigned long long)stats.misses,
      (unsigned long long)stats.device_allocations, (unsigned long long)stats.device_frees,
      (unsigned long long)stats.out_of_memory_reactions);
}

/* One figure; `field` is its place in clp_pool_stats. */
static PyObject *get_figure(PyObject *self, void *field)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (clpool_check(clp_pool_get_stats(inner(self), &stats)) < 0)
    return NULL;
  return PyLong_FromSize_t(*(const size_t *)((const char *)&stats + (size_t)field));
}

static PyObject *reset_peaks(PyObject *self, PyObject *unused)
{
  (void)unused;
  return clpool_none_or_raise(clp_pool_reset_peaks(inner(self)));
}

static PyObject *get_limit(PyObject *self, void *closure)
{
  (void)closure;
  size_t bytes = clp_pool_get_limit(inner(self));
  if (clpool_check(CLP_SUCCESS) < 0)
    return NULL;
  if (bytes == 0)
    Py_RETURN_NONE;
  return PyLong_FromSize_t(bytes);
}

static int set_limit(PyObject *self, PyObject *value, void *closure)
{
  (void)closure;
  size_t bytes = 0;
  if (value != NULL && PyFloat_Check(value))
    return clpool_check(clp_pool_set_limit_fraction(inner(self), PyFloat_AS_DOUBLE(value)));
  if (value != NULL && value != Py_None && clpool_size_of(value, &bytes) < 0)
    return -1;
  return clpool_check(clp_pool_set_limit(inner(self), bytes));
}

static PyObject *get_name(PyObject *self, void *closure)
{
  (void)closure;
  const char *name = clp_pool_name(inner(self));
  return clpool_check(CLP_SUCCESS) < 0 ? NULL : Py_BuildValue("z", name);
}

static PyObject *get_allocator(PyObject *self, void *closure)
{
  (void)closure;
  if (inner(self) == NULL)
    return clpool_check(CLP_SUCCESS), NULL;
  PyObject *allocator = (PyObject *)clpool_root((Pool *)self)->allocator;
  Py_INCREF(allocator);
  return allocator;
}

/* --- Hooks ------------------------------------------------------------------------------------ */

static PyObject *with_hook(PyObject *self, PyObject *object, const char *list_method,
                           clp_status (*call)(clp_pool *, const clp_hook *))
{
  const clp_hook *hook = clpool_hook_of(object);
  if (hook == NULL)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = call(inner(self), hook);
  Py_END_ALLOW_THREADS
  if (clpool_check(status) < 0)
    return NULL;
  return PyObject_CallMethod(clpool_root((Pool *)self)->hooks, list_method, "O", object);
}

static PyObject *add_hook(PyObject *self, PyObject *hook)
{
  return with_hook(self, hook, "append", clp_pool_add_hook);
}

static PyObject *remove_hook(PyObject *self, PyObject *hook)
{
  return with_hook(self, hook, "remove", clp_pool_remove_hook);
}

PyMethodDef clpool_pool_methods[] = {
    {"allocate", clpool_pool_allocate, METH_O,
     "allocate($self, size, /)\n--\n\n"
     "Returns memory of `size` bytes, as a call of the pool does."},
    {"on", clpool_pool_on, METH_O,
     "on($self, queue, /)\n--\n\n"
     "Returns an allocator of this pool's memory for use on that queue or stream. Releases are\n"
     "ordered on it: cla.zeros(other, n, dtype, allocator=pool.on(other))."},
    {"free_held", free_held, METH_NOARGS,
     "free_held($self, /)\n--\n\n"
     "Returns all held blocks to the device."},
    {"stop_holding", stop_holding, METH_NOARGS,
     "stop_holding($self, /)\n--\n\n"
     "Does the same as free_held. From then on, a release returns the memory to the device."},
    {"trim_to", trim_to, METH_O,
     "trim_to($self, size, /)\n--\n\n"
     "Returns held blocks to the device, least recently used first, until at most `size` bytes are "
     "managed."},
    {"trim_idle", trim_idle, METH_O,
     "trim_idle($self, milliseconds, /)\n--\n\n"
     "Returns to the device what nobody has used since an earlier call, at least `milliseconds` "
     "ago. Call it\n"
     "regularly."},
    {"forget_queue", forget_queue, METH_O,
     "forget_queue($self, queue, /)\n--\n\n"
     "Makes the pool forget a queue. Forget a CUDA stream before it is destroyed."},
    {"bin_number", bin_number, METH_O,
     "bin_number($self, size, /)\n--\n\n"
     "Returns the bin of a size in bytes."},
    {"alloc_size", alloc_size, METH_O,
     "alloc_size($self, bin, /)\n--\n\n"
     "Returns the size in bytes of each block of a bin."},
    {"bin_stats", bin_stats, METH_NOARGS,
     "bin_stats($self, /)\n--\n\n"
     "Returns the figures of each bin that was used, in bytes, named as in clp_bin_stats."},
    {"reset_peaks", reset_peaks, METH_NOARGS,
     "reset_peaks($self, /)\n--\n\n"
     "Sets both peaks to the bytes that are managed and active now."},
    {"_add_hook", add_hook, METH_O, "_add_hook($self, hook, /)\n--\n\n"},
    {"_remove_hook", remove_hook, METH_O, "_remove_hook($self, hook, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

#define FIGURE(name, documentation)                                                                \
  {                                                                                                \
#name, get_figure, NULL, documentation, (void *)offsetof(clp_pool_stats, name)                 \
  }

PyGetSetDef clpool_pool_properties[] = {
    FIGURE(held_blocks, "The number of blocks that the pool holds for reuse."),
    FIGURE(active_blocks, "The number of blocks that the program uses."),
    FIGURE(managed_bytes, "Bytes of active and held blocks, as allocated."),
    FIGURE(active_bytes, "Bytes that the program uses, as requested."),
    FIGURE(held_bytes, "Bytes of held blocks, as allocated."),
    {"stats", get_stats, NULL, "A consistent snapshot of all figures, a clpool.PoolStats.", NULL},
    {"limit", get_limit, set_limit,
     "The most bytes to manage, None for no limit. A float sets a fraction of the device's memory.",
     NULL},
    {"allocator", get_allocator, NULL, "The allocator that the pool takes memory from.", NULL},
    {"name", get_name, NULL, "The name in traces and messages, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
