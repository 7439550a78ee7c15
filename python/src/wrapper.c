/* SPDX-License-Identifier: MIT */
/* PooledBuffer and PooledSVM: pyopencl.Buffer and pyopencl.SVM objects that own blocks of a pool.
 *
 * pyopencl.Buffer.from_int_ptr makes an object for a cl_mem, which takes longer than all the rest
 * of an allocation. So the object stays with its block: when its last reference goes and the block
 * is held by the pool, the object is parked, and comes out again with the same block. PyOpenCL's
 * class has no room for a field of ours and must not be asked for any, so what belongs to an object
 * is in a record beside it, found by the address of the object, and by that of the block.
 *
 * A PooledSVM is over a Memory, which owns the block, and is parked together with that if the size
 * of the next request is the same.
 *
 * A parked buffer retains its cl_mem. Where blocks go back to the device, clpool_drop_parked ends
 * parked objects: else the memory would not come free. */
#include "clpool_module.h"
#include "pointer_map.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct record {
  PyObject *object;   /* owned while parked, else borrowed */
  clp_buffer *buffer; /* the block; NULL: a part of another buffer */
  clp_memory memory;  /* that the object stands for */
  Pool *pool;         /* owned; NULL while parked */
  PyObject *whole;    /* the buffer that this is a part of, or NULL */
  size_t origin;      /* of a part, in its whole; and its bytes */
  size_t bytes;
  PyObject *holder; /* a PooledSVM's Memory, owned; NULL: a buffer's record */
  PyObject *queue;  /* that a PooledSVM was bound to, None, or NULL: as the pool has it */
  size_t parts;     /* of this one that exist */
  bool is_released; /* the block goes with the last part */
} record;

PyTypeObject *clpool_wrapper_type;

static pointer_map by_object; /* of all records */
static pointer_map by_block;  /* of those with a block, out or parked */
static size_t parked;

/* Whether this process was forked by one that had the extension: what it inherited must not touch
 * the device. */
static bool is_child;

static void *from_int_ptr; /* pyopencl.Buffer.from_int_ptr */

/* --- Records ---------------------------------------------------------------------------------- */

static record *add_record(PyObject *object, clp_buffer *buffer, Pool *pool, PyObject *whole)
{
  record *made = malloc(sizeof(*made));
  if (made == NULL)
    return NULL;
  *made = (record){.object = object, .buffer = buffer, .pool = pool, .whole = whole};
  made->memory = clp_buffer_memory(buffer);
  if (!pointer_map_add(&by_object, object, made)) {
    free(made);
    return NULL;
  }
  if (buffer != NULL && !pointer_map_add(&by_block, buffer, made)) {
    pointer_map_remove(&by_object, object);
    free(made);
    return NULL;
  }
  Py_XINCREF(pool);
  Py_XINCREF(whole);
  return made;
}

/* Ends a record. What it owned is the caller's, who has copied it. */
static void remove_record(record *gone)
{
  pointer_map_remove(&by_object, gone->object);
  if (gone->buffer != NULL)
    pointer_map_remove(&by_block, gone->buffer);
  free(gone);
}

static bool is_parked(const record *one)
{
  return one->buffer != NULL && one->pool == NULL;
}

/* --- The end of an object --------------------------------------------------------------------- */

/* Makes an object PyOpenCL's own again and ends it as such. */
static void end_object(PyObject *object)
{
  PyTypeObject *type = Py_TYPE(object), *base = type->tp_base;
  Py_INCREF(base);
  Py_SET_TYPE(object, base);
  Py_DECREF(type);
  /* pybind11 2.10 leaves this out, and the collector might find the object once more meanwhile. */
  PyObject_GC_UnTrack(object);
  base->tp_dealloc(object);
}

static void end_parked(record *one)
{
  PyObject *object = one->object, *holder = one->holder;
  remove_record(one);
  parked--;
  Py_SET_REFCNT(object, 0);
  end_object(object);
  Py_XDECREF(holder);
}

/* Ends all parked objects; returns how many there were. */
size_t clpool_drop_parked(void)
{
  size_t dropped = 0;
  /* To end one moves others, so each round begins anew, at the place where the last one stopped. */
  for (size_t at = 0; parked > 0 && at <= by_object.mask;) {
    record *one = by_object.slots[at].value;
    if (one == NULL || !is_parked(one)) {
      at++;
      continue;
    }
    end_parked(one);
    dropped++;
  }
  return dropped;
}

static void forget_in_child(void)
{
  is_child = true;
  by_object = by_block = (pointer_map){NULL, 0, 0};
  parked = 0;
}

/* Leaves an object without references as it is for ever. */
static void abandon(PyObject *object)
{
  PyObject_GC_UnTrack(object);
  Py_SET_REFCNT(object, 1);
}

#ifdef Py_GIL_DISABLED
static const bool may_park = false;
#else
static const bool may_park = true;
#endif

/* Forgets what users have set as attributes of an object. */
void clpool_clear_attributes(PyObject *object)
{
  PyTypeObject *type = Py_TYPE(object);
  if (type->tp_dictoffset > 0) {
    Py_CLEAR(*(PyObject **)((char *)object + type->tp_dictoffset));
    return;
  }
  /* Classes of pybind11's, which older PyOpenCLs have, leave the dictionary to the interpreter. */
  if (!PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT))
    return;
  PyObject *attributes = PyObject_GenericGetDict(object, NULL);
  if (attributes == NULL) {
    PyErr_Clear();
    return;
  }
  PyDict_Clear(attributes);
  Py_DECREF(attributes);
}

/* Puts an object without references away, until its block is handed out again. False: the memory
 * of a PooledSVM is used without it. */
static bool park(record *one)
{
  PyObject *object = one->object;
  if (one->holder != NULL && !clpool_memory_park(one->holder))
    return false;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (type->tp_weaklistoffset > 0)
    PyObject_ClearWeakRefs(object);
  Py_SET_REFCNT(object, 1);
  clpool_clear_attributes(object);
  Py_CLEAR(one->queue);
  one->pool = NULL;
  parked++;
  return true;
}

static void unpark(record *one, Pool *pool)
{
  Py_INCREF(pool);
  one->pool = pool;
  parked--;
  PyObject_GC_Track(one->object);
}

/* Ends what a part has of its whole. If that was released, its block goes with the last part. */
static void let_go_of(PyObject *whole)
{
  record *one = pointer_map_get(&by_object, whole);
  one->parts--;
  if (one->is_released && one->parts == 0) {
    Pool *pool = one->pool;
    clp_buffer *buffer = one->buffer;
    remove_record(one);
    clpool_release_or_report(pool, buffer, pool->stream);
    Py_DECREF(pool);
  }
  Py_DECREF(whole);
}

static void end_part(record *one)
{
  PyObject *object = one->object, *whole = one->whole;
  remove_record(one);
  end_object(object);
  let_go_of(whole);
}

static void wrapper_dealloc(PyObject *object)
{
  record *one = pointer_map_get(&by_object, object);
  if (one == NULL) {
    /* Released before; in a child perhaps the parent's. */
    if (is_child)
      abandon(object);
    else
      end_object(object);
    return;
  }
  if (one->whole != NULL) {
    end_part(one);
    return;
  }
  Pool *pool = one->pool;
  clp_buffer *buffer = one->buffer;
  PyObject *holder = one->holder;
  bool has_parked = may_park && clpool_root(pool)->holding && park(one);
  if (!has_parked) {
    PyObject *queue = one->queue;
    if (holder != NULL)
      clpool_memory_set_svm(holder, NULL);
    remove_record(one);
    end_object(object);
    Py_XDECREF(queue);
  }
  if (holder == NULL || has_parked)
    clpool_release_or_report(pool, buffer, pool->stream);
  else
    Py_DECREF(holder);
  Py_DECREF(pool);
}

/* The collector is shown what is beside an object as its own: else a pool whose callback keeps a
 * buffer of the pool's would stay for ever. */
int clpool_traverse_record(PyObject *object, visitproc visit, void *arg)
{
  record *one = pointer_map_get(&by_object, object);
  if (one != NULL) {
    Py_VISIT(one->pool);
    Py_VISIT(one->whole);
    Py_VISIT(one->queue);
  }
  return one == NULL || one->holder == NULL ? 0 : clpool_memory_visit(one->holder, visit, arg);
}

static int wrapper_traverse(PyObject *object, visitproc visit, void *arg)
{
  int result = clpool_traverse_record(object, visit, arg);
  if (result != 0)
    return result;
  return Py_TYPE(object)->tp_base->tp_traverse(object, visit, arg);
}

/* --- The beginning ---------------------------------------------------------------------------- */

/* Makes an object of PyOpenCL's, or NULL, one of a class that is derived from its own. */
static PyObject *taken_over(PyObject *object, PyTypeObject *type)
{
  if (object == NULL)
    return NULL;
  PyTypeObject *plain = Py_TYPE(object);
  Py_INCREF(type);
  Py_SET_TYPE(object, type);
  Py_DECREF(plain);
  return object;
}

static PyObject *new_object(clp_memory memory)
{
  PyObject *object = PyObject_CallFunction(from_int_ptr, "KO", (unsigned long long)memory, Py_True);
  return taken_over(object, clpool_wrapper_type);
}

static PyObject *new_svm(PyObject *memory)
{
  PyTypeObject *type = (PyTypeObject *)clpool_svm_type;
  PyObject *object = PyObject_CallFunctionObjArgs((PyObject *)type->tp_base, memory, NULL);
  if (object != NULL)
    clpool_clear_attributes(object); /* older PyOpenCLs set mem */
  return taken_over(object, type);
}

/* The object for a block, which it owns from now on, on failure too. */
PyObject *clpool_wrap(Pool *pool, clp_buffer *buffer)
{
  record *one = pointer_map_get(&by_block, buffer);
  if (one != NULL && one->holder == NULL && one->memory == clp_buffer_memory(buffer)) {
    unpark(one, pool);
    return one->object;
  }
  if (one != NULL)
    end_parked(one);
  PyObject *object = new_object(clp_buffer_memory(buffer));
  if (object != NULL && add_record(object, buffer, pool, NULL) != NULL)
    return object;
  if (object != NULL) {
    Py_DECREF(object);
    PyErr_NoMemory();
  }
  clpool_release_or_report(pool, buffer, pool->stream);
  return NULL;
}

/* The same for a block of shared virtual memory. */
PyObject *clpool_wrap_svm(Pool *pool, clp_buffer *buffer)
{
  record *one = pointer_map_get(&by_block, buffer);
  if (one != NULL && one->holder != NULL &&
      clpool_memory_unpark(one->holder, one->object, pool, buffer)) {
    unpark(one, pool);
    return one->object;
  }
  if (one != NULL)
    end_parked(one);
  PyObject *holder = clpool_memory_new(pool, buffer);
  PyObject *object = holder == NULL ? NULL : new_svm(holder);
  one = object == NULL ? NULL : add_record(object, buffer, pool, NULL);
  if (one != NULL) {
    one->holder = holder;
    clpool_memory_set_svm(holder, object);
    return object;
  }
  if (object != NULL) {
    Py_DECREF(object);
    PyErr_NoMemory();
  }
  Py_XDECREF(holder);
  return NULL;
}

/* Makes `part`, a pyopencl.Buffer of a cl_mem that is so many bytes of `whole`, keep that. */
int clpool_keep_alive(PyObject *part, PyObject *whole, size_t origin, size_t bytes)
{
  taken_over(part, clpool_wrapper_type);
  record *one = add_record(part, NULL, NULL, whole);
  if (one != NULL) {
    one->origin = origin;
    one->bytes = bytes;
    ((record *)pointer_map_get(&by_object, whole))->parts++;
    return 0;
  }
  PyErr_NoMemory();
  return -1;
}

/* --- For the methods -------------------------------------------------------------------------- */

/* An object's block and, unless that is NULL, its pool, borrowed. NULL with an exception: it was
 * released, or is a part of another. */
clp_buffer *clpool_buffer_of(PyObject *object, Pool **pool)
{
  record *one = pointer_map_get(&by_object, object);
  if (one == NULL || one->is_released || one->buffer == NULL) {
    if (one == NULL || one->is_released)
      clp_set_last_error(CLP_ALREADY_RELEASED, CL_INVALID_MEM_OBJECT, "the buffer was released");
    else
      clp_set_last_error(CLP_INVALID_ARGUMENT, CL_INVALID_MEM_OBJECT,
                         "this is a part of a pool's buffer: release the whole buffer");
    clpool_raise();
    return NULL;
  }
  if (pool != NULL)
    *pool = one->pool;
  return one->buffer;
}

/* Which bytes of which whole an object is; `whole` and the block are borrowed. NULL with an
 * exception: it was released. */
clp_buffer *clpool_region_of(PyObject *object, PyObject **whole, size_t *origin, size_t *bytes)
{
  record *one = pointer_map_get(&by_object, object);
  bool is_part = one != NULL && one->whole != NULL;
  *whole = is_part ? one->whole : object;
  clp_buffer *buffer = NULL;
  if (is_part) /* its whole may have been released, and still have the block */
    buffer = ((record *)pointer_map_get(&by_object, *whole))->buffer;
  else
    buffer = clpool_buffer_of(object, NULL);
  if (buffer == NULL)
    return NULL;
  *origin = is_part ? one->origin : 0;
  *bytes = is_part ? one->bytes : clp_buffer_size(buffer);
  return buffer;
}

/* Gives the block back before the object ends, or after its last part. False: it is still the
 * object's. An exception may be set either way, by a callback. */
bool clpool_release_wrapped(PyObject *object)
{
  record *one = pointer_map_get(&by_object, object);
  if (one != NULL && one->whole != NULL) {
    PyObject *whole = one->whole;
    remove_record(one);
    let_go_of(whole);
    return true;
  }
  Pool *pool;
  clp_buffer *buffer = clpool_buffer_of(object, &pool);
  if (buffer == NULL)
    return false;
  if (one->parts > 0) {
    one->is_released = true;
    return true;
  }
  remove_record(one);
  clp_status status = clpool_release_block(pool, buffer, pool->stream);
  bool is_gone = status == CLP_SUCCESS || status == CLP_ALREADY_RELEASED;
  if (!is_gone)
    (void)add_record(object, buffer, pool, NULL);
  clpool_check(status);
  Py_DECREF(pool);
  return is_gone;
}

/* --- Of PooledSVM ----------------------------------------------------------------------------- */

/* While a release is under way, which may fail, the block may be another owner's: NULL. */
void clpool_svm_set_block(PyObject *svm, clp_buffer *buffer)
{
  record *one = pointer_map_get(&by_object, svm);
  if (one == NULL) /* in a child */
    return;
  if (one->buffer != NULL)
    pointer_map_remove(&by_block, one->buffer);
  one->buffer = buffer != NULL && pointer_map_add(&by_block, buffer, one) ? buffer : NULL;
}

/* The memory of a PooledSVM was released. */
void clpool_svm_released(PyObject *svm)
{
  record *one = pointer_map_get(&by_object, svm);
  if (one == NULL)
    return;
  record gone = *one;
  remove_record(one);
  clpool_memory_set_svm(gone.holder, NULL);
  clpool_make_released(svm);
  Py_XDECREF(gone.queue);
  Py_DECREF(gone.pool);
  Py_DECREF(gone.holder);
}

static record *svm_record(PyObject *svm)
{
  record *one = pointer_map_get(&by_object, svm);
  if (one == NULL) {
    clp_set_last_error(CLP_ALREADY_RELEASED, CL_INVALID_MEM_OBJECT, "the memory was released");
    clpool_raise();
  }
  return one;
}

static PyObject *svm_mem(PyObject *svm, void *closure)
{
  (void)closure;
  record *one = svm_record(svm);
  if (one == NULL)
    return NULL;
  Py_INCREF(one->holder);
  return one->holder;
}

static PyObject *svm_release(PyObject *svm, PyObject *unused)
{
  (void)unused;
  PyObject *memory = svm_mem(svm, NULL);
  if (memory == NULL)
    return NULL;
  PyObject *none = clpool_memory_release(memory, Py_None);
  Py_DECREF(memory);
  return none;
}

static PyObject *svm_queue(PyObject *svm, void *closure)
{
  (void)closure;
  record *one = svm_record(svm);
  if (one == NULL)
    return NULL;
  PyObject *queue = one->queue;
  if (queue == NULL)
    queue = one->pool->queue;
  if (queue == NULL)
    queue = clpool_root(one->pool)->allocator->queue;
  if (queue == NULL)
    queue = Py_None;
  Py_INCREF(queue);
  return queue;
}

static int svm_set_queue(PyObject *svm, PyObject *queue, void *closure)
{
  (void)closure;
  record *one = svm_record(svm);
  if (one == NULL)
    return -1;
  Py_XINCREF(queue);
  Py_XSETREF(one->queue, queue);
  return 0;
}

static PyMethodDef svm_methods[] = {
    {"release", svm_release, METH_NOARGS,
     "release($self, /)\n--\n\n"
     "Releases the memory to the pool. A second release raises clpool.LogicError."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef svm_properties[] = {
    {"mem", svm_mem, NULL, "The clpool.Memory that it contains.", NULL},
    {"_queue", svm_queue, svm_set_queue, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- The classes ------------------------------------------------------------------------------ */

/* Takes over a class derived from one of PyOpenCL's, whose objects become its own at their end. */
static int take_over(PyTypeObject *type)
{
  if (type->tp_basicsize != type->tp_base->tp_basicsize || type->tp_base->tp_traverse == NULL) {
    PyErr_Format(PyExc_ImportError, "clpool cannot extend the %.50s of this version of pyopencl",
                 type->tp_base->tp_name);
    return -1;
  }
  type->tp_dealloc = wrapper_dealloc;
  type->tp_traverse = wrapper_traverse;
  return 0;
}

/* A class without room of its own, which PyOpenCL's objects can become. Its metaclass makes it, and
 * sets up what it keeps about classes. */
static int make_wrapper_type(void)
{
  PyObject *type = PyObject_CallFunction(
      (PyObject *)Py_TYPE(clpool_buffer_type), "s(O){s(),ss,ss}", "PooledBuffer",
      clpool_buffer_type, "__slots__", "__module__", "clpool", "__doc__",
      "A pyopencl.Buffer with memory from a pool. The last reference releases it.");
  clpool_wrapper_type = (PyTypeObject *)type;
  from_int_ptr = PyObject_GetAttrString(clpool_buffer_type, "from_int_ptr");
  if (type == NULL || from_int_ptr == NULL || take_over(clpool_wrapper_type) < 0)
    return -1;
  return clpool_add_buffer_methods(clpool_wrapper_type);
}

int clpool_make_wrapper_types(void)
{
  if (make_wrapper_type() < 0)
    return -1;
  PyTypeObject *svm = (PyTypeObject *)clpool_svm_type;
  if (svm != NULL && (take_over(svm) < 0 || clpool_add_methods(svm, svm_methods) < 0 ||
                      clpool_add_properties(svm, svm_properties) < 0))
    return -1;
  if (pthread_atfork(NULL, NULL, forget_in_child) != 0) {
    PyErr_SetString(PyExc_ImportError, "pthread_atfork failed");
    return -1;
  }
  return 0;
}
