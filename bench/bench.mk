# SPDX-License-Identifier: MIT
# Benchmarks: what the figures in the README come from. `make bench` builds and runs them; tests
# never look at a clock.

# What benchmarks share: the clock, the patterns, the command line, the tables.
bench_sources = \
	bench/compare.c bench/compare.h \
	bench/contest.c bench/contest.h \
	bench/crew.c bench/crew.h \
	bench/options.c bench/options.h \
	bench/report.c \
	bench/source.c bench/source.h

EXTRA_PROGRAMS += bench/pair
bench_pair_SOURCES = $(bench_sources) \
	bench/pair.c bench/pair.h \
	bench/pair_hooks.c \
	bench/rivals.c bench/rivals.h \
	bench/stub.c bench/stub.h
bench_pair_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
bench_pair_LDADD = libclpool.la -ldl
if HAVE_OPENCL
bench_pair_SOURCES += bench/pair_across.c bench/pair_opencl.c bench/pair_opencl.h \
	bench/pair_scopes.h
bench_pair_LDADD += $(OPENCL_LIBS)
endif
# Linked as C++ only where that is: there may be no compiler for it.
if HAVE_OPENCL_HPP
bench_pair_SOURCES += bench/pair_scopes.cc
bench_pair_CPPFLAGS += -DHAVE_OPENCL_HPP
bench_pair_LINK = $(CXXLINK)
else
bench_pair_LINK = $(LINK)
endif

EXTRA_PROGRAMS += bench/cuda
bench_cuda_SOURCES = $(bench_sources) bench/cuda.c
bench_cuda_LDADD = libclpool.la -ldl

# No benchmark: the study behind the settings that clpool tune tries. Built by its name.
if TOOL
EXTRA_PROGRAMS += bench/tune_study
CLEANFILES += bench/tune_study$(EXEEXT)
endif
bench_tune_study_SOURCES = bench/tune_study.c
bench_tune_study_LDADD = libclpool-trace.la libclpool-internal.la -lm

bench_programs = bench/pair$(EXEEXT) bench/cuda$(EXEEXT)
CLEANFILES += $(bench_programs)

# Options for all: make bench BENCH_OPTIONS='--bytes=65536 --json'. Where there is no GPU, its
# benchmark says so and exits with 77.
bench: $(bench_programs)
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache' bench/pair$(EXEEXT) $(BENCH_OPTIONS)
	bench/cuda$(EXEEXT) $(BENCH_OPTIONS) || test $$? -eq 77

# On a CUDA device, clpool and its rivals, and recorded traces on both:
# make -s bench-cuda TRACES='a.csv.gz b.csv.gz'
TRACES = $(srcdir)/examples/data/resnet50_train.csv.gz
bench-cuda: bench/cuda$(EXEEXT) tools/clpool$(EXEEXT)
	@PYTHONDONTWRITEBYTECODE=1 $(PYTHON3) $(srcdir)/bench/cuda_rivals.py all $(TRACES) || \
	  test $$? -eq 77
.PHONY: bench bench-cuda

EXTRA_DIST += bench/README bench/any_program.py bench/cuda_rivals.py bench/frontier.sh
