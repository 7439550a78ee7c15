# SPDX-License-Identifier: MIT
# Tests: Check programs in the folders of what they test, and scripts.
#
# A test program:                         A test script (tests/tools/check-x.sh):
#   test_programs += tests/tools/test_x        built_checks += tests/tools/check-x.sh
# with the programs inside HAVE_CHECK, the scripts outside of it. All of them are TESTS, but that
# builds with a sanitizer leave out the tree_checks, which are scripts that say the same however the
# library is built. A program links what LDADD says: of the archives, that is what it names and no
# more.

built_checks =
tree_checks =
# The log of a test depends on its program, so that make check TESTS=... builds what is needed.
EXTRA_PROGRAMS += $(test_programs)
CLEANFILES += $(test_programs)
TESTS += $(test_programs) $(built_checks)
if !SANITIZED
TESTS += $(tree_checks)
endif
dist_check_SCRIPTS += $(built_checks) $(tree_checks)
TEST_EXTENSIONS = .sh .py
SH_LOG_COMPILER = $(SHELL)
PY_LOG_COMPILER = $(SHELL) -c \
	'command -v python3 >/dev/null || exit 77; exec python3 -B "$$@"' python

# What every test sees, however the caller's shell is set up.
AM_TESTS_ENVIRONMENT = \
	unset CLPOOL_ARENA CLPOOL_HOLD CLPOOL_LAYER_LIBRARY CLPOOL_LAYER_STACKS CLPOOL_LAYER_TRACE \
	  CLPOOL_LEADING_BITS CLPOOL_LOADER CLPOOL_MEMORY_LIMIT CLPOOL_TRACE CLPOOL_TRACE_STACKS \
	  OPENCL_LAYERS; \
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache'; export POCL_CACHE_DIR; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; NM='$(NM)'; export NM; \
	CLANG_FORMAT='$(CLANG_FORMAT)'; export CLANG_FORMAT;

if TOOL
trace_LIBS = .libs/libclpool-trace.a $(ZLIB_LIBS) -lm
endif
internal_LIBS = .libs/libclpool-internal.a $(LIBDW_LIBS)

# Tests take longer to compile than to run, so TESTS_CFLAGS follow the user's CFLAGS. Their callbacks
# look at few of their arguments.
tests/%.$(OBJEXT): CFLAGS += $(TESTS_CFLAGS) -Wno-unused-parameter

# Tests are linked without libtool, which takes 0.4 processor seconds to find out which linker it
# runs: that is all after --mode=link. They link what libtool keeps in
# .libs: the archives of its convenience libraries, and two shared libraries, which they find there.
linked_tests = $(test_programs) $(layer_programs)
$(linked_tests): private LIBTOOL = $(SHELL) -c \
	'until [ "$$1" = --mode=link ]; do shift; done; shift; exec "$$@"' link
$(linked_tests): private LDFLAGS += $(TESTS_LDFLAGS) \
	-Wl,-rpath,$(abs_top_builddir)/.libs,-rpath,$(abs_top_builddir)/tests/fakecuda/.libs
.libs/libclpool-internal.a: libclpool-internal.la
	@:
.libs/libclpool-trace.a: libclpool-trace.la
	@:
.libs/libclpool.so: libclpool.la
	@:
tests/fakecuda/.libs/libfakecuda.so: tests/fakecuda/libfakecuda.la
	@:
EXTRA_DIST += tests/layer/layer.sh tests/layer/check-suites.sh \
	tests/layer/refusals.txt tests/layer/wrong-python.txt tests/layer/wrong.txt

# --- What tests share -----------------------------------------------------------------------------

if HAVE_CHECK
check_LIBRARIES += tests/libclptest.a
tests_libclptest_a_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_libclptest_a_CFLAGS = $(AM_CFLAGS) -g
tests_libclptest_a_SOURCES = \
	tests/support/arenas.c tests/support/arenas.h \
	tests/support/chance.h \
	tests/support/cuda_device.c tests/support/cuda_device.h \
	tests/support/failing_allocator.c tests/support/failing_allocator.h \
	tests/support/failmalloc.c tests/support/failmalloc.h \
	tests/support/instrumented.h \
	tests/support/late_device.c tests/support/late_device.h \
	tests/support/late_rig.c tests/support/late_rig.h \
	tests/support/late_streams.c tests/support/late_streams.h \
	tests/support/order_cases.h tests/support/order_suite.c tests/support/order_suite.h \
	tests/support/pools.c tests/support/pools.h \
	tests/support/recorder.c tests/support/recorder.h \
	tests/support/suite.c tests/support/suite.h \
	tests/support/workers.c tests/support/workers.h \
	tests/api/rows.c tests/api/rows.h
if TOOL
tests_libclptest_a_SOURCES += \
	tests/support/replays.h \
	tests/support/traces.c tests/support/traces.h
endif
if HAVE_OPENCL
tests_libclptest_a_SOURCES += \
	tests/support/opencl_devices.h \
	tests/support/opencl_fixture.c tests/support/opencl_fixture.h \
	tests/support/watch_opencl.c tests/support/watch_opencl.h
test_opencl_LIBS = $(OPENCL_LIBS)
endif
LDADD = tests/libclptest.a $(trace_LIBS) $(internal_LIBS) $(test_opencl_LIBS) $(CHECK_LIBS)

# Tests that count and fail allocations of host memory: libc's functions are wrapped. Check's archive,
# which comes last, calls the wrappers as well, so they are asked for by name.
failmalloc_link_flags = $(AM_LDFLAGS) $(WRAP_LDFLAGS) -Wl,-u,__wrap_malloc \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=reallocarray,--wrap=aligned_alloc,--wrap=posix_memalign \
	-Wl,--wrap=strdup,--wrap=free
else
LDADD = $(trace_LIBS) $(internal_LIBS)
check-local:
	@echo 'make check needs Check, the unit test framework (Debian: check),' \
	  'and a configure that finds it' >&2
	@exit 1
endif

# --- Wrong arguments of the public calls: tables of rows ------------------------------------------

EXTRA_DIST += \
	tests/api/allocator.def tests/api/arena.def tests/api/bin.def tests/api/buffer.def \
	tests/api/bytes.def tests/api/cuda.def tests/api/cuda_mempool.def tests/api/hook.def \
	tests/api/log.def tests/api/opencl.def tests/api/opencl_svm.def tests/api/pool.def \
	tests/api/profile.def tests/api/trace.def

if HAVE_CHECK
test_programs += tests/api/test_arguments tests/api/test_arguments_cuda
tests_api_test_arguments_cuda_LDADD = $(cuda_LDADD)
if HAVE_OPENCL
test_programs += tests/api/test_arguments_opencl
tests_api_test_arguments_opencl_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
endif
endif

# --- The public headers: a program for each, whose files are a suite each -------------------------

if HAVE_CHECK
test_programs += tests/api/test_allocator tests/api/test_arena tests/api/test_hook \
	tests/api/test_pool tests/api/test_status tests/core/test_dlopen
tests_api_test_arena_SOURCES = tests/api/test_arena.c tests/api/arena_loops.c \
	tests/api/arena_order.c
tests_api_test_arena_LDFLAGS = $(failmalloc_link_flags) -Wl,--wrap=nanosleep
tests_api_test_hook_SOURCES = tests/api/test_hook.c tests/api/hook_registration.c
tests_api_test_hook_LDFLAGS = $(failmalloc_link_flags)
tests_api_test_pool_SOURCES = tests/api/test_pool.c tests/api/pool_defaults.c \
	tests/api/pool_held.c tests/api/pool_idle.c tests/api/pool_out_of_memory.c \
	tests/api/pool_peaks.c tests/api/pool_streams.c
tests_api_test_pool_LDFLAGS = $(failmalloc_link_flags)
# Those of status.h, bin.h, bytes.h and log.h.
tests_api_test_status_SOURCES = tests/api/test_status.c tests/api/bin.c tests/api/bytes.c \
	tests/api/log.c
tests_api_test_status_LDFLAGS = $(failmalloc_link_flags)
# --- The model: programs drawn by chance, and what must be true of them
test_programs += tests/model/test_crowd
tests_model_test_crowd_SOURCES = \
	tests/model/crowd.c tests/model/crowd.h \
	tests/model/crowd_check.c \
	tests/model/test_crowd.c

# --- The built-in hooks ---------------------------------------------------------------------------

test_programs += \
	tests/hooks/test_call_stack \
	tests/hooks/test_debug_print \
	tests/hooks/test_line_profile

# Random programs on random pools, and a model of what must come of them.
model_sources = \
	tests/model/calls.c tests/model/draw.c tests/model/program.h \
	tests/model/figures.c tests/model/held.c tests/model/hooks.c tests/model/user.c \
	tests/model/model.h tests/model/run.c
trial_sources = $(model_sources) tests/model/trial.c tests/model/trial.h
model_link_flags = $(AM_LDFLAGS) $(WRAP_LDFLAGS) -Wl,--wrap=nanosleep
test_programs += tests/model/test_model
tests_model_test_model_SOURCES = tests/model/test_model.c $(trial_sources)
tests_model_test_model_LDFLAGS = $(model_link_flags)
test_programs += tests/model/test_nth_failure
tests_model_test_nth_failure_SOURCES = tests/model/test_nth_failure.c $(trial_sources)
tests_model_test_nth_failure_LDFLAGS = $(failmalloc_link_flags) -Wl,--wrap=nanosleep

# Attacks: what programs may do to the library at the worst moment.
test_programs += \
	tests/hostile/test_cancel \
	tests/hostile/test_inherited

tests_hooks_test_line_profile_LDFLAGS = $(failmalloc_link_flags)
endif

AM_TESTS_ENVIRONMENT += CLP_SANITIZER_FLAGS='$(SANITIZER_CFLAGS)'; export CLP_SANITIZER_FLAGS; \
	OPENCL_LIBS='$(OPENCL_LIBS)'; export OPENCL_LIBS; LIBDW_LIBS='$(LIBDW_LIBS)'; export LIBDW_LIBS;
if HAVE_LIBDW
AM_TESTS_ENVIRONMENT += clp_libdw=yes; export clp_libdw;
else
AM_TESTS_ENVIRONMENT += clp_libdw=no; export clp_libdw;
endif
built_checks += tests/hooks/check-line-profile.sh
EXTRA_DIST += tests/support/profiled.c

# --- OpenCL ---------------------------------------------------------------------------------------

# The leak check leaves out what PoCL and the LLVM inside of it lose themselves, nothing of clpool's.
# To tell the two apart, AddressSanitizer needs whole call stacks, also through code without frame
# pointers. Its guess at thread-local memory (intercept_tls_get_addr) crashes on what PoCL loads. It does
# not learn that a cancelled thread has left its frames, and so reports its own use of the signal stack
# at the thread's end as an error (use_sigaltstack).
AM_TESTS_ENVIRONMENT += \
	ASAN_OPTIONS=fast_unwind_on_malloc=0:intercept_tls_get_addr=0:use_sigaltstack=0; \
	export ASAN_OPTIONS; \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/support/lsan.supp:print_suppressions=0'; \
	export LSAN_OPTIONS;
EXTRA_DIST += tests/support/lsan.supp

if HAVE_CHECK
if HAVE_OPENCL
test_programs += \
	tests/opencl/test_allocators \
	tests/opencl/test_cl_order_stress \
	tests/opencl/test_loader \
	tests/opencl/test_order_opencl \
	tests/opencl/test_pools
tests_opencl_test_allocators_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_opencl_test_allocators_LDFLAGS = $(failmalloc_link_flags)
tests_opencl_test_cl_order_stress_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_opencl_test_loader_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_opencl_test_loader_LDFLAGS = $(AM_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dl_iterate_phdr
tests_opencl_test_order_opencl_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_opencl_test_pools_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
endif
endif

# --- CUDA, on the fake driver, and on the real one where it is ------------------------------------

tree_checks += tests/cuda/check-cuda-header.sh
EXTRA_DIST += tests/support/cuda_header.c

if HAVE_CHECK
# A shared library as the driver is one: the library loads it by its path, tests link with it, and
# both have the same one. -rpath makes it a shared library; it is never installed.
check_LTLIBRARIES += tests/fakecuda/libfakecuda.la
tests_fakecuda_libfakecuda_la_SOURCES = \
	tests/fakecuda/calls.c \
	tests/fakecuda/devices.c \
	tests/fakecuda/fake.h \
	tests/fakecuda/fakecuda.h \
	tests/fakecuda/memory.c \
	tests/fakecuda/mempools.c \
	tests/fakecuda/streams.c
tests_fakecuda_libfakecuda_la_LDFLAGS = $(AM_LDFLAGS) $(NO_UNDEFINED_LDFLAGS) \
	-shared -avoid-version -rpath $(abs_top_builddir)/tests/fakecuda \
	-export-symbols-regex '^(cu|fakecuda_)'

cuda_LDADD = $(LDADD) tests/fakecuda/.libs/libfakecuda.so
# The cases of tests/gpu are for each driver: NVIDIA's, without which they are skipped, and the fake.
gpu_sources = \
	tests/gpu/allocator.c \
	tests/gpu/async_pool.c \
	tests/gpu/capture.c \
	tests/gpu/gpu.c tests/gpu/gpu.h \
	tests/gpu/mempool.c \
	tests/gpu/two.c
test_programs += \
	tests/cuda/test_cuda \
	tests/cuda/test_cuda_failures \
	tests/cuda/test_driver \
	tests/cuda/test_order_cuda \
	tests/gpu/test_gpu
tests_cuda_test_cuda_SOURCES = tests/cuda/test_cuda.c $(gpu_sources)
tests_cuda_test_cuda_LDADD = $(cuda_LDADD)
tests_cuda_test_cuda_failures_LDADD = $(cuda_LDADD)
tests_cuda_test_cuda_failures_LDFLAGS = $(failmalloc_link_flags)
tests_cuda_test_driver_LDADD = $(cuda_LDADD)
tests_cuda_test_driver_LDFLAGS = $(AM_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose
tests_cuda_test_order_cuda_LDADD = $(cuda_LDADD)
tests_gpu_test_gpu_SOURCES = tests/gpu/test_gpu.c $(gpu_sources)
endif

# --- Traces and the tool --------------------------------------------------------------------------

if TOOL
if HAVE_CHECK
test_programs += \
	tests/trace/test_costs \
	tests/trace/test_reader \
	tests/trace/test_replay \
	tests/trace/test_survey \
	tests/trace/test_tune \
	tests/tools/test_devices \
	tests/hooks/test_trace_hook \
	tests/hooks/test_environment_trace
tests_trace_test_reader_LDFLAGS = $(failmalloc_link_flags)
tests_trace_test_survey_LDFLAGS = $(failmalloc_link_flags)
tests_trace_test_tune_LDFLAGS = $(failmalloc_link_flags)
tests_tools_test_devices_SOURCES = tests/tools/test_devices.c tools/devices.c
tests_hooks_test_trace_hook_LDFLAGS = $(failmalloc_link_flags) -Wl,--wrap=fopen,--wrap=fwrite
tests_hooks_test_environment_trace_LDFLAGS = $(failmalloc_link_flags) \
	-Wl,--wrap=fopen,--wrap=pthread_atfork
tests_hooks_test_environment_trace_LDADD = $(cuda_LDADD)
endif
layer_checks = \
	tests/layer/check-check.sh \
	tests/layer/check-loader.sh \
	tests/layer/check-record.sh \
	tests/layer/check-run.sh
layer_programs = tests/layer/program$(EXEEXT)
EXTRA_PROGRAMS += tests/layer/program
tests_layer_program_SOURCES = \
	tests/layer/program.c \
	tests/support/chance.h tests/support/opencl_devices.h
tests_layer_program_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_layer_program_LDADD = $(OPENCL_LIBS)
CLEANFILES += $(layer_programs)
tests_layer_test_layer_SOURCES = \
	tests/layer/fake_driver.c tests/layer/fake_driver.h \
	tests/layer/test_layer.c
tests_layer_test_layer_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
if LAYER
if HAVE_CHECK
test_programs += tests/layer/test_layer
endif
built_checks += $(layer_checks)
$(layer_checks:.sh=.log): tools/clpool$(EXEEXT) $(layer_programs) $(pkglib_LTLIBRARIES)

# Tests of clpool's and of CLBlast, as far as it is installed, under the layers: not a part of `make
# check`.
check-layer: all $(filter tests/opencl/test_%,$(test_programs))
	. $(srcdir)/tests/support/no_sysfs.sh; top_srcdir='$(srcdir)' top_builddir='$(builddir)' \
	  sh $(srcdir)/tests/layer/check-suites.sh $(filter tests/opencl/test_%,$(test_programs))
else
EXTRA_DIST += $(layer_checks)
check-layer:
	@echo 'check-layer needs an OpenCL that has CL/cl_layer.h' >&2
	@exit 1
endif
# What takes longest comes first, and depends on nothing that make looks at before it runs others, so
# that it does not run alone in the end.
built_checks += \
	tests/tools/check-tune.py \
	tests/tools/check-tool.py \
	tests/tools/check-report.py \
	tests/tools/check-bench.py
else
AM_TESTS_ENVIRONMENT += clp_tool=no; export clp_tool;
endif
EXTRA_DIST += tests/tools/completion.txt tests/tools/outputs.txt tests/tools/program.py \
	tests/tools/refusals.txt \
	tests/tools/traces.txt tests/trace/short_loop.csv.gz
if SANITIZED
AM_TESTS_ENVIRONMENT += clp_sanitized=yes; export clp_sanitized;
endif
if FUZZING
AM_TESTS_ENVIRONMENT += clp_sanitized=yes; export clp_sanitized;
endif

# --- The house: what the tree and the built library must look like --------------------------------

AM_TESTS_ENVIRONMENT += \
	clp_examples='$(example_programs)'; export clp_examples; \
	clp_headers='$(clpoolinclude_HEADERS) $(nodist_clpoolinclude_HEADERS)'; export clp_headers; \
	OPENCL_CFLAGS='$(OPENCL_CFLAGS)'; export OPENCL_CFLAGS; \
	CLP_BUILD_FLAGS='$(SANITIZER_CFLAGS) $(COVERAGE_CFLAGS) $(FUZZING_CFLAGS)'; \
	export CLP_BUILD_FLAGS; \
	SHELLCHECK='$(SHELLCHECK)'; export SHELLCHECK; \
	MAKE='$(MAKE)'; export MAKE; PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; \
	. $(top_srcdir)/tests/support/no_sysfs.sh;
if HAVE_CXX
AM_TESTS_ENVIRONMENT += HOUSE_CXX='$(CXX)'; export HOUSE_CXX;
endif

# clpool.hpp, by the shared library and the public headers alone.
if HAVE_CXX
test_programs += tests/cplusplus/test_cplusplus
endif
tests_cplusplus_test_cplusplus_SOURCES = tests/cplusplus/test_cplusplus.cc
tests_cplusplus_test_cplusplus_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
tests_cplusplus_test_cplusplus_LDADD = .libs/libclpool.so $(OPENCL_LIBS)

built_checks += tests/house/check-examples.py
tree_checks += \
	tests/house/check-docs.py \
	tests/house/check-doxygen.sh \
	tests/house/check-style.sh \
	tests/house/check-headers.sh \
	tests/house/check-library.py \
	tests/house/check-source.py
EXTRA_DIST += \
	tests/support/house.sh tests/support/no_sysfs.sh \
	tests/support/walk.c \
	tests/house/examples.txt tests/house/skips \
	tests/house/install/CMakeLists.txt tests/house/install/Makefile.in \
	tests/house/install/configure.ac tests/house/install/consumer.c \
	tests/house/install/meson.build

# Scripts that take long, each with a target of its own; `make check` leaves them out.
step_checks = \
	tests/house/check-install.sh \
	tests/house/check-walk.sh
dist_check_SCRIPTS += $(step_checks)
# check-TESTS builds all of these first.
run_tests = $(MAKE) $(AM_MAKEFLAGS) check-TESTS check_LIBRARIES=
check-install: all
	$(run_tests) TESTS=tests/house/check-install.sh
check-standards: include/clpool/version.h
	CLPT_STANDARDS=all $(run_tests) TESTS=tests/house/check-headers.sh
# The way of a request through the library, call by call.
walk: config.h
	@CLPT_WALK=print top_srcdir='$(srcdir)' top_builddir='$(builddir)' CC='$(CC)' \
	  $(SHELL) $(srcdir)/tests/house/check-walk.sh
check-walk: config.h
	$(run_tests) TESTS=tests/house/check-walk.sh

# All that tests/house says of the tree and of the built library, without the tests.
check-house: all
	$(run_tests) TESTS='$(tree_checks) $(filter tests/house/%,$(built_checks))'

# Planted faults, one at a time, in a copy of the tree: some test must find each. Not a part of `make
# check`. PLANTS_COUNT=5 PLANTS_SEED=TEXT chooses five, PLANTS has words for the script.
EXTRA_DIST += tests/house/check-plants.py \
	tests/house/plants/arena.txt tests/house/plants/check.txt \
	tests/house/plants/core.txt tests/house/plants/cuda.txt \
	tests/house/plants/hooks.txt tests/house/plants/layer.txt tests/house/plants/opencl.txt \
	tests/house/plants/streams.txt tests/house/plants/tools.txt
check-plants:
	python3 '$(srcdir)/tests/house/check-plants.py' $(if $(PLANTS_COUNT),--count='$(PLANTS_COUNT)') \
	  $(if $(PLANTS_SEED),--seed='$(PLANTS_SEED)') $(PLANTS)

# --- Fuzzing: each target with libFuzzer, or else as a test over its corpus -----------------------

fuzz_targets =
if TOOL
fuzz_targets += tests/fuzz/fuzz_trace
endif
if HAVE_CHECK
fuzz_targets += tests/fuzz/fuzz_model
endif
tests_fuzz_fuzz_model_SOURCES = tests/fuzz/fuzz_model.c tests/fuzz/fuzz.h $(fuzz_driver) \
	$(model_sources)
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c tests/fuzz/fuzz.h $(fuzz_driver)
EXTRA_DIST += tests/fuzz/corpus

tests_fuzz_fuzz_model_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=nanosleep
if FUZZING
EXTRA_PROGRAMS += $(fuzz_targets)
tests_fuzz_fuzz_trace_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS)

# New inputs that reach further are collected in fuzz-corpus/; what crashes stays there, too.
FUZZ_SECONDS = 60
fuzz: $(fuzz_targets)
	@for target in $(fuzz_targets); do \
	  name=$${target##*/fuzz_}; \
	  $(MKDIR_P) fuzz-corpus/$$name || exit 1; \
	  $$target -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 \
	    -artifact_prefix=fuzz-corpus/$$name- \
	    fuzz-corpus/$$name $(srcdir)/tests/fuzz/corpus/$$name || exit 1; \
	done
else
fuzz_driver = tests/fuzz/driver.c
test_programs += $(fuzz_targets)
fuzz:
	@echo 'make fuzz needs a configure with --enable-fuzzing' >&2
	@exit 1
endif
.PHONY: fuzz

# --- Under valgrind: every test that is a program -------------------------------------------------

if VALGRIND
VALGRIND_FLAGS = --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
	--errors-for-leak-kinds=definite \
	--num-callers=30 --suppressions=$(abs_top_srcdir)/tests/support/pocl.supp
# What is left out is minutes of the driver's code; test_order_opencl makes the same calls.
VALGRIND_TESTS = $(filter-out tests/opencl/test_cl_order_stress, $(test_programs))
check-valgrind:
	CK_FORK=no CK_TIMEOUT_MULTIPLIER=20 $(MAKE) $(AM_MAKEFLAGS) check-TESTS \
	  TESTS='$(VALGRIND_TESTS)' \
	  TEST_SUITE_LOG=test-suite-valgrind.log \
	  LOG_COMPILER='$(VALGRIND) --quiet $(VALGRIND_FLAGS)'
else
check-valgrind:
	@echo 'check-valgrind needs valgrind, and a build without sanitizers or fuzzing' >&2
	@exit 1
endif
EXTRA_DIST += tests/support/pocl.supp
MOSTLYCLEANFILES = test-suite-valgrind.log

# --- Coverage: a table of folders, and the lines that nothing executed ----------------------------

if COVERAGE
# Counters of an earlier build do not fit this one.
check-coverage:
	find . -name '*.gcda' -exec rm -f {} +
	$(MAKE) $(AM_MAKEFLAGS) check
	GCOV='$(GCOV)' top_srcdir='$(srcdir)' python3 $(srcdir)/tests/support/coverage.py
else
check-coverage:
	@echo 'check-coverage needs a configure with --enable-coverage' >&2
	@exit 1
endif
EXTRA_DIST += tests/support/coverage.py tests/support/coverage.txt

# All that threads do with pools, for an hour or CLPT_STRESS_SECONDS.
soak: tests/model/test_crowd$(EXEEXT)
	CLPT_STRESS_SECONDS=$${CLPT_STRESS_SECONDS:-3600} CK_RUN_CASE=soak tests/model/test_crowd$(EXEEXT)
.PHONY: check-valgrind check-coverage check-layer check-plants soak
.PHONY: check-house check-install check-standards check-walk walk

# What PoCL compiled, what the fuzzer found, what gcov counted.
clean-local:
	rm -rf pocl-cache fuzz-corpus
	find . '(' -name '*.gcda' -o -name '*.gcno' ')' -exec rm -f {} +
