# SPDX-License-Identifier: MIT
# Benchmarks: what the figures in the README come from. `make bench` builds and runs them; tests
# never look at a clock.

EXTRA_PROGRAMS += bench/pair
bench_pair_SOURCES = \
	bench/contest.c bench/contest.h \
	bench/pair.c bench/pair.h
bench_pair_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
bench_pair_LDADD = libclpool.la
if HAVE_OPENCL
bench_pair_SOURCES += bench/pair_opencl.c
bench_pair_LDADD += $(OPENCL_LIBS)
else
bench_pair_SOURCES += bench/pair_no_opencl.c
endif

bench: bench/pair$(EXEEXT)
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache' bench/pair$(EXEEXT)
.PHONY: bench

EXTRA_DIST += bench/README
CLEANFILES += bench/pair$(EXEEXT)
