/* SPDX-License-Identifier: MIT */
/* clpool.CudaMemPool: a memory pool of CUDA's driver. */
#include "clpool_module.h"

#include <clpool/cuda_mempool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef struct CudaMemPool {
  PyObject ob_base;
  clp_cuda_mempool handle;
  pid_t owner; /* the process that destroys it with this object; 0: it is borrowed */
} CudaMemPool;

static PyTypeObject *mempool_type;

static clp_cuda_mempool handle_of(PyObject *self)
{
  return ((CudaMemPool *)self)->handle;
}

/* An object for a handle, which it owns or borrows. */
static PyObject *wrap(clp_status status, clp_cuda_mempool handle, bool is_owned)
{
  if (clpool_check(status) < 0)
    return NULL;
  CudaMemPool *self = PyObject_New(CudaMemPool, mempool_type);
  if (self == NULL) {
    if (is_owned)
      clp_cuda_mempool_destroy(handle);
    return NULL;
  }
  self->handle = handle;
  self->owner = is_owned ? getpid() : 0;
  return (PyObject *)self;
}

/* The memory pool that an object is: a CudaMemPool, or a handle as an int. */
int clpool_mempool_of(PyObject *object, void *out)
{
  if (PyObject_TypeCheck(object, mempool_type)) {
    *(clp_cuda_mempool *)out = handle_of(object);
    return 0;
  }
  bool is_handle = PyLong_Check(object) && !PyBool_Check(object);
  size_t handle = 0;
  if (is_handle && clpool_size_of(object, &handle) < 0)
    return -1;
  if (handle == 0)
    PyErr_Format(PyExc_TypeError,
                 "mempool must be a clpool.CudaMemPool, a handle (int, not 0), 'default' or "
                 "'current', not %R",
                 object);
  *(clp_cuda_mempool *)out = (clp_cuda_mempool)handle;
  return handle == 0 ? -1 : 0;
}

/* --- Making ----------------------------------------------------------------------------------- */

static PyObject *mempool_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
  (void)type;
  static char *names[] = {"device", "numa_node", "max_bytes", "handle_types", NULL};
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  PyObject *node = Py_None;
  int handle_types = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i$OO&i", names, &options.device, &node,
                                   clpool_parse_size, &options.max_bytes, &handle_types) ||
      (node != Py_None && !PyArg_Parse(node, "i", &options.numa_node)))
    return NULL;
  if (node != Py_None)
    options.location = CLP_CUDA_ON_HOST_NUMA;
  options.handle_types = (unsigned)handle_types;
  clp_cuda_mempool handle;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_mempool_create(&options, &handle);
  Py_END_ALLOW_THREADS
  return wrap(status, handle, true);
}

static void mempool_dealloc(PyObject *self)
{
  PyTypeObject *type = Py_TYPE(self);
  clp_status status = CLP_SUCCESS;
  if (((CudaMemPool *)self)->owner == getpid()) {
    Py_BEGIN_ALLOW_THREADS
    status = clp_cuda_mempool_destroy(handle_of(self));
    Py_END_ALLOW_THREADS
  }
  if (status != CLP_SUCCESS) {
    PyObject *error, *value, *traceback;
    PyErr_Fetch(&error, &value, &traceback);
    clpool_raise();
    PyErr_WriteUnraisable(NULL);
    PyErr_Restore(error, value, traceback);
  }
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *of_device(PyObject *args, PyObject *keywords,
                           clp_status (*get)(int device, clp_cuda_mempool *))
{
  static char *names[] = {"device", NULL};
  int device = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", names, &device))
    return NULL;
  clp_cuda_mempool handle;
  clp_status status = get(device, &handle);
  return wrap(status, handle, false);
}

static PyObject *get_default(PyObject *none, PyObject *args, PyObject *keywords)
{
  (void)none;
  return of_device(args, keywords, clp_cuda_mempool_default);
}

static PyObject *get_current(PyObject *none, PyObject *args, PyObject *keywords)
{
  (void)none;
  return of_device(args, keywords, clp_cuda_mempool_current);
}

static PyObject *from_handle(PyObject *none, PyObject *number)
{
  (void)none;
  clp_cuda_mempool handle;
  if (clpool_mempool_of(number, &handle) < 0)
    return NULL;
  return wrap(CLP_SUCCESS, handle, false);
}

static PyObject *import_fd(PyObject *none, PyObject *number)
{
  (void)none;
  int fd = PyObject_AsFileDescriptor(number);
  if (fd < 0)
    return NULL;
  clp_cuda_mempool handle;
  clp_status status = clp_cuda_mempool_import_fd(fd, &handle);
  return wrap(status, handle, true);
}

/* The bytes that another process exported: so many, else an exception. */
static int copy_bytes(PyObject *object, const char *method, void *out, size_t size)
{
  char *bytes;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(object, &bytes, &length) < 0)
    return -1;
  if ((size_t)length != size) {
    PyErr_Format(PyExc_ValueError, "%s expected the %zu bytes of an export, not %zd", method, size,
                 length);
    return -1;
  }
  memcpy(out, bytes, size);
  return 0;
}

static PyObject *import_fabric(PyObject *none, PyObject *object)
{
  (void)none;
  clp_cuda_fabric_handle shared;
  if (copy_bytes(object, "import_fabric", shared.bytes, sizeof(shared.bytes)) < 0)
    return NULL;
  clp_cuda_mempool handle;
  clp_status status = clp_cuda_mempool_import_fabric(&shared, &handle);
  return wrap(status, handle, true);
}

/* --- Using ------------------------------------------------------------------------------------ */

static PyObject *set_current(PyObject *self, PyObject *args, PyObject *keywords)
{
  static char *names[] = {"device", NULL};
  int device = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i", names, &device))
    return NULL;
  return clpool_none_or_raise(clp_cuda_mempool_set_current(device, handle_of(self)));
}

static PyObject *trim_to(PyObject *self, PyObject *size)
{
  size_t bytes;
  if (clpool_size_of(size, &bytes) < 0)
    return NULL;
  clp_status status;
  Py_BEGIN_ALLOW_THREADS
  status = clp_cuda_mempool_trim_to(handle_of(self), bytes);
  Py_END_ALLOW_THREADS
  return clpool_none_or_raise(status);
}

static PyObject *reset_peaks(PyObject *self, PyObject *unused)
{
  (void)unused;
  return clpool_none_or_raise(clp_cuda_mempool_reset_peaks(handle_of(self)));
}

static const struct {
  const char *name;
  clp_cuda_access access;
} accesses[] = {
    {"", CLP_CUDA_ACCESS_NONE}, {"r", CLP_CUDA_ACCESS_READ}, {"rw", CLP_CUDA_ACCESS_READ_WRITE}};

static PyObject *get_access(PyObject *self, PyObject *args)
{
  int device;
  clp_cuda_access access;
  if (!PyArg_ParseTuple(args, "i", &device) ||
      clpool_check(clp_cuda_mempool_get_access(handle_of(self), device, &access)) < 0)
    return NULL;
  size_t i = 0;
  while (accesses[i].access != access && i + 1 < Py_ARRAY_LENGTH(accesses))
    i++;
  return PyUnicode_FromString(accesses[i].name);
}

static PyObject *set_access(PyObject *self, PyObject *args)
{
  int device;
  const char *name;
  if (!PyArg_ParseTuple(args, "is", &device, &name))
    return NULL;
  for (size_t i = 0; i < Py_ARRAY_LENGTH(accesses); i++)
    if (strcmp(name, accesses[i].name) == 0)
      return clpool_none_or_raise(
          clp_cuda_mempool_set_access(handle_of(self), device, accesses[i].access));
  return PyErr_Format(PyExc_ValueError, "access must be '', 'r' or 'rw', not '%.50s'", name);
}

static PyObject *export_fd(PyObject *self, PyObject *unused)
{
  (void)unused;
  int fd;
  if (clpool_check(clp_cuda_mempool_export_fd(handle_of(self), &fd)) < 0)
    return NULL;
  return PyLong_FromLong(fd);
}

static PyObject *export_fabric(PyObject *self, PyObject *unused)
{
  (void)unused;
  clp_cuda_fabric_handle shared;
  if (clpool_check(clp_cuda_mempool_export_fabric(handle_of(self), &shared)) < 0)
    return NULL;
  return PyBytes_FromStringAndSize((const char *)shared.bytes, sizeof(shared.bytes));
}

static PyObject *export_pointer(PyObject *none, PyObject *args)
{
  (void)none;
  unsigned long long pointer;
  clp_cuda_shared_pointer shared;
  if (!PyArg_ParseTuple(args, "K", &pointer) ||
      clpool_check(clp_cuda_pointer_export(pointer, &shared)) < 0)
    return NULL;
  return PyBytes_FromStringAndSize((const char *)shared.bytes, sizeof(shared.bytes));
}

static PyObject *import_pointer(PyObject *self, PyObject *object)
{
  clp_cuda_shared_pointer shared;
  unsigned long long pointer;
  if (copy_bytes(object, "import_pointer", shared.bytes, sizeof(shared.bytes)) < 0 ||
      clpool_check(clp_cuda_pointer_import(handle_of(self), &shared, &pointer)) < 0)
    return NULL;
  return PyLong_FromUnsignedLongLong(pointer);
}

static PyObject *free_pointer(PyObject *none, PyObject *args, PyObject *keywords)
{
  (void)none;
  static char *names[] = {"pointer", "stream", NULL};
  unsigned long long pointer;
  void *stream = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "K|O&", names, &pointer, clpool_parse_stream,
                                   &stream))
    return NULL;
  return clpool_none_or_raise(clp_cuda_pointer_free(pointer, stream));
}

/* --- Attributes ------------------------------------------------------------------------------- */

static PyObject *get_handle(PyObject *self, void *closure)
{
  (void)closure;
  return PyLong_FromVoidPtr(handle_of(self));
}

static PyObject *get_threshold(PyObject *self, void *closure)
{
  (void)closure;
  uint64_t bytes;
  if (clpool_check(clp_cuda_mempool_get_release_threshold(handle_of(self), &bytes)) < 0)
    return NULL;
  return PyLong_FromUnsignedLongLong(bytes);
}

/* For the setters: a property that cannot be deleted. */
static int refuse_deletion(PyObject *value)
{
  if (value == NULL)
    PyErr_SetString(PyExc_TypeError, "an attribute of a memory pool cannot be deleted");
  return value == NULL ? -1 : 0;
}

static int set_threshold(PyObject *self, PyObject *value, void *closure)
{
  (void)closure;
  size_t bytes;
  if (refuse_deletion(value) < 0 || clpool_size_of(value, &bytes) < 0)
    return -1;
  return clpool_check(clp_cuda_mempool_set_release_threshold(handle_of(self), bytes));
}

static PyObject *get_reuse(PyObject *self, void *flag)
{
  unsigned flags;
  if (clpool_check(clp_cuda_mempool_get_reuse(handle_of(self), &flags)) < 0)
    return NULL;
  return PyBool_FromLong((flags & (uintptr_t)flag) != 0);
}

static int set_reuse(PyObject *self, PyObject *value, void *flag)
{
  unsigned flags, one = (unsigned)(uintptr_t)flag;
  if (refuse_deletion(value) < 0)
    return -1;
  int wanted = PyObject_IsTrue(value);
  if (wanted < 0 || clpool_check(clp_cuda_mempool_get_reuse(handle_of(self), &flags)) < 0)
    return -1;
  return clpool_check(
      clp_cuda_mempool_set_reuse(handle_of(self), wanted ? flags | one : flags & ~one));
}

/* One figure; `field` is its place in clp_cuda_mempool_usage. */
static PyObject *get_figure(PyObject *self, void *field)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (clpool_check(clp_cuda_mempool_get_usage(handle_of(self), &usage)) < 0)
    return NULL;
  return PyLong_FromUnsignedLongLong(*(const uint64_t *)((const char *)&usage + (size_t)field));
}

/* --- The type --------------------------------------------------------------------------------- */

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"default", WITH_KEYWORDS(get_default) | METH_STATIC,
     "default(device=0)\n--\n\n"
     "Returns the default pool of a device (cudaDeviceGetDefaultMemPool). Raises\n"
     "clpool.NotSupported if the device does not support memory pools."},
    {"current", WITH_KEYWORDS(get_current) | METH_STATIC,
     "current(device=0)\n--\n\n"
     "Returns the pool that cudaMallocAsync takes memory from (cudaDeviceGetMemPool). Raises\n"
     "clpool.NotSupported if the device does not support memory pools."},
    {"from_handle", from_handle, METH_O | METH_STATIC,
     "from_handle(handle, /)\n--\n\n"
     "Returns the pool of a cudaMemPool_t, an int. The pool stays its owner's. It must exist:\n"
     "the driver may crash on another number."},
    {"import_fd", import_fd, METH_O | METH_STATIC,
     "import_fd(fd, /)\n--\n\n"
     "Returns the pool behind a descriptor that another process exported. You may close the\n"
     "descriptor afterwards. Raises clpool.LogicError if it is not a descriptor of a pool."},
    {"import_fabric", import_fabric, METH_O | METH_STATIC,
     "import_fabric(handle, /)\n--\n\n"
     "Returns the pool that export_fabric exported as these bytes. Raises clpool.NotSupported\n"
     "without a fabric."},
    {"set_current", WITH_KEYWORDS(set_current),
     "set_current($self, device=0)\n--\n\n"
     "Makes this the pool of cudaMallocAsync on its device, for the whole process\n"
     "(cudaDeviceSetMemPool). When this object ends, the device gets its default pool again.\n"
     "Raises clpool.LogicError if the pool is in other memory, or imported."},
    {"trim_to", trim_to, METH_O,
     "trim_to($self, size, /)\n--\n\n"
     "Gives unused memory to the device until `size` bytes are reserved (cudaMemPoolTrimTo).\n"
     "Freed memory counts as unused once the host has synchronized with its stream."},
    {"reset_peaks", reset_peaks, METH_NOARGS,
     "reset_peaks($self, /)\n--\n\n"
     "Sets both peaks to what is reserved and used now, for all users of the pool. Raises\n"
     "clpool.NotSupported if the driver is older than CUDA 11.3."},
    {"get_access", get_access, METH_VARARGS,
     "get_access($self, device, /)\n--\n\n"
     "Returns what a device may do with the pool's memory: 'rw' read and write, 'r' read, ''\n"
     "nothing."},
    {"set_access", set_access, METH_VARARGS,
     "set_access($self, device, access, /)\n--\n\n"
     "Sets what a device may do with all of the pool's memory (cudaMemPoolSetAccess): 'rw', 'r'\n"
     "or ''. Raises clpool.NotSupported if the device cannot reach the memory, or if it owns the\n"
     "memory and would lose access."},
    {"export_fd", export_fd, METH_NOARGS,
     "export_fd($self, /)\n--\n\n"
     "Returns a file descriptor of the pool for other processes, which you send (SCM_RIGHTS)\n"
     "and close. Raises clpool.LogicError if the pool was made without POSIX_FD in\n"
     "handle_types."},
    {"export_fabric", export_fabric, METH_NOARGS,
     "export_fabric($self, /)\n--\n\n"
     "Returns a handle of the pool for other processes and machines, 64 bytes. Raises\n"
     "clpool.NotSupported without a fabric."},
    {"export_pointer", export_pointer, METH_VARARGS | METH_STATIC,
     "export_pointer(pointer, /)\n--\n\n"
     "Returns 64 bytes that give memory of an exported pool to a process that imported the\n"
     "pool. Free the memory when the importers are done with it. Raises clpool.LogicError for\n"
     "other memory."},
    {"import_pointer", import_pointer, METH_O,
     "import_pointer($self, shared, /)\n--\n\n"
     "Returns the address of memory that another process exported. Release it with\n"
     "free_pointer. Raises clpool.LogicError if the memory does not belong to this imported\n"
     "pool."},
    {"free_pointer", WITH_KEYWORDS(free_pointer) | METH_STATIC,
     "free_pointer(pointer, stream=None)\n--\n\n"
     "Releases imported memory after the work of a stream of CuPy or PyTorch (None: the legacy\n"
     "default stream). Raises clpool.LogicError for other memory."},
    {NULL, NULL, 0, NULL},
};

#define REUSE(name, flag, documentation)                                                           \
  {                                                                                                \
    name, get_reuse, set_reuse, documentation, (void *)(uintptr_t)flag                             \
  }
#define FIGURE(name, documentation)                                                                \
  {                                                                                                \
#name, get_figure, NULL, documentation " Needs CUDA 11.3.",                                    \
        (void *)offsetof(clp_cuda_mempool_usage, name)                                             \
  }

static PyGetSetDef properties[] = {
    {"handle", get_handle, NULL, "The driver's handle (cudaMemPool_t), an int.", NULL},
    {"release_threshold", get_threshold, set_threshold,
     "Bytes that a synchronization keeps instead of giving them to the device. Initially 0;\n"
     "2**64 - 1 keeps all.",
     NULL},
    REUSE("reuse_follow_event_dependencies", CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES,
          "Whether another stream may reuse memory if events make it wait for the free."),
    REUSE("reuse_allow_opportunistic", CLP_CUDA_REUSE_OPPORTUNISTIC,
          "Whether another stream may reuse memory once the free has completed."),
    REUSE("reuse_allow_internal_dependencies", CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES,
          "Whether the driver may make another stream wait for the free in order to reuse memory."),
    FIGURE(reserved_bytes, "Bytes taken from the device."),
    FIGURE(peak_reserved_bytes, "Their peak since the pool was made or since reset_peaks."),
    FIGURE(used_bytes, "Bytes in use by all users in this process, as the driver rounds them."),
    FIGURE(peak_used_bytes, "Their peak since the pool was made or since reset_peaks."),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "CudaMemPool(device=0, *, numa_node=None, max_bytes=0, handle_types=0)\n--\n\n"
     "Makes a memory pool of the CUDA driver (cudaMemPoolCreate), in a device's memory or in\n"
     "that of a NUMA node of the host, which devices can use after set_access. The pool ends\n"
     "with this object; allocated memory stays valid.\n\n"
     "max_bytes: the most bytes to take; 0 means the driver's bound. Requires CUDA 12.2.\n"
     "handle_types: POSIX_FD, FABRIC, or both (|), to share the pool with other processes.\n\n"
     "Raises clpool.NotSupported if the driver or device cannot do that, clpool.LogicError for\n"
     "an invalid argument, and clpool.MemoryError if there is no memory. clpool/cuda_mempool.h\n"
     "has details."},
    {Py_tp_new, mempool_new},
    {Py_tp_dealloc, mempool_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"clpool.CudaMemPool", sizeof(CudaMemPool), 0, Py_TPFLAGS_DEFAULT, slots};

static int add_flag(const char *name, long flag)
{
  PyObject *number = PyLong_FromLong(flag);
  int result = number == NULL ? -1 : PyObject_SetAttrString((PyObject *)mempool_type, name, number);
  Py_XDECREF(number);
  return result;
}

int clpool_add_cuda_mempool(PyObject *module)
{
  if (clpool_add_type(module, &spec, NULL, &mempool_type) < 0 ||
      add_flag("POSIX_FD", CLP_CUDA_HANDLE_POSIX_FD) < 0)
    return -1;
  return add_flag("FABRIC", CLP_CUDA_HANDLE_FABRIC);
}
