# SPDX-License-Identifier: MIT
# Benchmarks: what the figures in the README come from. `make bench` builds and runs them; tests
# never look at a clock.

# What benchmarks share: the clock, the patterns, the command line, the tables.
bench_sources = \
	bench/compare.c bench/compare.h \
	bench/contest.c bench/contest.h \
	bench/crew.c bench/crew.h \
	bench/failed.c bench/failed.h \
	bench/options.c bench/options.h \
	bench/report.c bench/report.h \
	bench/ring.h \
	bench/rivals.h \
	bench/source.c bench/source.h \
	bench/spin.h \
	bench/stub.c bench/stub.h

# And what those share that run on OpenCL devices.
bench_opencl_sources = bench/devices.c bench/devices.h

EXTRA_PROGRAMS += bench/pair
bench_pair_SOURCES = $(bench_sources) \
	bench/pair.c bench/pair.h \
	bench/pair_host.c \
	bench/pair_peak.c \
	bench/pair_scale.c \
	bench/rivals.c
bench_pair_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
bench_pair_LDADD = libclpool.la -ldl
if HAVE_OPENCL
bench_pair_SOURCES += $(bench_opencl_sources) bench/pair_opencl.c bench/pair_cplusplus.h
bench_pair_LDADD += $(OPENCL_LIBS)
else
bench_pair_SOURCES += bench/pair_no_opencl.c
endif
# Linked as C++ only where that is: there may be no compiler for it.
if HAVE_OPENCL_HPP
bench_pair_SOURCES += bench/pair_cplusplus.cc
bench_pair_CPPFLAGS += -DHAVE_OPENCL_HPP
bench_pair_LINK = $(CXXLINK)
else
bench_pair_LINK = $(LINK)
endif

EXTRA_PROGRAMS += bench/order
bench_order_SOURCES = $(bench_sources) \
	bench/order.c bench/order.h \
	bench/order_host.c
bench_order_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
bench_order_LDADD = libclpool.la
if HAVE_OPENCL
bench_order_SOURCES += $(bench_opencl_sources) \
	bench/order_across.c \
	bench/order_opencl.c bench/order_opencl.h
bench_order_LDADD += $(OPENCL_LIBS)
else
bench_order_SOURCES += bench/order_no_opencl.c
endif

EXTRA_PROGRAMS += bench/hooks
bench_hooks_SOURCES = $(bench_sources) \
	bench/hooks.c \
	bench/rivals.c
bench_hooks_LDADD = libclpool.la -ldl

EXTRA_PROGRAMS += bench/cuda
bench_cuda_SOURCES = $(bench_sources) \
	bench/cuda.c \
	bench/cuda_driver.c bench/cuda_driver.h
bench_cuda_LDADD = libclpool.la -ldl

bench_programs = \
	bench/pair$(EXEEXT) \
	bench/order$(EXEEXT) \
	bench/hooks$(EXEEXT) \
	bench/cuda$(EXEEXT)
CLEANFILES += $(bench_programs)

# Options for all: make bench BENCH_OPTIONS='--bytes=65536 --json'. Where there is no GPU, its
# benchmarks say so and exit with 77. Those in Python are left out where there is no Python.
PYTHON3 = python3
run_python = PYTHONDONTWRITEBYTECODE=1 $(PYTHON3)
bench: $(bench_programs)
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache' bench/pair$(EXEEXT) $(BENCH_OPTIONS)
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache' bench/order$(EXEEXT) $(BENCH_OPTIONS)
	bench/hooks$(EXEEXT) $(BENCH_OPTIONS)
	bench/cuda$(EXEEXT) $(BENCH_OPTIONS) || test $$? -eq 77
	@if command -v $(PYTHON3) >/dev/null; then \
	  $(run_python) $(srcdir)/bench/cuda_pair.py $(BENCH_OPTIONS) || test $$? -eq 77; \
	else \
	  echo 'bench/cuda_pair.py: skipped: there is no $(PYTHON3)'; \
	fi

# On a CUDA device, clpool and its rivals, and recorded traces on both:
# make -s bench-cuda TRACES='a.csv.gz b.csv.gz'
TRACES = $(srcdir)/examples/data/resnet50_train.csv.gz
bench-cuda: bench/cuda$(EXEEXT) tools/clpool$(EXEEXT)
	@PYTHON3='$(PYTHON3)' $(SHELL) $(srcdir)/bench/cuda_all.sh $(TRACES) || test $$? -eq 77

# The way of a request through the library, call by call.
walk: config.h
	@top_srcdir='$(srcdir)' top_builddir='$(builddir)' CC='$(CC)' $(SHELL) $(srcdir)/bench/walk.sh
.PHONY: bench bench-cuda walk

EXTRA_DIST += bench/README bench/even-trace.awk bench/random-trace.awk \
	bench/any_program.py \
	bench/cuda_all.sh \
	bench/cuda_pair.py \
	bench/cuda_replay.py \
	bench/cuda_rivals.py \
	bench/cuda_table.py \
	bench/frontier.sh \
	bench/walk.c bench/walk.sh
