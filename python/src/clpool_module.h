/* SPDX-License-Identifier: MIT */
/* What the extension's files share. All state is guarded by the interpreter's lock, which is let go
 * of around every call of libclpool's that may wait or call back, and only around those. */
#ifndef CLPOOL_MODULE_H
#define CLPOOL_MODULE_H

#define PY_SSIZE_T_CLEAN
#define CL_TARGET_OPENCL_VERSION 300
#include <Python.h>

#include <CL/cl.h>
#include <clpool/clpool.h>
#include <clpool/cuda.h>
#include <clpool/opencl.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef Py_TPFLAGS_MANAGED_DICT
#define Py_TPFLAGS_MANAGED_DICT 0 /* before Python 3.11 */
#endif

/* What a pool's memory is, and so what Python gets for it. */
typedef enum memory_kind {
  MEMORY_CL_MEM,  /* a pyopencl.Buffer */
  MEMORY_SVM,     /* a pyopencl.SVM over a Memory */
  MEMORY_HOST,    /* a Memory that has the buffer protocol */
  MEMORY_ADDRESS, /* a Memory that is only an address */
} memory_kind;

/* clpool.Allocator and the classes derived from it. */
typedef struct Allocator {
  PyObject ob_base;
  clp_allocator *allocator;
  memory_kind kind;
  bool direct;       /* whether a call of it gives memory without a pool */
  PyObject *context; /* what pyopencl.SVMAllocation wants besides a size, else NULL */
  PyObject *queue;
  unsigned long long flags;
  size_t alignment;
  int device;                 /* CUDA's ordinal; -1: not CUDA's memory */
  struct Allocator *upstream; /* what an arena stands on, else NULL */
  PyObject *mempool;          /* what CUDA's memory comes from, and so is kept; or NULL */
} Allocator;

/* clpool.MemoryPool and clpool.SVMPool, and what their method `on` gives. */
typedef struct Pool {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  clp_pool *pool; /* NULL before __init__ */
  memory_kind kind;
  bool holding;          /* until stop_holding */
  bool made_by_new;      /* which a derived class called with arguments, and not yet by __init__ */
  clp_stream stream;     /* of `on`; NULL: plain calls */
  PyObject *queue;       /* whose stream that is, or NULL */
  struct Pool *root;     /* the pool that `on` was called for; NULL: this is one */
  Allocator *allocator;  /* NULL for what `on` gives */
  PyObject *reaction;    /* on_out_of_memory, or NULL */
  PyObject *hooks;       /* a list of those that were added, which keeps them */
  PyObject *weak;        /* references */
  uint64_t device_frees; /* as the statistics last said */
} Pool;

static inline Pool *clpool_root(Pool *pool)
{
  return pool->root == NULL ? pool : pool->root;
}

static inline bool clpool_is_cuda(Pool *pool)
{
  const Allocator *allocator = clpool_root(pool)->allocator;
  return allocator != NULL && allocator->device >= 0;
}

/* module.c */
extern PyObject *clpool_buffer_type;      /* pyopencl.Buffer, or NULL */
extern PyObject *clpool_queue_type;       /* pyopencl.CommandQueue, or NULL */
extern PyObject *clpool_context_type;     /* pyopencl.Context, or NULL */
extern PyObject *clpool_svm_type;         /* clpool.PooledSVM, or NULL */
extern PyObject *clpool_svm_allocation;   /* pyopencl.SVMAllocation, or NULL */
extern PyObject *clpool_stats_type;       /* called with the fields of clp_pool_stats */
extern PyObject *clpool_default_reaction; /* what on_out_of_memory is unless told */
int clpool_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base, PyTypeObject **out);

/* errors.c: all but the last return NULL or -1, with an exception set. */
extern PyObject *clpool_make_error;
extern PyObject *clpool_is_out_of_memory;
void *clpool_raise(void);
int clpool_check(clp_status status);
PyObject *clpool_none_or_raise(clp_status status);
void clpool_keep_exception(void);
int clpool_raise_kept(void);
void clpool_report_kept(void);
void clpool_keep_cause(void);
PyObject *clpool_swap_cause(PyObject *cause);

/* arguments.c */
int clpool_size_of(PyObject *object, size_t *out);
int clpool_parse_size(PyObject *object, void *out);
int clpool_number_in(PyObject *object, const char *name, void **out);
int clpool_handle_of(PyObject *object, PyObject *type, void **out);
int clpool_stream_of(PyObject *object, bool is_cuda, void **out);
int clpool_parse_stream(PyObject *object, void *out);

/* allocator.c */
extern PyTypeObject *clpool_allocator_type;
extern PyTypeObject *clpool_arena_type;
bool clpool_has_pyopencl(void);
PyObject *clpool_arena_of(clp_allocator *arena, Allocator *below); /* a new ArenaAllocator */
int clpool_add_allocators(PyObject *module);

/* callback_allocator.c */
bool clpool_calls_back(const Allocator *allocator);
int clpool_refuse_inside_callback(const Allocator *allocator);
int clpool_add_callback_allocator(PyObject *module);

/* pool.c, pool_methods.c */
clp_pool *clpool_inner(Pool *pool);
PyObject *clpool_pool_on(PyObject *pool, PyObject *queue);
extern PyTypeObject *clpool_pool_type;
extern PyMethodDef clpool_pool_methods[];
PyObject *clpool_free_all_held(PyObject *module, PyObject *unused);
extern PyGetSetDef clpool_pool_properties[];
int clpool_add_pools(PyObject *module);

/* allocate.c */
PyObject *clpool_pool_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names);
PyObject *clpool_pool_allocate(PyObject *self, PyObject *size);
clp_status clpool_release_block(Pool *pool, clp_buffer *buffer, clp_stream stream);
void clpool_release_or_report(Pool *pool, clp_buffer *buffer, clp_stream stream);

/* buffer_calls.c */
PyObject *clpool_record_use(clp_buffer *buffer, Pool *pool, PyObject *queue);
PyObject *clpool_bind(clp_buffer *buffer, Pool *pool, PyObject *queue);
PyObject *clpool_unbind(clp_buffer *buffer);

/* wrapper.c */
PyObject *clpool_wrap(Pool *pool, clp_buffer *buffer);
PyObject *clpool_wrap_svm(Pool *pool, clp_buffer *buffer);
void clpool_svm_set_block(PyObject *svm, clp_buffer *buffer);
void clpool_svm_released(PyObject *svm);
size_t clpool_drop_parked(void);
clp_buffer *clpool_buffer_of(PyObject *object, Pool **pool);
bool clpool_release_wrapped(PyObject *object);
clp_buffer *clpool_region_of(PyObject *object, PyObject **whole, size_t *origin, size_t *bytes);
int clpool_keep_alive(PyObject *part, PyObject *whole, size_t origin, size_t bytes);
void clpool_clear_attributes(PyObject *object);
int clpool_traverse_record(PyObject *object, visitproc visit, void *arg);
int clpool_make_wrapper_types(void);
extern PyTypeObject *clpool_wrapper_type;

/* released.c */
void clpool_make_released(PyObject *object);
int clpool_add_released(void);

/* pooled_buffer.c: the methods of PooledBuffer */
int clpool_add_buffer_methods(PyTypeObject *type);
int clpool_add_methods(PyTypeObject *type, PyMethodDef *method);
int clpool_add_properties(PyTypeObject *type, PyGetSetDef *property);

/* clpool.Memory: a block as an address. */
typedef struct Memory {
  PyObject ob_base;
  clp_buffer *buffer; /* NULL: released */
  clp_memory address;
  size_t size;
  Pool *pool;       /* NULL: parked, with the PooledSVM */
  Py_ssize_t views; /* that the buffer protocol and DLPack gave and that exist */
  PyObject *svm;    /* the PooledSVM of this memory, whose view is one of them; borrowed, or NULL */
  Py_ssize_t references; /* that the PooledSVM has, and what is beside it */
  clp_stream bound;      /* by bind_to_queue, or NULL */
} Memory;

/* memory.c, dlpack.c */
clp_buffer *clpool_buffer_or_raise(Memory *memory);
PyObject *clpool_dlpack(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *clpool_dlpack_device(PyObject *self, PyObject *unused);
PyObject *clpool_cuda_array_interface(PyObject *self, void *closure);
PyObject *clpool_memory_new(Pool *pool, clp_buffer *buffer);
PyObject *clpool_memory_release(PyObject *memory, PyObject *queue);
void clpool_memory_set_svm(PyObject *memory, PyObject *svm);
int clpool_memory_visit(PyObject *memory, visitproc visit, void *arg);
bool clpool_memory_park(PyObject *memory);
bool clpool_memory_unpark(PyObject *memory, PyObject *svm, Pool *pool, clp_buffer *buffer);
int clpool_add_memory(PyObject *module);

/* hook.c, log.c, trace.c, torch.c, cuda_mempool.c, async_pool.c */
int clpool_add_cuda_mempool(PyObject *module);
int clpool_add_async_pool(PyObject *module);
int clpool_mempool_of(PyObject *object, void *out);
int clpool_add_hook(PyObject *module);
PyObject *clpool_set_log(PyObject *module, PyObject *callable);
int clpool_add_trace(PyObject *module);
int clpool_add_torch(PyObject *module);
const clp_hook *clpool_hook_of(PyObject *object);
const clp_hook *clpool_trace_hook_of(PyObject *object);

#endif
