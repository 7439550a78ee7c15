# SPDX-License-Identifier: MIT
# The program clpool.

bin_PROGRAMS += tools/clpool
tools_clpool_SOURCES = \
	tools/allocators.c tools/allocators.h \
	tools/devices.h \
	tools/info.c \
	tools/json.c tools/json.h \
	tools/main.c \
	tools/program.c tools/program.h \
	tools/progress.c tools/progress.h \
	tools/quantities.c tools/quantities.h \
	tools/replay.c \
	tools/replay_arguments.c tools/replay_arguments.h \
	tools/replay_report.c tools/replay_report.h
tools_clpool_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tools_clpool_LDADD = libclpool-trace.la libclpool-internal.la

if HAVE_OPENCL
tools_clpool_SOURCES += \
	tools/opencl_allocators.c \
	tools/opencl_devices.c \
	tools/opencl_query.c tools/opencl_query.h
tools_clpool_LDADD += $(OPENCL_LIBS)
else
tools_clpool_SOURCES += tools/no_opencl.c
endif
