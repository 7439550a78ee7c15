/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/clpool.hpp - the interface for C++11 and later: owners, exceptions, hooks as callables. It
 * is header only: each function is an inline call of the C function that its comment names.
 *
 *     #include <clpool/clpool.hpp>
 *
 *     int main()
 *     {
 *       clpool::pool pool(clpool::host_allocator());
 *       clpool::buffer buffer = pool.allocate(1000000);
 *       void *memory = reinterpret_cast<void *>(buffer.memory());
 *       (void)memory;
 *     }
 *
 * If you need OpenCL or CUDA, include clpool/opencl.h, CL/opencl.hpp and clpool/cuda.h before this
 * header. It then also declares the functions at its end. You may include it again after them.
 *
 * - An owner ends what it owns when its scope ends. Owners of allocators and pools can be copied,
 *   because those count references. Owners of buffers and hooks can only be moved.
 * - A default-constructed or moved-from owner is empty: its calls do what the C calls do with NULL.
 * - Failures throw clpool::error. Where nothing may throw, use the functions that begin with try_,
 *   or the C calls. Both return a clp_status. get() passes a handle to a C call, and put() receives
 *   one from it:
 *
 *       clpool::buffer buffer;
 *       clp_status status = clp_pool_allocate(pool.get(), 1000000, buffer.put());
 *
 * - Sizes are in bytes. Threads are as in C, but only one thread may use an owner at a time. */
#ifndef CLPOOL_CLPOOL_HPP
#define CLPOOL_CLPOOL_HPP

#include <clpool/clpool.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/** The C++ interface of clpool. */
namespace clpool {

/** The exception that a failed call throws. what() is the message of clp_last_error. */
class error : public std::runtime_error {
public:
  /** Copies the failure, such as `*clp_last_error()`. */
  explicit error(const clp_error &failure)
      : std::runtime_error(failure.message), status_(failure.status), native_(failure.native_code)
  {
  }
  /** Returns the status of the failed call. */
  clp_status status() const noexcept
  {
    return status_;
  }
  /** Returns the backend's own code (cl_int, CUresult, errno), or 0 if there is none. */
  int native_code() const noexcept
  {
    return native_;
  }

private:
  clp_status status_;
  int native_;
};

/** Throws the calling thread's last error as a clpool::error. */
[[noreturn]] inline void throw_last_error()
{
  throw error(*clp_last_error());
}

/** Throws the last error if `status`, which a C call has just returned, is a failure. */
inline void check(clp_status status)
{
  if (status != CLP_SUCCESS)
    throw_last_error();
}

/** A stream as an argument: a cl_command_queue, a CUstream, or an object such as cl::CommandQueue,
 * whose operator() returns one. Borrowed for the call. */
class stream {
public:
  /** Takes a handle. */
  stream(clp_stream handle) noexcept : handle_(handle)
  {
  }
  /** Takes the handle that `queue()` returns. */
  template <class Queue, class = decltype(static_cast<clp_stream>(std::declval<const Queue &>()()))>
  stream(const Queue &queue) : handle_(queue())
  {
  }
  /** Returns the handle, borrowed. */
  clp_stream get() const noexcept
  {
    return handle_;
  }

private:
  clp_stream handle_;
};

/** Owns one reference to a T, whose references Retain and Release count. Copies share the object.
 */
template <class T, T *(*Retain)(T *), void (*Release)(T *)> class counted {
public:
  /** Owns nothing. */
  counted() noexcept : handle_(nullptr)
  {
  }
  /** Takes over the caller's reference. */
  explicit counted(T *owned) noexcept : handle_(owned)
  {
  }
  /** Adds a reference. */
  counted(const counted &other) noexcept : handle_(Retain(other.handle_))
  {
  }
  /** Takes over the reference of `other`, which is empty afterwards. */
  counted(counted &&other) noexcept : handle_(other.detach())
  {
  }
  /** Replaces its reference by that of `other`. */
  counted &operator=(counted other) noexcept
  {
    std::swap(handle_, other.handle_);
    return *this;
  }
  /** Drops the reference. */
  ~counted()
  {
    Release(handle_);
  }

  /** Returns the object, borrowed, or NULL if this is empty. */
  T *get() const noexcept
  {
    return handle_;
  }
  /** Drops the reference, and returns an out-pointer through which a C call may store another one.
   */
  T **put() noexcept
  {
    Release(detach());
    return &handle_;
  }
  /** Hands the reference over to the caller. This is empty afterwards. */
  T *detach() noexcept
  {
    T *handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  /** Returns whether this owns a reference. */
  explicit operator bool() const noexcept
  {
    return handle_ != nullptr;
  }

private:
  T *handle_;
};

/** An allocator (clpool/allocator.h). */
class allocator : public counted<clp_allocator, clp_allocator_retain, clp_allocator_release> {
public:
  using counted::counted;
  allocator() = default; /**< Owns nothing. */
  /** clp_allocator_name: borrowed, valid as long as the allocator. */
  const char *name() const noexcept
  {
    return clp_allocator_name(get());
  }
  /** clp_allocator_is_deferred. */
  bool is_deferred() const noexcept
  {
    return clp_allocator_is_deferred(get());
  }
};

/** Makes an allocator of host memory (clp_host_allocator_create). */
inline allocator host_allocator(std::size_t alignment = 0)
{
  allocator made;
  check(clp_host_allocator_create(alignment, made.put()));
  return made;
}

/** Makes an allocator of a simulated device (clp_simulated_allocator_create). */
inline allocator simulated_allocator(std::size_t capacity = 0)
{
  allocator made;
  check(clp_simulated_allocator_create(capacity, made.put()));
  return made;
}

/** An allocator that carves blocks from large segments of another one (clpool/arena.h). */
class arena : public allocator {
public:
  arena() = default; /**< Owns nothing. */
  /** clp_arena_allocator_create; retains `upstream`. */
  explicit arena(const allocator &upstream, const clp_arena_options *options = nullptr)
  {
    check(clp_arena_allocator_create(upstream.get(), options, put()));
  }
  /** clp_arena_reserve. */
  void reserve(std::size_t bytes)
  {
    check(clp_arena_reserve(get(), bytes));
  }
  /** clp_arena_get_stats. */
  clp_arena_stats stats() const
  {
    clp_arena_stats figures = CLP_ARENA_STATS_INIT;
    check(clp_arena_get_stats(get(), &figures));
    return figures;
  }
  /** clp_arena_dump: writes JSON to the caller's file. */
  void dump(std::FILE *file) const
  {
    check(clp_arena_dump(get(), file));
  }
};

/** Owns one allocation from a pool (clpool/buffer.h), and releases it when its scope ends. If it
 * was allocated on a stream, it is released on that stream. Otherwise clp_buffer_release is called:
 * the work that uses it must be on the home stream, or done. */
class buffer {
public:
  /** Owns nothing. */
  buffer() noexcept : handle_(nullptr), stream_(nullptr)
  {
  }
  /** Takes over the caller's buffer, to release it on `release_stream`; NULL means no stream. */
  explicit buffer(clp_buffer *owned, clp_stream release_stream = nullptr) noexcept
      : handle_(owned), stream_(release_stream)
  {
  }
  /** Takes over the buffer of `other`, which is empty afterwards. */
  buffer(buffer &&other) noexcept : handle_(other.handle_), stream_(other.stream_)
  {
    other.handle_ = nullptr;
  }
  /** Releases its buffer, as the destructor, and takes over that of `other`. */
  buffer &operator=(buffer &&other) noexcept
  {
    buffer old(std::move(*this));
    handle_ = other.detach();
    stream_ = other.stream_;
    return *this;
  }
  /** Releases the buffer. If the pool refuses the stream, the memory is never used again. Call
   * release() first if you must know. */
  ~buffer()
  {
    (void)try_release();
  }

  /** Releases the buffer: clp_buffer_release_on if it has a stream, otherwise clp_buffer_release.
   * This is empty afterwards. If the call throws, this still owns the buffer, unless the buffer was
   * released before. */
  void release()
  {
    check(try_release());
  }
  /** As release(), but returns the status. */
  clp_status try_release() noexcept
  {
    if (!handle_)
      return CLP_SUCCESS;
    clp_status status =
        stream_ ? clp_buffer_release_on(handle_, stream_) : clp_buffer_release(handle_);
    if (!status || status == CLP_ALREADY_RELEASED)
      handle_ = nullptr;
    return status;
  }

  /** Notes that another stream also uses the buffer (clp_buffer_record_use). */
  void record_use(stream other)
  {
    check(clp_buffer_record_use(handle_, other.get()));
  }
  /** Binds the buffer to a stream, on which it will be released (clp_buffer_bind). */
  void bind(stream other)
  {
    check(clp_buffer_bind(handle_, other.get()));
    stream_ = nullptr;
  }
  /** Unbinds the buffer, after the host has waited for the stream (clp_buffer_unbind). */
  void unbind()
  {
    check(clp_buffer_unbind(handle_));
  }
  /** Returns the stream that the buffer will be released on, or NULL if there is none. */
  clp_stream release_stream() const noexcept
  {
    return stream_;
  }
  /** Sets the stream that the buffer will be released on, or NULL for none. Call it before you
   * forget the stream that the buffer has. */
  void set_release_stream(stream other) noexcept
  {
    stream_ = other.get();
  }

  /** clp_buffer_memory: borrowed until the release. */
  clp_memory memory() const noexcept
  {
    return clp_buffer_memory(handle_);
  }
  /** clp_buffer_size: bytes as requested. */
  std::size_t size() const noexcept
  {
    return clp_buffer_size(handle_);
  }
  /** clp_buffer_capacity: bytes as allocated. */
  std::size_t capacity() const noexcept
  {
    return clp_buffer_capacity(handle_);
  }

  /** Returns the C object, borrowed, or NULL if this is empty. */
  clp_buffer *get() const noexcept
  {
    return handle_;
  }
  /** Releases the buffer, and returns an out-pointer through which a C call may store another one.
   */
  clp_buffer **put() noexcept
  {
    *this = buffer();
    return &handle_;
  }
  /** Hands the buffer over to the caller. This is empty afterwards. */
  clp_buffer *detach() noexcept
  {
    clp_buffer *handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  /** Returns whether this owns a buffer; true also for a buffer of zero bytes. */
  explicit operator bool() const noexcept
  {
    return handle_ != nullptr;
  }

private:
  clp_buffer *handle_;
  clp_stream stream_; // of the release; NULL: none
};

class hook_scope;

/** A pool (clpool/pool.h). */
class pool : public counted<clp_pool, clp_pool_retain, clp_pool_release> {
public:
  using counted::counted;
  pool() = default; /**< Owns nothing. */
  /** clp_pool_create; retains `source`. An on_out_of_memory must not throw. */
  explicit pool(const clpool::allocator &source, const clp_pool_options *options = nullptr)
  {
    check(clp_pool_create(source.get(), options, put()));
  }

  /** clp_pool_allocate. */
  buffer allocate(std::size_t bytes)
  {
    clp_buffer *made;
    check(clp_pool_allocate(get(), bytes, &made));
    return buffer(made);
  }
  /** clp_pool_allocate_on; the buffer will also be released on this stream. */
  buffer allocate(std::size_t bytes, stream on)
  {
    clp_buffer *made;
    check(clp_pool_allocate_on(get(), bytes, on.get(), &made));
    return buffer(made, on.get());
  }
  /** Allocates as allocate(bytes), but stores the buffer in `out` and returns the status. It first
   * releases the buffer that `out` owns. On failure `out` is empty. */
  clp_status try_allocate(std::size_t bytes, buffer &out) noexcept
  {
    return clp_pool_allocate(get(), bytes, out.put());
  }
  /** Allocates as allocate(bytes, on), but stores the buffer in `out` and returns the status. On
   * failure `out` is empty. */
  clp_status try_allocate(std::size_t bytes, stream on, buffer &out) noexcept
  {
    clp_buffer *made;
    clp_status status = clp_pool_allocate_on(get(), bytes, on.get(), &made);
    out = buffer(made, on.get());
    return status;
  }
  /** clp_pool_mark_stream. */
  void mark_stream(stream on)
  {
    check(clp_pool_mark_stream(get(), on.get()));
  }
  /** clp_pool_forget_stream. */
  void forget_stream(stream unused)
  {
    check(clp_pool_forget_stream(get(), unused.get()));
  }

  /** clp_pool_free_held. */
  void free_held()
  {
    check(clp_pool_free_held(get()));
  }
  /** clp_pool_stop_holding. */
  void stop_holding()
  {
    check(clp_pool_stop_holding(get()));
  }
  /** clp_pool_trim_to. */
  void trim_to(std::size_t bytes)
  {
    check(clp_pool_trim_to(get(), bytes));
  }
  /** clp_pool_trim_idle. */
  void trim_idle(std::uint64_t milliseconds)
  {
    check(clp_pool_trim_idle(get(), milliseconds));
  }
  /** clp_pool_set_limit. */
  void set_limit(std::size_t bytes)
  {
    check(clp_pool_set_limit(get(), bytes));
  }
  /** clp_pool_set_limit_fraction. */
  void set_limit_fraction(double fraction)
  {
    check(clp_pool_set_limit_fraction(get(), fraction));
  }
  /** clp_pool_get_limit. */
  std::size_t limit() const noexcept
  {
    return clp_pool_get_limit(get());
  }

  /** clp_pool_get_stats. */
  clp_pool_stats stats() const
  {
    clp_pool_stats figures = CLP_POOL_STATS_INIT;
    check(clp_pool_get_stats(get(), &figures));
    return figures;
  }
  /** clp_pool_get_bin_stats. */
  clp_bin_stats bin_stats(std::size_t bin) const
  {
    clp_bin_stats figures = CLP_BIN_STATS_INIT;
    check(clp_pool_get_bin_stats(get(), bin, &figures));
    return figures;
  }
  /** Returns the bins that ever had a block, ascending (clp_pool_get_bins). */
  std::vector<std::size_t> bins() const
  {
    std::vector<std::size_t> numbers;
    std::size_t count = 0;
    do {
      numbers.resize(count);
      check(clp_pool_get_bins(get(), numbers.data(), numbers.size(), &count));
    } while (count != numbers.size());
    return numbers;
  }
  /** clp_pool_reset_peaks. */
  void reset_peaks()
  {
    check(clp_pool_reset_peaks(get()));
  }

  /** clp_pool_name. */
  const char *name() const noexcept
  {
    return clp_pool_name(get());
  }
  /** Returns the pool's allocator (clp_pool_allocator). */
  clpool::allocator allocator() const noexcept
  {
    return clpool::allocator(clp_allocator_retain(clp_pool_allocator(get())));
  }

  /** Calls a callable, as clpool::push_hook, for what all threads do with this pool, while the
   * scope lives (clp_pool_add_hook). The scope retains the pool. Several threads may run the
   * callable at once. */
  template <class Callable> hook_scope add_hook(std::string name, Callable callable);
};

/** clp_free_all_held. */
inline void free_all_held()
{
  check(clp_free_all_held());
}

/** The callbacks of a clp_hook (clpool/hook.h). */
enum class moment {
  malloc_preprocess,      /**< before a block is taken from the pool */
  malloc_postprocess,     /**< after that */
  alloc_preprocess,       /**< before the device is asked for memory */
  alloc_postprocess,      /**< after that */
  free_preprocess,        /**< before a block is returned to the pool */
  free_postprocess,       /**< after that */
  device_free_preprocess, /**< before memory is returned to the device */
  device_free_postprocess /**< after that */
};

/// @cond
namespace detail {

struct registered_hook {
  registered_hook(std::string its_name, pool its_pool)
      : name(std::move(its_name)), where(std::move(its_pool))
  {
    clp_hook empty = CLP_HOOK_INIT;
    hook = empty;
    hook.name = name.c_str();
    hook.user_data = this;
  }
  virtual ~registered_hook()
  {
  }
  registered_hook(const registered_hook &) = delete;
  registered_hook &operator=(const registered_hook &) = delete;

  clp_hook hook;
  std::string name;
  pool where; // empty: registered for the thread
};

template <class Callable> struct callable_hook : registered_hook {
  callable_hook(std::string its_name, pool its_pool, Callable &&its_callable)
      : registered_hook(std::move(its_name), std::move(its_pool)), callable(std::move(its_callable))
  {
    hook.malloc_preprocess = call<moment::malloc_preprocess>;
    hook.malloc_postprocess = call<moment::malloc_postprocess>;
    hook.alloc_preprocess = call<moment::alloc_preprocess>;
    hook.alloc_postprocess = call<moment::alloc_postprocess>;
    hook.free_preprocess = call<moment::free_preprocess>;
    hook.free_postprocess = call<moment::free_postprocess>;
    hook.device_free_preprocess = call<moment::device_free_preprocess>;
    hook.device_free_postprocess = call<moment::device_free_postprocess>;
  }

  template <moment When> static void call(const clp_hook_event *event, void *self) noexcept
  {
    static_cast<callable_hook *>(static_cast<registered_hook *>(self))->callable(When, *event);
  }

  Callable callable;
};

// A hook that could not be unregistered may still be called, and so must stay alive.
struct end_hook {
  void operator()(registered_hook *registered) const noexcept
  {
    clp_status status = registered->where
                            ? clp_pool_remove_hook(registered->where.get(), &registered->hook)
                            : clp_hook_pop(&registered->hook);
    if (status == CLP_SUCCESS)
      delete registered;
  }
};

} // namespace detail
/// @endcond

/** Keeps a hook registered until its scope ends. The scope of a thread's hook must end on that
 * thread. No scope may end inside a callback. Otherwise the hook stays registered. */
class hook_scope {
public:
  hook_scope() = default; /**< Registers nothing. */

private:
  friend class pool;
  template <class Callable> friend hook_scope push_hook(std::string, Callable);

  template <class Callable> hook_scope(std::string name, pool where, Callable callable)
  {
    std::unique_ptr<detail::registered_hook> made(new detail::callable_hook<Callable>(
        std::move(name), std::move(where), std::move(callable)));
    check(made->where ? clp_pool_add_hook(made->where.get(), &made->hook)
                      : clp_hook_push(&made->hook));
    registered_.reset(made.release());
  }

  std::unique_ptr<detail::registered_hook, detail::end_hook> registered_;
};

/** Calls a callable for what the calling thread does with pools, while the scope lives
 * (clp_hook_push). The call is `callable(moment, event)`; the event is a `const clp_hook_event &`,
 * borrowed. The rules of clp_hook apply. If the callable throws, std::terminate is called. */
template <class Callable> hook_scope push_hook(std::string name, Callable callable)
{
  return hook_scope(std::move(name), pool(), std::move(callable));
}

template <class Callable> hook_scope pool::add_hook(std::string name, Callable callable)
{
  if (!*this)
    check(clp_pool_add_hook(nullptr, nullptr));
  return hook_scope(std::move(name), *this, std::move(callable));
}

} // namespace clpool

#endif

#if defined(CLPOOL_OPENCL_H) && !defined(CLPOOL_CLPOOL_HPP_OPENCL)
/** Defined if clpool/opencl.h was included before. */
#define CLPOOL_CLPOOL_HPP_OPENCL

namespace clpool {

/** Makes an allocator of OpenCL buffers with memory at once (clp_cl_immediate_allocator_create). */
inline allocator cl_immediate_allocator(cl_command_queue queue, cl_mem_flags flags = 0)
{
  allocator made;
  check(clp_cl_immediate_allocator_create(queue, flags, made.put()));
  return made;
}

/** Makes an allocator of OpenCL buffers whose memory the driver takes when it decides to
 * (clp_cl_deferred_allocator_create). */
inline allocator cl_deferred_allocator(cl_context context, cl_mem_flags flags = 0)
{
  allocator made;
  check(clp_cl_deferred_allocator_create(context, flags, made.put()));
  return made;
}

/** Makes an allocator of shared virtual memory (clp_cl_svm_allocator_create). */
inline allocator cl_svm_allocator(cl_context context, const clp_cl_svm_options *options = nullptr)
{
  allocator made;
  check(clp_cl_svm_allocator_create(context, options, made.put()));
  return made;
}

/** Returns the buffer's cl_mem, borrowed until the release (clp_buffer_cl_mem). NULL for a buffer
 * of zero bytes. Throws if the memory is not a cl_mem. */
inline cl_mem mem_of(const buffer &owner)
{
  cl_mem mem = clp_buffer_cl_mem(owner.get());
  if (!mem && owner.memory())
    throw_last_error();
  return mem;
}

/** Returns the buffer's shared virtual memory, borrowed until the release (clp_buffer_svm_pointer).
 * NULL for a buffer of zero bytes. Throws if the memory is not shared virtual memory. */
inline void *svm_pointer_of(const buffer &owner)
{
  void *pointer = clp_buffer_svm_pointer(owner.get());
  if (!pointer && owner.memory())
    throw_last_error();
  return pointer;
}

} // namespace clpool

#endif

#if defined(CLPOOL_OPENCL_H) && defined(CL_HPP_) && !defined(CLPOOL_CLPOOL_HPP_CL_BUFFER)
/** Defined if clpool/opencl.h and CL/opencl.hpp were included before. */
#define CLPOOL_CLPOOL_HPP_CL_BUFFER

namespace clpool {

/// @cond
namespace detail {

// A base before cl::Buffer, so that the buffer is released after the cl::Buffer has ended.
struct buffer_base {
  buffer pooled_;
};

} // namespace detail
/// @endcond

/** Owns a buffer of a pool that you can use as a cl::Buffer: as a kernel's argument, with queues
 * and in copies. The pool gets the memory back when this object ends. A cl::Buffer that is copied
 * or moved from it has a reference to the cl_mem, but does not keep the memory from the pool. */
class cl_buffer : private detail::buffer_base, public cl::Buffer {
public:
  cl_buffer() = default; /**< Owns nothing. */
  /** Takes over a buffer whose memory is a cl_mem, for instance from pool::allocate: `cl_buffer
   * mine(pool.allocate(bytes, queue))`. Throws if the memory is of another kind. */
  explicit cl_buffer(buffer &&owned)
      : detail::buffer_base{std::move(owned)}, cl::Buffer(mem_of(pooled_), true)
  {
  }
  cl_buffer(cl_buffer &&) = default; /**< Takes over the buffer; the other is empty afterwards. */
  /** Releases its buffer, as clpool::buffer does, and takes over the other's. */
  cl_buffer &operator=(cl_buffer &&) = default;

  /** Returns the pool's buffer, for instance to bind it or to record uses. Do not release it. */
  buffer &pooled() noexcept
  {
    return pooled_;
  }
  /** Returns the pool's buffer, for its properties. */
  const buffer &pooled() const noexcept
  {
    return pooled_;
  }
};

} // namespace clpool

namespace cl {
namespace detail {
/** Makes a clpool::buffer as a kernel's argument an error: its bytes would be passed. Use a
 * cl_buffer. */
template <> struct KernelArgumentHandler<clpool::buffer, void>;
} // namespace detail
} // namespace cl

#endif

#if defined(CLPOOL_CUDA_H) && !defined(CLPOOL_CLPOOL_HPP_CUDA)
/** Defined if clpool/cuda.h was included before. */
#define CLPOOL_CLPOOL_HPP_CUDA

namespace clpool {

/** Makes an allocator of CUDA's stream-ordered memory (clp_cuda_async_allocator_create). */
inline allocator cuda_async_allocator(const clp_cuda_async_options *options = nullptr)
{
  allocator made;
  check(clp_cuda_async_allocator_create(options, made.put()));
  return made;
}

/** Returns the buffer's CUdeviceptr, borrowed until the release (clp_buffer_cuda_pointer). 0 for a
 * buffer of zero bytes. Throws if the memory is not CUDA's. */
inline unsigned long long cuda_pointer_of(const buffer &owner)
{
  unsigned long long pointer = clp_buffer_cuda_pointer(owner.get());
  if (!pointer && owner.memory())
    throw_last_error();
  return pointer;
}

} // namespace clpool

#endif
