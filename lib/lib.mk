# SPDX-License-Identifier: MIT
# The library. Tests, tools and the shared library link the same convenience library.

clpoolincludedir = $(includedir)/clpool
clpoolinclude_HEADERS = \
	include/clpool/allocator.h \
	include/clpool/arena.h \
	include/clpool/bin.h \
	include/clpool/buffer.h \
	include/clpool/bytes.h \
	include/clpool/clpool.h \
	include/clpool/clpool.hpp \
	include/clpool/cuda.h \
	include/clpool/cuda_mempool.h \
	include/clpool/hook.h \
	include/clpool/log.h \
	include/clpool/pool.h \
	include/clpool/profile.h \
	include/clpool/status.h \
	include/clpool/trace.h
nodist_clpoolinclude_HEADERS = include/clpool/version.h

core_sources = \
	lib/core/base/boundary.h \
	lib/core/base/bytes.c lib/core/base/bytes.h \
	lib/core/base/printable.c lib/core/base/printable.h \
	lib/core/base/cancel.h \
	lib/core/base/error.c lib/core/base/error.h \
	lib/core/base/fork.c lib/core/base/fork.h \
	lib/core/base/list.h \
	lib/core/base/loading.c lib/core/base/loading.h \
	lib/core/base/log.c \
	lib/core/base/map.c lib/core/base/map.h \
	lib/core/base/nap.h \
	lib/core/base/options.c lib/core/base/options.h \
	lib/core/base/relaxed.h \
	lib/core/base/spinlock.c lib/core/base/spinlock.h \
	lib/core/base/thread_end.c lib/core/base/thread_end.h \
	lib/core/allocator/allocator.c lib/core/allocator/allocator.h \
	lib/core/streams/forget.c \
	lib/core/streams/ordered_free.c \
	lib/core/streams/stream.c lib/core/streams/stream.h \
	lib/core/streams/use.c \
	lib/core/store/bin.c \
	lib/core/store/buffer.h \
	lib/core/store/buffer_uses.c \
	lib/core/store/lane.c lib/core/store/store.h \
	lib/core/shard/all.c lib/core/shard/all.h \
	lib/core/shard/counts.c \
	lib/core/shard/shard.c lib/core/shard/shard.h \
	lib/core/shard/take_over.c \
	lib/core/shard/threads.c \
	lib/core/hooks/hook.c lib/core/hooks/hook.h \
	lib/core/hooks/device_call.c \
	lib/core/hooks/hook_call.c \
	lib/core/pool/allocate.c \
	lib/core/pool/buffer.c \
	lib/core/pool/defaults.c \
	lib/core/pool/device.c \
	lib/core/pool/carve.c \
	lib/core/pool/fit.c \
	lib/core/pool/free_all.c \
	lib/core/pool/forget_stream.c \
	lib/core/pool/leaving.c lib/core/pool/leaving.h \
	lib/core/pool/out_of_memory.c \
	lib/core/pool/pool.c lib/core/pool/pool.h \
	lib/core/pool/reclaim.c \
	lib/core/pool/release.c \
	lib/core/pool/request.h \
	lib/core/pool/reuse.c \
	lib/core/pool/shown_call.c \
	lib/core/pool/stats.c

arena_sources = \
	lib/arena/arena.c lib/arena/arena.h \
	lib/arena/blocks.c \
	lib/arena/figures.c \
	lib/arena/grow.c \
	lib/arena/loop.c lib/arena/loop.h \
	lib/arena/parts.c \
	lib/arena/plan.c \
	lib/arena/segments.c lib/arena/segments.h

host_sources = \
	lib/host/host_allocator.c \
	lib/host/simulated_allocator.c

# CUDA's driver is loaded at run time, as OpenCL's loader is, and no header of its is needed: so this
# is in every build.
cuda_sources = \
	lib/cuda/async_allocator.c \
	lib/cuda/async_pool.c lib/cuda/async_pool.h \
	lib/cuda/async_pool_device.c \
	lib/cuda/async_pool_figures.c \
	lib/cuda/async_pool_memory.c \
	lib/cuda/capture.c lib/cuda/capture.h \
	lib/cuda/context.c lib/cuda/context.h \
	lib/cuda/cuda_error.c lib/cuda/cuda_error.h \
	lib/cuda/device.c \
	lib/cuda/driver.c lib/cuda/driver.h \
	lib/cuda/mempool.c lib/cuda/mempool.h \
	lib/cuda/mempool_access.c \
	lib/cuda/mempool_attributes.c \
	lib/cuda/share.c \
	lib/cuda/stream_order.c lib/cuda/stream_order.h

# What the core needs of the hooks, by their public interface, for CLPOOL_TRACE.
trace_hook_sources = \
	lib/hooks/call_stack.c lib/hooks/call_stack.h \
	lib/hooks/call_tree.c lib/hooks/call_tree.h \
	lib/hooks/environment_trace.c \
	lib/hooks/frames.c lib/hooks/frames.h \
	lib/hooks/object.c lib/hooks/object.h \
	lib/hooks/trace_file.c lib/hooks/trace_file.h \
	lib/hooks/trace_hook.c lib/hooks/trace_hook.h \
	lib/hooks/walk.c

hook_sources = $(trace_hook_sources) \
	lib/hooks/debug_print.c \
	lib/hooks/frame_lines.c lib/hooks/frame_lines.h \
	lib/hooks/line_profile.c lib/hooks/line_profile.h \
	lib/hooks/line_report.c lib/hooks/line_report.h \
	lib/hooks/stack_numbers.c lib/hooks/stack_numbers.h \
	lib/hooks/symbols.c lib/hooks/symbols.h

noinst_LTLIBRARIES += libclpool-internal.la
libclpool_internal_la_SOURCES = $(core_sources) $(arena_sources) $(host_sources) $(cuda_sources) \
	$(hook_sources)
libclpool_internal_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
libclpool_internal_la_LIBADD =

if HAVE_OPENCL
clpoolinclude_HEADERS += include/clpool/opencl.h
libclpool_internal_la_SOURCES += \
	lib/opencl/buffer_allocator.c \
	lib/opencl/cl_error.c lib/opencl/cl_error.h \
	lib/opencl/commit.c lib/opencl/commit.h \
	lib/opencl/device.c lib/opencl/device.h \
	lib/opencl/driver_lock.c lib/opencl/driver_lock.h \
	lib/opencl/loader.c lib/opencl/loader.h \
	lib/opencl/mem_flags.c lib/opencl/mem_flags.h \
	lib/opencl/pending_frees.c lib/opencl/pending_frees.h \
	lib/opencl/pooled_mem.c \
	lib/opencl/queue_order.c lib/opencl/queue_order.h \
	lib/opencl/sub_buffer.c lib/opencl/sub_buffer.h \
	lib/opencl/svm_allocator.c \
	lib/opencl/under_layer.c lib/opencl/under_layer.h
else
EXTRA_DIST += include/clpool/opencl.h
endif

if HAVE_LIBDW
libclpool_internal_la_SOURCES += lib/hooks/debug_info.c
libclpool_internal_la_LIBADD += $(LIBDW_LIBS)
else
libclpool_internal_la_SOURCES += lib/hooks/no_debug_info.c
endif

lib_LTLIBRARIES += libclpool.la
libclpool_la_SOURCES =
libclpool_la_LIBADD = libclpool-internal.la
libclpool_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(CLP_LT_VERSION) $(NO_UNDEFINED_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/lib/clpool.map
EXTRA_libclpool_la_DEPENDENCIES = lib/clpool.map
EXTRA_DIST += lib/clpool.map

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = lib/clpool.pc
cmakedir = $(libdir)/cmake/clpool
nodist_cmake_DATA = lib/clpool-config.cmake lib/clpool-config-version.cmake
aclocaldir = $(datadir)/aclocal
dist_aclocal_DATA = m4/clpool.m4
