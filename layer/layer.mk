# SPDX-License-Identifier: MIT
# Layers of the OpenCL loader, one library each, for programs that know nothing of clpool. They link
# the objects of the library that they need, and no OpenCL: what they call of it, they are given.

if LAYER
pkglib_LTLIBRARIES += libclpool-layer.la libclpool-record.la libclpool-check.la
endif
layer_sources = \
	layer/dispatch.c layer/dispatch.h \
	layer/handles.c layer/handles.h \
	layer/watch.c layer/watch.h
layer_memory_sources = $(layer_sources) \
	layer/exact.c layer/exact.h \
	layer/mem.c layer/mem.h \
	layer/references.h \
	layer/work.h
layer_cppflags = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
layer_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared $(NO_UNDEFINED_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/layer/layer.map

libclpool_record_la_SOURCES = $(layer_sources) \
	layer/record.c \
	layer/recording.c layer/recording.h \
	lib/core/base/error.c \
	lib/core/base/fork.c \
	lib/core/base/spinlock.c \
	lib/core/base/thread_end.c \
	lib/hooks/call_stack.c \
	lib/hooks/call_tree.c \
	lib/hooks/frames.c \
	lib/hooks/object.c \
	lib/hooks/trace_file.c \
	lib/hooks/walk.c
libclpool_record_la_CPPFLAGS = $(layer_cppflags)
libclpool_record_la_LDFLAGS = $(layer_ldflags)
EXTRA_libclpool_record_la_DEPENDENCIES = layer/layer.map
EXTRA_DIST += layer/layer.map

# The pools are a copy of the library, whose names nobody else sees.
libclpool_layer_la_SOURCES = $(layer_memory_sources) \
	layer/account.c layer/account.h \
	layer/blocks.c layer/blocks.h \
	layer/buffer.c layer/buffer.h \
	layer/context.c layer/context.h \
	layer/enqueue.c \
	layer/kind.c layer/kind.h \
	layer/queue.c layer/queue.h \
	layer/run.c
libclpool_layer_la_CPPFLAGS = $(layer_cppflags)
libclpool_layer_la_LIBADD = libclpool-internal.la
libclpool_layer_la_LDFLAGS = $(layer_ldflags)
EXTRA_libclpool_layer_la_DEPENDENCIES = layer/layer.map

libclpool_check_la_SOURCES = $(layer_memory_sources) \
	layer/check.c \
	layer/check_call.c layer/check_call.h \
	layer/check_context.c layer/check_context.h \
	layer/check_kernel.c \
	layer/checked.c layer/checked.h \
	layer/findings.c layer/findings.h
libclpool_check_la_CPPFLAGS = $(layer_cppflags)
libclpool_check_la_LIBADD = libclpool-internal.la
libclpool_check_la_LDFLAGS = $(layer_ldflags)
EXTRA_libclpool_check_la_DEPENDENCIES = layer/layer.map

# The auditor of the dynamic linker. It runs in programs before anything else, with a C library of its
# own: without the runtimes of sanitizers or coverage, and without threads.
if AUDITOR
pkglib_LTLIBRARIES += libclpool-audit.la
endif
libclpool_audit_la_SOURCES = layer/audit.c
libclpool_audit_la_CFLAGS = -std=gnu11 $(WARN_CFLAGS) $(LTO_CFLAGS)
libclpool_audit_la_LDFLAGS = -module -avoid-version -shared $(NO_UNDEFINED_LDFLAGS)
