/* SPDX-License-Identifier: MIT */
/* clpool.Allocator and the classes derived from it: one for each constructor of libclpool's. */
#include "clpool_module.h"

#include <stdio.h>
#include <stdlib.h>

PyTypeObject *clpool_allocator_type;
PyTypeObject *clpool_arena_type;

static void allocator_dealloc(PyObject *self)
{
  Allocator *me = (Allocator *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clp_allocator *allocator = me->allocator;
  if (allocator != NULL) {
    Py_BEGIN_ALLOW_THREADS
    clp_allocator_release(allocator);
    Py_END_ALLOW_THREADS
    clpool_report_kept();
  }
  Py_XDECREF(me->context);
  Py_XDECREF(me->queue);
  Py_XDECREF(me->upstream);
  Py_XDECREF(me->mempool);
  type->tp_free(self);
  Py_DECREF(type);
}

static int allocator_traverse(PyObject *self, visitproc visit, void *arg)
{
  Allocator *me = (Allocator *)self;
  Py_VISIT(me->context);
  Py_VISIT(me->queue);
  Py_VISIT(me->upstream);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/* An object of `type` for what a constructor gave, whose status this is; NULL on failure. `queue`
 * is the home queue, Py_None, or NULL. */
static PyObject *made(PyTypeObject *type, clp_status status, clp_allocator *allocator,
                      memory_kind kind, PyObject *queue)
{
  if (clpool_check(status) < 0) {
    clp_allocator_release(allocator);
    return NULL;
  }
  Allocator *self = (Allocator *)type->tp_alloc(type, 0);
  if (self == NULL) {
    clp_allocator_release(allocator);
    return NULL;
  }
  self->allocator = allocator;
  self->kind = kind;
  self->direct = kind == MEMORY_CL_MEM || kind == MEMORY_SVM;
  Py_XINCREF(queue);
  self->queue = queue;
  self->device = -1;
  return (PyObject *)self;
}

/* --- Constructors ----------------------------------------------------------------------------- */

/* Whether there are classes for what OpenCL's allocators give; false with an exception. */
bool clpool_has_pyopencl(void)
{
  if (clpool_buffer_type == NULL)
    PyErr_SetString(PyExc_ImportError, "OpenCL memory needs pyopencl, which is not installed");
  return clpool_buffer_type != NULL;
}

static PyObject *deferred_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"context", "mem_flags", NULL};
  PyObject *context;
  unsigned long long flags = CL_MEM_READ_WRITE;
  void *handle;
  if (!clpool_has_pyopencl() ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "O|K", names, &context, &flags) ||
      clpool_handle_of(context, clpool_context_type, &handle) < 0)
    return NULL;
  clp_allocator *allocator;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cl_deferred_allocator_create(handle, flags, &allocator);
  Py_END_ALLOW_THREADS
  Allocator *self = (Allocator *)made(type, status, allocator, MEMORY_CL_MEM, NULL);
  if (self != NULL) {
    Py_INCREF(context);
    self->context = context;
  }
  return (PyObject *)self;
}

static PyObject *immediate_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"queue", "mem_flags", NULL};
  PyObject *queue;
  unsigned long long flags = CL_MEM_READ_WRITE;
  void *handle;
  if (!clpool_has_pyopencl() ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "O|K", names, &queue, &flags) ||
      clpool_handle_of(queue, clpool_queue_type, &handle) < 0)
    return NULL;
  clp_allocator *allocator;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cl_immediate_allocator_create(handle, flags, &allocator);
  Py_END_ALLOW_THREADS
  return made(type, status, allocator, MEMORY_CL_MEM, queue);
}

static PyObject *svm_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"context", "alignment", "flags", "queue", NULL};
  PyObject *context, *queue = Py_None;
  unsigned long long flags = CL_MEM_READ_WRITE;
  size_t alignment = 0;
  void *context_handle, *queue_handle = NULL;
  if (!clpool_has_pyopencl() ||
      !PyArg_ParseTupleAndKeywords(args, keywords, "O|O&KO", names, &context, clpool_parse_size,
                                   &alignment, &flags, &queue) ||
      clpool_handle_of(context, clpool_context_type, &context_handle) < 0 ||
      (queue != Py_None && clpool_handle_of(queue, clpool_queue_type, &queue_handle) < 0))
    return NULL;
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  options.flags = flags;
  options.alignment = alignment;
  options.queue = queue_handle;
  clp_allocator *allocator;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cl_svm_allocator_create(context_handle, &options, &allocator);
  Py_END_ALLOW_THREADS
  Allocator *self = (Allocator *)made(type, status, allocator, MEMORY_SVM, queue);
  if (self == NULL)
    return NULL;
  Py_INCREF(context);
  self->context = context;
  self->flags = flags;
  self->alignment = alignment;
  return (PyObject *)self;
}

static PyObject *host_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"alignment", NULL};
  size_t alignment = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O&", names, clpool_parse_size, &alignment))
    return NULL;
  clp_allocator *allocator;
  clp_status status = clp_host_allocator_create(alignment, &allocator);
  return made(type, status, allocator, MEMORY_HOST, NULL);
}

static PyObject *simulated_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"capacity", NULL};
  size_t capacity = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O&", names, clpool_parse_size, &capacity))
    return NULL;
  clp_allocator *allocator;
  clp_status status = clp_simulated_allocator_create(capacity, &allocator);
  return made(type, status, allocator, MEMORY_ADDRESS, NULL);
}

/* Sets which of the driver's memory pools an allocator takes from: 'default', 'current', or one. */
static int choose_mempool(PyObject *mempool, clp_cuda_async_options *options)
{
  bool is_text = PyUnicode_Check(mempool);
  if (is_text && PyUnicode_CompareWithASCIIString(mempool, "current") == 0)
    options->mempool_choice = CLP_CUDA_MEMPOOL_CURRENT;
  else if (!is_text || PyUnicode_CompareWithASCIIString(mempool, "default") != 0)
    return clpool_mempool_of(mempool, &options->mempool);
  return 0;
}

static PyObject *cuda_async_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"device", "stream", "mempool", NULL};
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  PyObject *stream = Py_None, *mempool = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|iOO", names, &options.device, &stream,
                                   &mempool) ||
      !clpool_parse_stream(stream, &options.stream) ||
      (mempool != NULL && choose_mempool(mempool, &options) < 0))
    return NULL;
  clp_allocator *allocator;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_async_allocator_create(&options, &allocator);
  Py_END_ALLOW_THREADS
  Allocator *self = (Allocator *)made(type, status, allocator, MEMORY_ADDRESS, stream);
  if (self == NULL)
    return NULL;
  self->device = options.device;
  Py_XINCREF(mempool);
  self->mempool = mempool;
  return (PyObject *)self;
}

static PyObject *made_arena(PyTypeObject *type, clp_status status, clp_allocator *arena,
                            Allocator *below)
{
  Allocator *self = (Allocator *)made(type, status, arena, below->kind, below->queue);
  if (self != NULL) {
    Py_XINCREF(below->context);
    self->context = below->context;
    self->direct = false;
    self->device = below->device;
    Py_INCREF(below);
    self->upstream = below;
    Py_XINCREF(below->mempool);
    self->mempool = below->mempool;
  }
  return (PyObject *)self;
}

PyObject *clpool_arena_of(clp_allocator *arena, Allocator *below)
{
  return made_arena(clpool_arena_type, CLP_SUCCESS, clp_allocator_retain(arena), below);
}

static int parse_slack(PyObject *object, void *out)
{
  if (object != Py_None)
    *(double *)out = PyFloat_AsDouble(object);
  return !PyErr_Occurred();
}

static PyObject *arena_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  static char *names[] = {
      "upstream",      "slack", "min_segment_bytes", "max_segment_bytes", "one_thread",
      "reserve_bytes", NULL};
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  PyObject *upstream;
  int one_thread = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, keywords, "O!|O&O&O&pO&", names, clpool_allocator_type, &upstream, parse_slack,
          &options.slack, clpool_parse_size, &options.min_segment_bytes, clpool_parse_size,
          &options.max_segment_bytes, &one_thread, clpool_parse_size, &options.reserve_bytes))
    return NULL;
  options.one_thread = one_thread;
  Allocator *below = (Allocator *)upstream;
  if (options.reserve_bytes > 0 && clpool_refuse_inside_callback(below) < 0)
    return NULL;
  clp_allocator *allocator;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_arena_allocator_create(below->allocator, &options, &allocator);
  Py_END_ALLOW_THREADS
  return made_arena(type, status, allocator, below);
}

/* --- Without a pool --------------------------------------------------------------------------- */

static PyObject *allocate_buffer(Allocator *self, size_t bytes)
{
  clp_memory memory;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_allocator_allocate(self->allocator, bytes, &memory);
  Py_END_ALLOW_THREADS
  if (clpool_check(status) < 0)
    return NULL;
  PyObject *buffer = PyObject_CallMethod(clpool_buffer_type, "from_int_ptr", "KO",
                                         (unsigned long long)memory, Py_False);
  if (buffer == NULL)
    clp_allocator_free(self->allocator, memory, bytes);
  return buffer;
}

static PyObject *allocator_call(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"size", NULL};
  Allocator *me = (Allocator *)self;
  PyObject *object;
  size_t bytes;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &object) ||
      clpool_size_of(object, &bytes) < 0)
    return NULL;
  if (!me->direct) {
    PyErr_Format(PyExc_TypeError, "%.100s cannot be called: make a clpool.MemoryPool on it",
                 Py_TYPE(self)->tp_name);
    return NULL;
  }
  if (me->kind == MEMORY_SVM)
    return PyObject_CallFunction(clpool_svm_allocation, "OnnKO", me->context, (Py_ssize_t)bytes,
                                 (Py_ssize_t)me->alignment, me->flags, me->queue);
  if (bytes == 0)
    Py_RETURN_NONE;
  return allocate_buffer(me, bytes);
}

/* --- The types -------------------------------------------------------------------------------- */

static PyObject *allocator_name(PyObject *self, void *closure)
{
  (void)closure;
  return PyUnicode_FromString(clp_allocator_name(((Allocator *)self)->allocator));
}

static PyObject *allocator_deferred(PyObject *self, void *closure)
{
  (void)closure;
  return PyBool_FromLong(clp_allocator_is_deferred(((Allocator *)self)->allocator));
}

static PyObject *allocator_queue(PyObject *self, void *closure)
{
  (void)closure;
  PyObject *queue = ((Allocator *)self)->queue;
  if (queue == NULL)
    Py_RETURN_NONE;
  Py_INCREF(queue);
  return queue;
}

static PyObject *allocator_context(PyObject *self, void *closure)
{
  (void)closure;
  Allocator *me = (Allocator *)self;
  if (me->context == NULL && me->queue != NULL && me->kind == MEMORY_CL_MEM)
    return PyObject_GetAttrString(me->queue, "context");
  PyObject *context = me->context == NULL ? Py_None : me->context;
  Py_INCREF(context);
  return context;
}

static PyObject *allocator_device(PyObject *self, void *closure)
{
  (void)closure;
  int device = ((Allocator *)self)->device;
  if (device < 0)
    Py_RETURN_NONE;
  return PyLong_FromLong(device);
}

static PyGetSetDef allocator_properties[] = {
    {"device", allocator_device, NULL, "The ordinal of the CUDA device, or None.", NULL},
    {"queue", allocator_queue, NULL, "The home queue or stream, or None.", NULL},
    {"context", allocator_context, NULL, "The pyopencl.Context, or None.", NULL},
    {"name", allocator_name, NULL, "The name that libclpool uses, such as \"cl-immediate\".", NULL},
    {"is_deferred", allocator_deferred, NULL,
     "Whether a lack of memory may show only when the memory is first used.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *arena_stats(PyObject *self, PyObject *unused)
{
  (void)unused;
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  if (clpool_check(clp_arena_get_stats(((Allocator *)self)->allocator, &stats)) < 0)
    return NULL;
  return Py_BuildValue(
      "{snsnsnsnsnsnsnsdsnsnsKsKsnsK}", "segments", stats.segments, "free_segments",
      stats.free_segments, "reserved_bytes", stats.reserved_bytes, "used_bytes", stats.used_bytes,
      "used_blocks", stats.used_blocks, "free_ranges", stats.free_ranges, "largest_free_bytes",
      stats.largest_free_bytes, "fragmentation", stats.fragmentation, "peak_reserved_bytes",
      stats.peak_reserved_bytes, "peak_used_bytes", stats.peak_used_bytes, "segments_taken",
      (unsigned long long)stats.segments_taken, "segments_given_back",
      (unsigned long long)stats.segments_given_back, "reserve_bytes", stats.reserve_bytes,
      "repeated_blocks", (unsigned long long)stats.repeated_blocks);
}

static PyObject *arena_reserve(PyObject *self, PyObject *size)
{
  size_t bytes;
  if (!clpool_parse_size(size, &bytes) || clpool_refuse_inside_callback((Allocator *)self) < 0)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_arena_reserve(((Allocator *)self)->allocator, bytes);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

static PyObject *arena_dump(PyObject *self, PyObject *unused)
{
  (void)unused;
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  if (file == NULL)
    return PyErr_NoMemory();
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_arena_dump(((Allocator *)self)->allocator, file);
  Py_END_ALLOW_THREADS
  fclose(file);
  PyObject *result = NULL;
  if (clpool_check(status) == 0)
    result = PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
  free(text);
  return result;
}

static PyMethodDef arena_methods[] = {
    {"reserve", arena_reserve, METH_O,
     "reserve($self, size, /)\n--\n\n"
     "Takes `size` bytes of device memory in total, and keeps them. 0 ends the reserve.\n"
     "Raises clpool.MemoryError if the device has too little; the earlier reserve stays."},
    {"get_stats", arena_stats, METH_NOARGS,
     "get_stats($self, /)\n--\n\n"
     "Returns the figures of the arena, in bytes, named as in clp_arena_stats."},
    {"dump", arena_dump, METH_NOARGS,
     "dump($self, /)\n--\n\n"
     "Returns the figures, and each segment with its ranges, as a JSON object."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot base_slots[] = {
    {Py_tp_doc, "Takes memory from a device, for pools. Use one of its derived classes."},
    {Py_tp_dealloc, allocator_dealloc},
    {Py_tp_traverse, allocator_traverse},
    {Py_tp_call, allocator_call},
    {Py_tp_getset, allocator_properties},
    {0, NULL},
};

static PyType_Spec base_spec = {"clpool.Allocator", sizeof(Allocator), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                                base_slots};

static PyObject *no_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)args;
  (void)keywords;
  return PyErr_Format(PyExc_TypeError, "%.100s is an abstract class: use a class derived from it",
                      type->tp_name);
}

/* Adds one class: its name, constructor, documentation, and methods, if it has any. */
static int add_class(PyObject *module, const char *name, newfunc create, const char *documentation,
                     PyMethodDef *methods)
{
  PyType_Slot slots[] = {
      {Py_tp_new, (void *)create},
      {Py_tp_doc, (void *)documentation},
      {methods == NULL ? 0 : Py_tp_methods, methods},
      {0, NULL},
  };
  PyType_Spec spec = {name, sizeof(Allocator), 0, Py_TPFLAGS_DEFAULT, slots};
  return clpool_add_type(module, &spec, clpool_allocator_type, NULL);
}

int clpool_add_allocators(PyObject *module)
{
  if (clpool_add_type(module, &base_spec, NULL, &clpool_allocator_type) < 0)
    return -1;
  clpool_allocator_type->tp_new = no_new;
  if (add_class(module, "clpool.DeferredAllocator", deferred_new,
                "DeferredAllocator(context, mem_flags=1)\n--\n\n"
                "Buffers of a context that the driver may back with memory later\n"
                "(pyopencl.tools.DeferredAllocator). Called with a size in bytes, it returns a\n"
                "pyopencl.Buffer, or None for 0.",
                NULL) < 0 ||
      add_class(
          module, "clpool.ImmediateAllocator", immediate_new,
          "ImmediateAllocator(queue, mem_flags=1)\n--\n\n"
          "Buffers backed by memory at once, so that a pool can react if memory runs out\n"
          "(pyopencl.tools.ImmediateAllocator). The queue is the home queue: plain calls of\n"
          "pools are ordered on it. Called with a size in bytes, it returns a pyopencl.Buffer,\n"
          "or None for 0. Raises clpool.MemoryError.",
          NULL) < 0 ||
      add_class(
          module, "clpool.SVMAllocator", svm_new,
          "SVMAllocator(context, alignment=0, flags=1, queue=None)\n--\n\n"
          "Shared virtual memory (pyopencl.tools.SVMAllocator). alignment is in bytes; 0 means\n"
          "that of the device's largest type. Called with a size in bytes, it returns a\n"
          "pyopencl.SVMAllocation.",
          NULL) < 0 ||
      add_class(module, "clpool.HostAllocator", host_new,
                "HostAllocator(alignment=0)\n--\n\n"
                "Host memory; needs no device. alignment is in bytes; 0 means 64.",
                NULL) < 0 ||
      add_class(
          module, "clpool.SimulatedAllocator", simulated_new,
          "SimulatedAllocator(capacity=0)\n--\n\n"
          "Addresses without memory. Allocations fail beyond capacity bytes; 0 means no bound.",
          NULL) < 0 ||
      add_class(
          module, "clpool.CudaAsyncAllocator", cuda_async_new,
          "CudaAsyncAllocator(device=0, stream=None, mempool='default')\n--\n\n"
          "CUDA's stream-ordered memory (cudaMallocAsync). device is the ordinal of the device.\n"
          "stream is the home stream; None means the legacy default stream. mempool is the "
          "driver's\n"
          "memory pool to take from: a CudaMemPool, or the device's 'default' or 'current' one.\n"
          "Raises clpool.NotSupported without a driver.",
          NULL) < 0)
    return -1;
  if (add_class(
          module, "clpool.ArenaAllocator", arena_new,
          "ArenaAllocator(upstream, slack=None, min_segment_bytes=4096, max_segment_bytes=0,\n"
          "               one_thread=False, reserve_bytes=0)\n--\n\n"
          "Carves blocks out of large segments of another allocator, so that a pool takes little\n"
          "more from the device than its program uses. slack is how much more, as a fraction of "
          "the\n"
          "peak. one_thread promises that one thread enqueues all work. The arena takes\n"
          "reserve_bytes at once and keeps them.",
          arena_methods) < 0)
    return -1;
  clpool_arena_type = (PyTypeObject *)PyObject_GetAttrString(module, "ArenaAllocator");
  return clpool_arena_type == NULL ? -1 : 0;
}
