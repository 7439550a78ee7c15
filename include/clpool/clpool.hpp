/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/clpool.hpp - the library for C++11 and later: owners, exceptions, hooks as callables.
 * Header only; each function is the C call that its comment names, inline.
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
 * Include clpool/opencl.h, CL/opencl.hpp and clpool/cuda.h, as far as they are wanted, before this
 * header: it then has what goes with them, at its end. It may be included again after them.
 *
 * - Owners end what they own with their scope. Allocators and pools count references, so they can
 *   be copied; buffers and hook scopes have one owner and are moved. A default-constructed or moved
 *   owner is empty: its calls do what the C calls do with NULL.
 * - What fails throws clpool::error. Where nothing may throw, there are the functions that begin
 *   with try_, and the C calls: get() lends a handle to them, put() takes one from them. Both
 *   return a clp_status.
 *
 *       clpool::buffer buffer;
 *       clp_status status = clp_pool_allocate(pool.get(), 1000000, buffer.put());
 *
 * - Sizes are bytes. Threads: as in C; one owner is used by one thread at a time. */
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

/** The C++ face of clpool. */
namespace clpool {

/** What a call that failed throws. what() is the message of clp_last_error. */
class error : public std::runtime_error {
public:
  /** Copies the failure, such as `*clp_last_error()`. */
  explicit error(const clp_error &failure)
      : std::runtime_error(failure.message), status_(failure.status), native_(failure.native_code)
  {
  }
  /** What the call came to. */
  clp_status status() const noexcept
  {
    return status_;
  }
  /** The backend's own code (cl_int, CUresult, errno), 0 where there is none. */
  int native_code() const noexcept
  {
    return native_;
  }

private:
  clp_status status_;
  int native_;
};

/** Throws the calling thread's last failure, as clpool::error. */
[[noreturn]] inline void throw_last_error()
{
  throw error(*clp_last_error());
}

/** Throws if `status`, which a C call has just returned, is a failure. */
inline void check(clp_status status)
{
  if (status != CLP_SUCCESS)
    throw_last_error();
}

/** A queue or stream as an argument: a cl_command_queue, a CUstream, or an object that gives one
 * when it is called, as a cl::CommandQueue does. Borrowed for the call. */
class stream {
public:
  /** The handle itself. */
  stream(clp_stream handle) noexcept : handle_(handle)
  {
  }
  /** What `queue()` gives. */
  template <class Queue, class = decltype(static_cast<clp_stream>(std::declval<const Queue &>()()))>
  stream(const Queue &queue) : handle_(queue())
  {
  }
  /** The handle, borrowed. */
  clp_stream get() const noexcept
  {
    return handle_;
  }

private:
  clp_stream handle_;
};

/** An owner of one reference to T, which Retain and Release count. Copies share the object. */
template <class T, T *(*Retain)(T *), void (*Release)(T *)> class counted {
public:
  /** Owns nothing. */
  counted() noexcept : handle_(nullptr)
  {
  }
  /** Takes over a reference of the caller's. */
  explicit counted(T *owned) noexcept : handle_(owned)
  {
  }
  /** Adds a reference. */
  counted(const counted &other) noexcept : handle_(Retain(other.handle_))
  {
  }
  /** Takes the other's reference over; `other` is empty then. */
  counted(counted &&other) noexcept : handle_(other.detach())
  {
  }
  /** Drops its reference for the other's. */
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

  /** The object, borrowed; NULL if this is empty. */
  T *get() const noexcept
  {
    return handle_;
  }
  /** Drops the reference, and lends the place for a C call to put another one to. */
  T **put() noexcept
  {
    Release(detach());
    return &handle_;
  }
  /** Hands the reference over to the caller. */
  T *detach() noexcept
  {
    T *handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  /** Whether this owns something. */
  explicit operator bool() const noexcept
  {
    return handle_ != nullptr;
  }

private:
  T *handle_;
};

/** Where memory comes from (clpool/allocator.h). */
class allocator : public counted<clp_allocator, clp_allocator_retain, clp_allocator_release> {
public:
  using counted::counted;
  allocator() = default; /**< Owns nothing. */
  /** clp_allocator_name; lives as long as the allocator. */
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

/** Host memory (clp_host_allocator_create). */
inline allocator host_allocator(std::size_t alignment = 0)
{
  allocator made;
  check(clp_host_allocator_create(alignment, made.put()));
  return made;
}

/** Made-up addresses, for tests (clp_simulated_allocator_create). */
inline allocator simulated_allocator(std::size_t capacity = 0)
{
  allocator made;
  check(clp_simulated_allocator_create(capacity, made.put()));
  return made;
}

/** An allocator that carves blocks from big segments of another one (clpool/arena.h). */
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

/** One allocation from a pool (clpool/buffer.h), which it goes back to with the scope: on the
 * stream that it was allocated on, if that was given; otherwise as by clp_buffer_release, so that
 * the work that uses it is on the home stream, or done. */
class buffer {
public:
  /** Owns nothing. */
  buffer() noexcept : handle_(nullptr), stream_(nullptr)
  {
  }
  /** Takes over what the caller owns, and releases it on a stream, NULL for none. */
  explicit buffer(clp_buffer *owned, clp_stream release_stream = nullptr) noexcept
      : handle_(owned), stream_(release_stream)
  {
  }
  /** Takes over; `other` is empty then. */
  buffer(buffer &&other) noexcept : handle_(other.handle_), stream_(other.stream_)
  {
    other.handle_ = nullptr;
  }
  /** Releases what it owns, as the destructor, and takes over. */
  buffer &operator=(buffer &&other) noexcept
  {
    buffer old(std::move(*this));
    handle_ = other.detach();
    stream_ = other.stream_;
    return *this;
  }
  /** Releases. If the stream is refused, the memory is never used again; call release() before
   * where that matters. */
  ~buffer()
  {
    (void)try_release();
  }

  /** Gives the buffer back, and is empty then: clp_buffer_release, or clp_buffer_release_on where
   * there is a stream. If it throws, it owns the buffer as before, unless that was released. */
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

  /** Also used by another stream (clp_buffer_record_use). */
  void record_use(stream other)
  {
    check(clp_buffer_record_use(handle_, other.get()));
  }
  /** Binds it to a stream, on which it is then released (clp_buffer_bind). */
  void bind(stream other)
  {
    check(clp_buffer_bind(handle_, other.get()));
    stream_ = nullptr;
  }
  /** Waits on the host for that stream, and unbinds it (clp_buffer_unbind). */
  void unbind()
  {
    check(clp_buffer_unbind(handle_));
  }
  /** Where it is released. */
  clp_stream release_stream() const noexcept
  {
    return stream_;
  }
  /** Says where it is to be released instead, NULL for no stream: before its own is forgotten. */
  void set_release_stream(stream other) noexcept
  {
    stream_ = other.get();
  }

  /** clp_buffer_memory: borrowed until the release. */
  clp_memory memory() const noexcept
  {
    return clp_buffer_memory(handle_);
  }
  /** Bytes as requested. */
  std::size_t size() const noexcept
  {
    return clp_buffer_size(handle_);
  }
  /** Bytes as allocated. */
  std::size_t capacity() const noexcept
  {
    return clp_buffer_capacity(handle_);
  }

  /** The C object, borrowed; NULL if this is empty. */
  clp_buffer *get() const noexcept
  {
    return handle_;
  }
  /** Releases what it owns, and lends the place for a C call to put a buffer to. */
  clp_buffer **put() noexcept
  {
    *this = buffer();
    return &handle_;
  }
  /** Hands the buffer over to the caller. */
  clp_buffer *detach() noexcept
  {
    clp_buffer *handle = handle_;
    handle_ = nullptr;
    return handle;
  }
  /** Whether this owns a buffer, of zero bytes too. */
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
  /** clp_pool_allocate_on; the buffer is released on `on`, too. */
  buffer allocate(std::size_t bytes, stream on)
  {
    clp_buffer *made;
    check(clp_pool_allocate_on(get(), bytes, on.get(), &made));
    return buffer(made, on.get());
  }
  /** As allocate(bytes), to `out`, whose buffer is released first. On failure `out` is empty. */
  clp_status try_allocate(std::size_t bytes, buffer &out) noexcept
  {
    return clp_pool_allocate(get(), bytes, out.put());
  }
  /** As allocate(bytes, on), likewise. */
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
  void forget_stream(stream given_up)
  {
    check(clp_pool_forget_stream(get(), given_up.get()));
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
  void set_limit_fraction(double part)
  {
    check(clp_pool_set_limit_fraction(get(), part));
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
  /** The bins that ever had a block, ascending (clp_pool_get_bins). */
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
  /** The allocator beneath. */
  clpool::allocator allocator() const noexcept
  {
    return clpool::allocator(clp_allocator_retain(clp_pool_allocator(get())));
  }

  /** Shows what all threads do with this pool to a callable, as clpool::push_hook, while the scope
   * lives (clp_pool_add_hook); it keeps the pool. Several threads may call it at once. */
  template <class Callable> hook_scope add_hook(std::string name, Callable callable);
};

/** clp_free_all_held. */
inline void free_all_held()
{
  check(clp_free_all_held());
}

/** Which of a clp_hook's callbacks is meant (clpool/hook.h). */
enum class moment {
  malloc_preprocess,      /**< before a block is retrieved from the pool */
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

// What could not be unregistered may still be called, and so must stay.
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

/** A registered hook, until its scope ends: for a thread's hook on that thread, and not inside of a
 * callback. One that ends elsewhere stays registered. */
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

/** Shows what the calling thread does with pools to a callable while the scope lives
 * (clp_hook_push): `callable(moment, event)`, the event a `const clp_hook_event &`, borrowed. The
 * rules for callbacks hold, and it must not throw: that ends the program (std::terminate). */
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
/** With clpool/opencl.h. */
#define CLPOOL_CLPOOL_HPP_OPENCL

namespace clpool {

/** Buffers of OpenCL whose memory exists (clp_cl_immediate_allocator_create). */
inline allocator cl_immediate_allocator(cl_command_queue queue, cl_mem_flags flags = 0)
{
  allocator made;
  check(clp_cl_immediate_allocator_create(queue, flags, made.put()));
  return made;
}

/** Buffers of OpenCL, as lazy as the driver is (clp_cl_deferred_allocator_create). */
inline allocator cl_deferred_allocator(cl_context context, cl_mem_flags flags = 0)
{
  allocator made;
  check(clp_cl_deferred_allocator_create(context, flags, made.put()));
  return made;
}

/** Shared virtual memory (clp_cl_svm_allocator_create). */
inline allocator cl_svm_allocator(cl_context context, const clp_cl_svm_options *options = nullptr)
{
  allocator made;
  check(clp_cl_svm_allocator_create(context, options, made.put()));
  return made;
}

/** The buffer's cl_mem, borrowed until the release (clp_buffer_cl_mem); NULL for a buffer of zero
 * bytes. Throws where the memory is no cl_mem. */
inline cl_mem mem_of(const buffer &owner)
{
  cl_mem mem = clp_buffer_cl_mem(owner.get());
  if (!mem && owner.memory())
    throw_last_error();
  return mem;
}

/** The buffer's shared virtual memory, likewise (clp_buffer_svm_pointer). */
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
/** With clpool/opencl.h and CL/opencl.hpp. */
#define CLPOOL_CLPOOL_HPP_CL_BUFFER

namespace clpool {

/// @cond
namespace detail {

// A base before cl::Buffer, so that the pool gets the memory last.
struct buffer_base {
  buffer pooled_;
};

} // namespace detail
/// @endcond

/** A buffer of a pool that passes where a cl::Buffer does: to kernels' arguments, queues, copies.
 * It has a reference to the cl_mem, and so does each cl::Buffer that is copied or moved from it;
 * but those do not keep the memory from the pool, which has it back when this object ends. */
class cl_buffer : private detail::buffer_base, public cl::Buffer {
public:
  cl_buffer() = default; /**< Owns nothing. */
  /** Takes over a buffer whose memory is a cl_mem, such as what pool::allocate returns: `cl_buffer
   * mine(pool.allocate(bytes, queue))`. Throws if it is another kind of memory. */
  explicit cl_buffer(buffer &&owned)
      : detail::buffer_base{std::move(owned)}, cl::Buffer(mem_of(pooled_), true)
  {
  }
  cl_buffer(cl_buffer &&) = default; /**< Takes over; the other is empty then. */
  /** Releases what it owns, as clpool::buffer does, and takes over. */
  cl_buffer &operator=(cl_buffer &&) = default;

  /** The buffer of the pool, to bind it, to record uses; it must not be released by itself. */
  buffer &pooled() noexcept
  {
    return pooled_;
  }
  /** Likewise. */
  const buffer &pooled() const noexcept
  {
    return pooled_;
  }
};

} // namespace clpool

namespace cl {
namespace detail {
/** Keeps a clpool::buffer from being a kernel's argument, byte by byte: that is for cl_buffer. */
template <> struct KernelArgumentHandler<clpool::buffer, void>;
} // namespace detail
} // namespace cl

#endif

#if defined(CLPOOL_CUDA_H) && !defined(CLPOOL_CLPOOL_HPP_CUDA)
/** With clpool/cuda.h. */
#define CLPOOL_CLPOOL_HPP_CUDA

namespace clpool {

/** CUDA's stream-ordered memory (clp_cuda_async_allocator_create). */
inline allocator cuda_async_allocator(const clp_cuda_async_options *options = nullptr)
{
  allocator made;
  check(clp_cuda_async_allocator_create(options, made.put()));
  return made;
}

/** The buffer's CUdeviceptr, borrowed until the release (clp_buffer_cuda_pointer); 0 for a buffer
 * of zero bytes. Throws where the memory is none of CUDA's. */
inline unsigned long long cuda_pointer_of(const buffer &owner)
{
  unsigned long long pointer = clp_buffer_cuda_pointer(owner.get());
  if (!pointer && owner.memory())
    throw_last_error();
  return pointer;
}

} // namespace clpool

#endif
