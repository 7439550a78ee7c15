/* SPDX-License-Identifier: MIT */
/* clpool.Memory: a block as an address, for shared virtual memory, the host's, and CUDA's. */
#include "clpool_module.h"

#include <structmember.h>

static PyTypeObject *memory_type;

/* A Memory for a block, which it owns from now on, on failure too. */
PyObject *clpool_memory_new(Pool *pool, clp_buffer *buffer)
{
  Memory *self = PyObject_GC_New(Memory, memory_type);
  if (self == NULL) {
    clpool_release_or_report(pool, buffer, pool->stream);
    return NULL;
  }
  self->buffer = buffer;
  self->address = clp_buffer_memory(buffer);
  self->size = clp_buffer_size(buffer);
  Py_INCREF(pool);
  self->pool = pool;
  self->views = 0;
  self->svm = NULL;
  self->references = 0;
  self->bound = NULL;
  PyObject_GC_Track((PyObject *)self);
  return (PyObject *)self;
}

/* --- Within a PooledSVM ----------------------------------------------------------------------- */

/* Sets the PooledSVM of a memory, whose view does not forbid a release, when nobody else has the
 * memory yet; NULL: it has ended. */
void clpool_memory_set_svm(PyObject *memory, PyObject *svm)
{
  Memory *me = (Memory *)memory;
  me->svm = svm;
  if (svm != NULL)
    me->references = Py_REFCNT(memory);
}

/* Shows the collector all references that the PooledSVM has, most of them inside of PyOpenCL. */
int clpool_memory_visit(PyObject *memory, visitproc visit, void *arg)
{
  for (Py_ssize_t i = ((Memory *)memory)->references; i-- > 0;)
    Py_VISIT(memory);
  return 0;
}

/* Whether nothing but its PooledSVM uses a memory. Then the block is the caller's, until
 * clpool_memory_unpark. */
bool clpool_memory_park(PyObject *memory)
{
  Memory *me = (Memory *)memory;
  if (me->buffer == NULL || me->views != 1 || Py_REFCNT(memory) != me->references)
    return false;
  me->buffer = NULL;
  me->svm = NULL;
  Py_CLEAR(me->pool);
  PyObject_GC_UnTrack(memory);
  return true;
}

/* Makes a parked memory that of a block, of which nothing differs from the one that it was for.
 * False: it is not so. */
bool clpool_memory_unpark(PyObject *memory, PyObject *svm, Pool *pool, clp_buffer *buffer)
{
  Memory *me = (Memory *)memory;
  if (me->address != clp_buffer_memory(buffer) || me->size != clp_buffer_size(buffer))
    return false;
  me->buffer = buffer;
  me->svm = svm;
  me->bound = NULL;
  Py_INCREF(pool);
  me->pool = pool;
  PyObject_GC_Track(memory);
  return true;
}

/* --- The type --------------------------------------------------------------------------------- */

static int memory_traverse(PyObject *self, visitproc visit, void *arg)
{
  Py_VISIT(((Memory *)self)->pool);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

/* Before a cycle that the memory is in is cleared: the functions that free it are whole still. */
static void memory_finalize(PyObject *self)
{
  Memory *me = (Memory *)self;
  clp_buffer *buffer = me->buffer;
  if (buffer == NULL || me->views > 0 || !clpool_calls_back(clpool_root(me->pool)->allocator))
    return;
  me->buffer = NULL;
  clpool_release_or_report(me->pool, buffer, me->pool->stream);
}

static void memory_dealloc(PyObject *self)
{
  Memory *me = (Memory *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (me->buffer != NULL)
    clpool_release_or_report(me->pool, me->buffer, me->pool->stream);
  Py_XDECREF(me->pool);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

clp_buffer *clpool_buffer_or_raise(Memory *self)
{
  if (self->buffer == NULL) {
    clp_set_last_error(CLP_ALREADY_RELEASED, 0, "the memory was released");
    clpool_raise();
  }
  return self->buffer;
}

static PyObject *memory_record_use(PyObject *self, PyObject *queue)
{
  Memory *me = (Memory *)self;
  return clpool_record_use(clpool_buffer_or_raise(me), me->pool, queue);
}

/* Gives the memory back on a queue, or Py_None. */
PyObject *clpool_memory_release(PyObject *self, PyObject *queue)
{
  Memory *me = (Memory *)self;
  void *stream = me->pool->stream;
  if (queue != Py_None && clpool_stream_of(queue, clpool_is_cuda(me->pool), &stream) < 0)
    return NULL;
  clp_buffer *buffer = clpool_buffer_or_raise(me);
  if (buffer == NULL)
    return NULL;
  Py_ssize_t views = me->views - (me->svm != NULL);
  if (views > 0)
    return PyErr_Format(PyExc_BufferError,
                        "the memory cannot be released while %zd views of it exist, such as arrays",
                        views);
  me->buffer = NULL; /* for other threads meanwhile */
  if (me->svm != NULL)
    clpool_svm_set_block(me->svm, NULL);
  clp_status status = clpool_release_block(me->pool, buffer, stream);
  bool is_gone = status == CLP_SUCCESS || status == CLP_ALREADY_RELEASED;
  if (!is_gone)
    me->buffer = buffer;
  if (me->svm != NULL && is_gone)
    clpool_svm_released(me->svm);
  else if (me->svm != NULL)
    clpool_svm_set_block(me->svm, buffer);
  return clpool_none_or_raise(status);
}

static PyObject *memory_release(PyObject *self, PyObject *args)
{
  PyObject *queue = Py_None;
  return PyArg_ParseTuple(args, "|O", &queue) ? clpool_memory_release(self, queue) : NULL;
}

static PyObject *memory_bind(PyObject *self, PyObject *queue)
{
  Memory *me = (Memory *)self;
  PyObject *none = clpool_bind(clpool_buffer_or_raise(me), me->pool, queue);
  if (none != NULL)
    (void)clpool_stream_of(queue, clpool_is_cuda(me->pool), &me->bound);
  return none;
}

static PyObject *memory_unbind(PyObject *self, PyObject *unused)
{
  (void)unused;
  PyObject *none = clpool_unbind(clpool_buffer_or_raise((Memory *)self));
  if (none != NULL)
    ((Memory *)self)->bound = NULL;
  return none;
}

static int memory_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
  Memory *me = (Memory *)self;
  view->obj = NULL;
  if (me->pool->kind == MEMORY_ADDRESS) {
    PyErr_SetString(PyExc_BufferError, "the host cannot reach this memory");
    return -1;
  }
  if (clpool_buffer_or_raise(me) == NULL)
    return -1;
  if (PyBuffer_FillInfo(view, self, (void *)me->address, (Py_ssize_t)me->size, 0, flags) < 0)
    return -1;
  me->views++;
  return 0;
}

static void memory_release_buffer(PyObject *self, Py_buffer *view)
{
  (void)view;
  ((Memory *)self)->views--;
}

static PyObject *memory_ptr(PyObject *self, void *closure)
{
  (void)closure;
  if (clpool_buffer_or_raise((Memory *)self) == NULL)
    return NULL;
  return PyLong_FromVoidPtr((void *)((Memory *)self)->address);
}

static PyMethodDef memory_methods[] = {
    {"release", memory_release, METH_VARARGS,
     "release($self, queue=None, /)\n--\n\n"
     "Releases the memory to the pool, after the work of a queue or stream if one is given.\n"
     "A second release raises clpool.LogicError. While views of the memory exist, such as those\n"
     "of numpy.frombuffer, it raises BufferError."},
    {"record_use", memory_record_use, METH_O,
     "record_use($self, queue, /)\n--\n\n"
     "Records that another queue or stream also uses the memory."},
    {"bind_to_queue", memory_bind, METH_O,
     "bind_to_queue($self, queue, /)\n--\n\n"
     "Binds the memory to a queue, on which it is then used and released."},
    {"unbind_from_queue", memory_unbind, METH_NOARGS,
     "unbind_from_queue($self, /)\n--\n\n"
     "Waits for the queue that the memory is bound to, and unbinds the memory."},
    {"__dlpack__", (PyCFunction)(void (*)(void))clpool_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Returns the memory as an array of bytes (uint8), for from_dlpack of numpy, CuPy and\n"
     "PyTorch. release() raises BufferError while such an array exists. For CUDA memory, `stream`\n"
     "is the consumer's: it waits for the memory's stream, and is recorded as by record_use. None\n"
     "or 1 means the legacy default stream; -1 orders nothing. copy=True works for host memory.\n"
     "Raises BufferError for what is not possible."},
    {"__dlpack_device__", clpool_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n"
     "Returns the device of DLPack: (2, ordinal) for CUDA memory, (1, 0) for host memory and\n"
     "SVM."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef memory_properties[] = {
    {"ptr", memory_ptr, NULL, "The address, an int.", NULL},
    {"__cuda_array_interface__", clpool_cuda_array_interface, NULL,
     "CUDA memory as an array of bytes, ordered on its stream (version 3). Other memory lacks\n"
     "the attribute. Call record_use for a consumer on another stream.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef memory_members[] = {
    {"size", T_PYSSIZET, offsetof(Memory, size), READONLY, "Bytes as requested."},
    {"pool", T_OBJECT_EX, offsetof(Memory, pool), READONLY, "The pool that the memory is from."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_doc, "An address of memory from a pool. The last reference releases it."},
    {Py_tp_dealloc, memory_dealloc},
    {Py_tp_traverse, memory_traverse},
    {Py_tp_finalize, memory_finalize},
    {Py_tp_methods, memory_methods},
    {Py_tp_getset, memory_properties},
    {Py_tp_members, memory_members},
    {Py_bf_getbuffer, memory_get_buffer},
    {Py_bf_releasebuffer, memory_release_buffer},
    {0, NULL},
};

static PyType_Spec memory_spec = {"clpool.Memory", sizeof(Memory), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, memory_slots};

int clpool_add_memory(PyObject *module)
{
  if (clpool_add_type(module, &memory_spec, NULL, &memory_type) < 0)
    return -1;
  memory_type->tp_new = NULL;
  return 0;
}
