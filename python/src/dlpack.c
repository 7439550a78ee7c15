/* SPDX-License-Identifier: MIT */
/* A Memory as an array of bytes for other libraries: DLPack (dmlc.github.io/dlpack, versions 0 and
 * 1) and __cuda_array_interface__ (version 3). */
#include "clpool_module.h"

#include <string.h>

/* --- DLPack's structs, whose layout is the standard's ----------------------------------------- */

enum { DL_CPU = 1, DL_CUDA = 2 };
enum { DL_UINT = 1 };
enum { DL_IS_COPIED = 2 };

typedef struct DLTensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t type_code;
  uint8_t type_bits;
  uint16_t type_lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor tensor;
  void *manager;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor tensor;
} DLManagedTensorVersioned;

/* What one export consists of. A consumer gets the address of one of the two first. */
typedef struct Export {
  DLManagedTensor plain;
  DLManagedTensorVersioned versioned;
  int64_t shape, stride;
  Memory *memory; /* owned, one of its views */
} Export;

/* --- The end of an export --------------------------------------------------------------------- */

/* With or without the interpreter's lock. After the interpreter's end the memory stays taken. */
static void end_export(Export *gone)
{
  if (!Py_IsInitialized())
    return;
  PyGILState_STATE state = PyGILState_Ensure();
  gone->memory->views--;
  Py_DECREF(gone->memory);
  PyMem_Free(gone);
  PyGILState_Release(state);
}

static void end_plain(DLManagedTensor *tensor)
{
  end_export(tensor->manager);
}

static void end_versioned(DLManagedTensorVersioned *tensor)
{
  end_export(tensor->manager);
}

/* A consumer renames a capsule that it has taken the tensor from. */
static void end_capsule(PyObject *capsule)
{
  if (PyCapsule_IsValid(capsule, "dltensor"))
    end_export(((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->manager);
  else if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
    end_export(
        ((DLManagedTensorVersioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned"))->manager);
}

/* --- Making one ------------------------------------------------------------------------------- */

static int device_of(const Memory *memory)
{
  return clpool_root(memory->pool)->allocator->device;
}

static PyObject *make_capsule(Memory *memory, bool versioned, bool is_copy)
{
  Export *made = PyMem_Calloc(1, sizeof(*made));
  if (made == NULL)
    return PyErr_NoMemory();
  bool is_cuda = clpool_is_cuda(memory->pool);
  made->shape = (int64_t)memory->size;
  made->stride = 1;
  made->memory = memory;
  made->plain = (DLManagedTensor){
      .tensor = {.data = (void *)memory->address,
                 .device_type = is_cuda ? DL_CUDA : DL_CPU,
                 .device_id = is_cuda ? device_of(memory) : 0,
                 .ndim = 1,
                 .type_code = DL_UINT,
                 .type_bits = 8,
                 .type_lanes = 1,
                 .shape = &made->shape,
                 .strides = &made->stride},
      .manager = made,
      .deleter = end_plain,
  };
  made->versioned = (DLManagedTensorVersioned){
      .major = 1,
      .manager = made,
      .deleter = end_versioned,
      .flags = is_copy ? DL_IS_COPIED : 0,
      .tensor = made->plain.tensor,
  };
  PyObject *capsule = versioned ? PyCapsule_New(&made->versioned, "dltensor_versioned", end_capsule)
                                : PyCapsule_New(&made->plain, "dltensor", end_capsule);
  if (capsule == NULL) {
    PyMem_Free(made);
    return NULL;
  }
  Py_INCREF(memory);
  memory->views++;
  return capsule;
}

/* A capsule of a copy in memory of the same pool. */
static PyObject *make_copy(Memory *memory, bool versioned)
{
  PyObject *size = PyLong_FromSize_t(memory->size);
  PyObject *copy = size == NULL ? NULL : clpool_pool_allocate((PyObject *)memory->pool, size);
  Py_XDECREF(size);
  if (copy == NULL)
    return NULL;
  Memory *to = (Memory *)copy;
  memcpy((void *)to->address, (const void *)memory->address, memory->size);
  PyObject *capsule = make_capsule(to, versioned, true);
  Py_DECREF(copy);
  return capsule;
}

/* --- Streams ---------------------------------------------------------------------------------- */

/* The stream that the memory is ordered on; NULL with an exception. */
static clp_stream stream_of(const Memory *memory)
{
  PyObject *home = clpool_root(memory->pool)->allocator->queue;
  clp_stream stream = CLP_CUDA_STREAM_LEGACY;
  if (memory->bound != NULL)
    return memory->bound;
  if (memory->pool->stream != NULL)
    return memory->pool->stream;
  if (home != NULL && home != Py_None && clpool_stream_of(home, true, &stream) < 0)
    return NULL;
  return stream;
}

/* Makes the consumer's stream wait for the memory's, and notes its use. A bound buffer makes the
 * stream that it is bound to next wait for the one before, so the two wait for each other. */
static clp_status order(Memory *memory, clp_stream own, clp_stream consumer)
{
  clp_status status = clp_buffer_bind(memory->buffer, own);
  if (status == CLP_SUCCESS)
    status = clp_buffer_record_use(memory->buffer, consumer);
  if (status == CLP_SUCCESS)
    status = clp_buffer_bind(memory->buffer, consumer);
  clp_status back = clp_buffer_bind(memory->buffer, own);
  return status == CLP_SUCCESS ? back : status;
}

/* Prepares for use on a consumer's stream, as DLPack numbers them. */
static int hand_to_stream(Memory *memory, PyObject *object)
{
  long long number = object == Py_None ? 1 : PyLong_AsLongLong(object);
  if (PyErr_Occurred())
    return -1;
  if (number == -1)
    return 0;
  if (number == 2) {
    PyErr_SetString(PyExc_BufferError,
                    "pools cannot order work on the per-thread default stream: use another stream, "
                    "or pass stream=-1 and order the work yourself");
    return -1;
  }
  if (number <= 0) {
    PyErr_Format(
        PyExc_ValueError,
        "stream must be None, -1, 1 for the legacy default stream, or a stream's address, not %lld",
        number);
    return -1;
  }
  clp_stream own = stream_of(memory), consumer = (clp_stream)(uintptr_t)number;
  if (own == NULL || own == consumer)
    return own == NULL ? -1 : 0;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = order(memory, own, consumer);
  Py_END_ALLOW_THREADS
  return clpool_check(status);
}

/* --- The methods ------------------------------------------------------------------------------ */

PyObject *clpool_dlpack_device(PyObject *self, PyObject *unused)
{
  (void)unused;
  Memory *memory = (Memory *)self;
  if (clpool_buffer_or_raise(memory) == NULL)
    return NULL;
  if (clpool_is_cuda(memory->pool))
    return Py_BuildValue("ii", DL_CUDA, device_of(memory));
  if (memory->pool->kind == MEMORY_ADDRESS)
    return PyErr_Format(PyExc_BufferError,
                        "simulated memory has no content, so it cannot be exported");
  return Py_BuildValue("ii", DL_CPU, 0);
}

/* Whether what the consumer wants can be had; -1 with an exception. */
static int check_wishes(PyObject *self, PyObject *stream, PyObject *wanted, bool must_copy)
{
  PyObject *device = clpool_dlpack_device(self, NULL);
  if (device == NULL)
    return -1;
  int same = wanted == Py_None ? 1 : PyObject_RichCompareBool(wanted, device, Py_EQ);
  Py_DECREF(device);
  Pool *pool = ((Memory *)self)->pool;
  bool is_cuda = clpool_is_cuda(pool);
  if (same == 0)
    PyErr_Format(PyExc_BufferError, "the memory cannot be moved to the device %R", wanted);
  else if (same > 0 && must_copy && pool->kind != MEMORY_HOST)
    PyErr_SetString(PyExc_BufferError,
                    "only host memory can be copied here: make an array, and copy that");
  else if (same > 0 && !is_cuda && stream != Py_None)
    PyErr_SetString(PyExc_BufferError, "stream must be None for host memory");
  return PyErr_Occurred() ? -1 : 0;
}

PyObject *clpool_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  Memory *memory = (Memory *)self;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", names, &stream, &version, &device,
                                   &copy))
    return NULL;
  int major = 0, minor, must_copy = PyObject_IsTrue(copy);
  if (version != Py_None && !PyTuple_Check(version))
    return PyErr_Format(PyExc_TypeError,
                        "max_version must be None or a tuple (major, minor), not %R", version);
  if (version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor))
    return NULL;
  if (must_copy < 0)
    return NULL;
  PyObject *capsule = NULL;
  memory->views++; /* other threads and callbacks must not release the memory meanwhile */
  if (check_wishes(self, stream, device, must_copy) == 0 &&
      (!clpool_is_cuda(memory->pool) || hand_to_stream(memory, stream) == 0))
    capsule = must_copy ? make_copy(memory, major >= 1) : make_capsule(memory, major >= 1, false);
  memory->views--;
  return capsule;
}

PyObject *clpool_cuda_array_interface(PyObject *self, void *closure)
{
  (void)closure;
  Memory *memory = (Memory *)self;
  if (!clpool_is_cuda(memory->pool)) {
    PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__: this is not CUDA memory");
    return NULL;
  }
  if (clpool_buffer_or_raise(memory) == NULL)
    return NULL;
  clp_stream stream = stream_of(memory);
  if (stream == NULL)
    return NULL;
  return Py_BuildValue("{sisss(n)s(KO)sN}", "version", 3, "typestr", "|u1", "shape",
                       (Py_ssize_t)memory->size, "data", (unsigned long long)memory->address,
                       Py_False, "stream", PyLong_FromVoidPtr(stream));
}
