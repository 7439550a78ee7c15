/* SPDX-License-Identifier: MIT */
/* clpool/clpool.hpp as a program of a user's has it: on host memory, on an arena, and on OpenCL
 * where there is a device. tests/house/check-headers.sh compiles this as each standard of C++. */
#ifdef CL_TARGET_OPENCL_VERSION /* a clpool with OpenCL */
#include <clpool/opencl.h>
#if defined(__has_include)
#if __has_include(<CL/opencl.hpp>)
#define CL_HPP_TARGET_OPENCL_VERSION  120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#endif
#endif
#endif
#include <clpool/cuda.h>

#include <clpool/clpool.hpp>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#define EXPECT(condition) expect((condition), #condition, __LINE__)

namespace {

int failures;

void expect(bool is_so, const char *condition, int line)
{
  if (!is_so)
    std::fprintf(stderr, "test_cplusplus.cc:%d: not so: %s\n", line, condition);
  failures += !is_so;
}

/** What the call throws as clpool::error; CLP_SUCCESS if nothing. */
template <class Call> clp_status thrown_by(Call call)
{
  try {
    call();
  } catch (const clpool::error &failure) {
    EXPECT(std::strcmp(failure.what(), clp_last_error()->message) == 0);
    EXPECT(failure.native_code() == clp_last_error()->native_code);
    return failure.status();
  }
  return CLP_SUCCESS;
}

static_assert(sizeof(clpool::pool) == sizeof(clp_pool *), "a pool is its handle");
static_assert(!std::is_copy_constructible<clpool::buffer>::value, "a buffer has one owner");
static_assert(std::is_nothrow_move_constructible<clpool::buffer>::value, "vectors may move it");
static_assert(std::is_nothrow_move_assignable<clpool::buffer>::value, "and assign it");
static_assert(std::is_nothrow_copy_constructible<clpool::error>::value, "it can be thrown");

void owners()
{
  clpool::pool pool(clpool::host_allocator(256));
  EXPECT(std::strcmp(pool.allocator().name(), "host") == 0 && !pool.allocator().is_deferred());
  clpool::buffer buffer = pool.allocate(1000);
  const clp_memory first = buffer.memory();
  EXPECT(first % 256 == 0 && buffer.size() == 1000 && buffer.capacity() >= 1000);
  clpool::buffer moved(std::move(buffer));
  EXPECT(!buffer && moved && buffer.size() == 0 && pool.stats().active_blocks == 1);
  moved = pool.allocate(2000);
  EXPECT(pool.stats().active_blocks == 1 && pool.stats().held_blocks == 1);
  moved.release();
  moved.release();
  EXPECT(!moved && pool.stats().active_blocks == 0);
  EXPECT(pool.allocate(1000).memory() == first);
  EXPECT(pool.bins().size() == 2 && pool.bin_stats(pool.bins()[0]).hits == 1);
  pool.trim_idle(0);
  pool.trim_idle(0);
  EXPECT(pool.stats().held_bytes == 0);
  pool.allocate(1000);
  clpool::free_all_held();
  EXPECT(pool.stats().held_bytes == 0);
  clpool::pool copy(pool);
  EXPECT(copy.get() == pool.get());
  pool = clpool::pool();
  EXPECT(!pool && thrown_by([&] { pool.stats(); }) == CLP_INVALID_ARGUMENT);
  clpool::buffer last = copy.allocate(10);
  copy = clpool::pool();
  EXPECT(last.memory() != 0); /* the last buffer keeps what is beneath */
}

void handles_of_c()
{
  clpool::allocator host;
  clpool::pool pool;
  clpool::buffer buffer;
  EXPECT(clp_host_allocator_create(0, host.put()) == CLP_SUCCESS);
  EXPECT(clp_pool_create(host.get(), nullptr, pool.put()) == CLP_SUCCESS);
  EXPECT(clp_pool_allocate(pool.get(), 10, buffer.put()) == CLP_SUCCESS);
  EXPECT(clp_pool_allocate(pool.get(), 20, buffer.put()) == CLP_SUCCESS);
  EXPECT(pool.stats().active_blocks == 1);
  clp_buffer *handle = buffer.detach();
  EXPECT(!buffer && clp_buffer_size(handle) == 20);
  buffer = clpool::buffer(handle);
  EXPECT(buffer.try_release() == CLP_SUCCESS && pool.stats().active_blocks == 0);
}

void failures_are_told()
{
  clpool::pool pool(clpool::simulated_allocator(1000));
  EXPECT(thrown_by([&] { pool.allocate(2000); }) == CLP_OUT_OF_DEVICE_MEMORY);
  clpool::buffer buffer = pool.allocate(10);
  EXPECT(pool.try_allocate(2000, buffer) == CLP_OUT_OF_DEVICE_MEMORY && !buffer);
  EXPECT(pool.try_allocate(500, buffer) == CLP_SUCCESS && buffer);
  pool.set_limit(600);
  EXPECT(pool.limit() == 600);
  EXPECT(thrown_by([&] { pool.allocate(500); }) == CLP_LIMIT_EXCEEDED);
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.leading_bits_in_bin_id = 99;
  EXPECT(thrown_by([&] { clpool::pool(clpool::host_allocator(), &options); }) ==
         CLP_INVALID_ARGUMENT);
  EXPECT(thrown_by([] { clpool::pool on_nothing{clpool::allocator()}; }) == CLP_INVALID_ARGUMENT);
  EXPECT(thrown_by([] { clpool::pool().add_hook("a", [](clpool::moment, clp_hook_event) {}); }) ==
         CLP_INVALID_ARGUMENT);
}

void streams_that_cannot_be_used()
{
  clpool::pool pool(clpool::host_allocator());
  clp_stream stream = &pool;
  clpool::buffer buffer;
  EXPECT(thrown_by([&] { pool.allocate(10, stream); }) == CLP_NOT_SUPPORTED);
  EXPECT(thrown_by([&] { pool.mark_stream(stream); }) == CLP_NOT_SUPPORTED);
  EXPECT(pool.try_allocate(10, stream, buffer) == CLP_NOT_SUPPORTED && !buffer);
  buffer = pool.allocate(10);
  EXPECT(thrown_by([&] { buffer.record_use(stream); }) == CLP_NOT_SUPPORTED);
  buffer.set_release_stream(stream);
  EXPECT(thrown_by([&] { buffer.release(); }) == CLP_NOT_SUPPORTED && buffer);
  buffer.set_release_stream(nullptr);
  buffer.release();
  EXPECT(pool.stats().active_blocks == 0);
}

void arenas()
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.5;
  clpool::arena arena(clpool::host_allocator(), &options);
  clpool::pool pool(arena);
  clpool::buffer buffer = pool.allocate(1000);
  EXPECT(arena.stats().used_blocks == 1 && arena.stats().segments == 1);
  arena.reserve(1 << 20);
  EXPECT(arena.stats().reserve_bytes == 1 << 20 && arena.stats().reserved_bytes >= 1 << 20);
  EXPECT(thrown_by([&] { arena.reserve(SIZE_MAX); }) == CLP_OUT_OF_DEVICE_MEMORY);
  EXPECT(std::strcmp(pool.allocator().name(), "arena") == 0);
  const clpool::allocator &upstream = arena;
  EXPECT(thrown_by([&] { clpool::arena on_arena(upstream); }) == CLP_NOT_SUPPORTED);
}

void hooks()
{
  clpool::pool pool(clpool::host_allocator()), other(clpool::host_allocator());
  unsigned mine = 0, all = 0;
  std::size_t asked = 0;
  auto count = [&](clpool::moment when, const clp_hook_event &event) {
    mine += event.pool == pool.get();
    asked += when == clpool::moment::malloc_preprocess ? event.size : 0;
  };
  {
    clpool::hook_scope of_pool = pool.add_hook("of the pool", count);
    clpool::hook_scope of_thread =
        clpool::push_hook("of the thread", [&](clpool::moment, const clp_hook_event &) { all++; });
    EXPECT(thrown_by([&] { pool.add_hook("of the pool", count); }) == CLP_BUSY);
    pool.allocate(100);
    other.allocate(10);
    clpool::hook_scope moved(std::move(of_pool));
    of_thread = clpool::hook_scope();
    pool.allocate(100);
  }
  pool.allocate(100);
  EXPECT(mine == 6 + 4 && all == 6 + 6 && asked == 200);
}

#ifdef CL_HPP_
cl_uint references(cl_mem mem)
{
  return cl::Memory(mem, true).getInfo<CL_MEM_REFERENCE_COUNT>() - 1;
}

void opencl()
{
  const char *chosen = std::getenv("CLPT_PLATFORM");
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  cl::Platform::get(&platforms);
  for (const cl::Platform &platform : platforms)
    if (devices.empty() && (!chosen || platform.getInfo<CL_PLATFORM_NAME>() == chosen))
      platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
  if (devices.empty())
    return;
  const cl::Device &device = devices[0];
  cl::Context context(device);
  {
    clpool::pool pool(clpool::cl_deferred_allocator(context()));
    clpool::cl_buffer buffer(pool.allocate(4096));
    cl_mem mem = buffer();
    EXPECT(references(mem) == 2);
    cl::Buffer copy(buffer);
    clpool::cl_buffer moved(std::move(buffer));
    EXPECT(moved() == mem && !buffer() && references(mem) == 3);
    moved = clpool::cl_buffer();
    EXPECT(references(mem) == 2 && pool.stats().active_blocks == 0);
  }
  cl::CommandQueue queue(context, device), second(context, device);
  clpool::pool pool(clpool::cl_immediate_allocator(queue()));
  cl_mem mem;
  {
    clpool::cl_buffer buffer(pool.allocate(4096));
    float word = 0;
    mem = buffer();
    EXPECT(mem == clpool::mem_of(buffer.pooled()));
    EXPECT(queue.enqueueFillBuffer(buffer, 2.0f, 0, 4096) == CL_SUCCESS);
    EXPECT(queue.enqueueReadBuffer(buffer, CL_TRUE, 4092, 4, &word) == CL_SUCCESS && word == 2.0f);
  }
  clpool::cl_buffer ordered(pool.allocate(4096, second));
  EXPECT(ordered() == mem && ordered.pooled().release_stream() == second());
  ordered.pooled().record_use(queue);
  ordered = clpool::cl_buffer(pool.allocate(0, second()));
  EXPECT(!ordered());
  clpool::pool host(clpool::host_allocator());
  EXPECT(thrown_by([&] { clpool::cl_buffer wrong(host.allocate(1)); }) == CLP_INVALID_ARGUMENT);
  EXPECT(thrown_by([&] { clpool::svm_pointer_of(pool.allocate(1)); }) == CLP_INVALID_ARGUMENT);
  queue.finish();
  second.finish();
}
#endif

} // namespace

int main()
{
  owners();
  handles_of_c();
  failures_are_told();
  streams_that_cannot_be_used();
  arenas();
  hooks();
#ifdef CL_HPP_
  opencl();
#endif
  return failures != 0;
}
