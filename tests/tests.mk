# SPDX-License-Identifier: MIT
# Tests: Check programs that mirror lib/, and scripts that check the house.
#
# A test program:               A test script (tests/check-x.sh):
#   check_PROGRAMS += tests/test_x      dist_check_SCRIPTS += tests/check-x.sh
#   TESTS += tests/test_x               TESTS += tests/check-x.sh
#   tests_test_x_LDADD = $(clptest_LDADD)
# with the programs inside HAVE_CHECK, the scripts outside of it.

TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)

# What every test sees, however the caller's shell is set up.
AM_TESTS_ENVIRONMENT = \
	unset CLPOOL_MEMORY_LIMIT CLPOOL_TRACE; \
	POCL_CACHE_DIR='$(abs_top_builddir)/pocl-cache'; export POCL_CACHE_DIR; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; NM='$(NM)'; export NM; \
	CLANG_FORMAT='$(CLANG_FORMAT)'; export CLANG_FORMAT;

# --- Check programs: the support library, then the core -------------------------------------------

if HAVE_CHECK
check_LTLIBRARIES += tests/libclptest.la
tests_libclptest_la_SOURCES = \
	tests/support/chance.h \
	tests/support/crowd.c tests/support/crowd.h \
	tests/support/failing_allocator.c tests/support/failing_allocator.h \
	tests/support/instrumented.h \
	tests/support/ladder.c tests/support/ladder.h \
	tests/support/late_blocks.c tests/support/late_blocks.h \
	tests/support/late_device.c tests/support/late_device.h \
	tests/support/late_rig.c tests/support/late_rig.h \
	tests/support/late_streams.c tests/support/late_streams.h \
	tests/support/late_users.c \
	tests/support/pools.c tests/support/pools.h \
	tests/support/recorder.c tests/support/recorder.h \
	tests/support/sleeper.c tests/support/sleeper.h \
	tests/support/suite.c tests/support/suite.h \
	tests/support/workers.c tests/support/workers.h
clptest_LDADD = tests/libclptest.la libclpool-internal.la $(CHECK_LIBS)

core_tests = \
	tests/test_status \
	tests/test_log \
	tests/test_bin \
	tests/test_bytes \
	tests/test_map \
	tests/test_options \
	tests/test_allocator \
	tests/test_host_allocator \
	tests/test_simulated_allocator \
	tests/test_pool \
	tests/test_buffer \
	tests/test_pyopencl \
	tests/test_stats \
	tests/test_reclaim \
	tests/test_limit \
	tests/test_limit_environment \
	tests/test_out_of_memory \
	tests/test_out_of_memory_callback \
	tests/test_device_failures \
	tests/test_lifetime \
	tests/test_threads \
	tests/test_threads_pools \
	tests/test_thread_cache \
	tests/test_thread_cache_bounds \
	tests/test_thread_cache_ends \
	tests/test_dlopen \
	tests/test_host_memory_failures \
	tests/test_warm_path \
	tests/test_hook \
	tests/test_hook_device \
	tests/test_hook_registration \
	tests/test_hook_owners \
	tests/test_hook_callbacks \
	tests/test_hook_threads \
	tests/test_hook_memory \
	tests/test_debug_print \
	tests/test_late_device \
	tests/test_order \
	tests/test_order_uses \
	tests/test_order_mixed \
	tests/test_order_kinds \
	tests/test_bind \
	tests/test_order_arguments \
	tests/test_order_marks \
	tests/test_order_reclaim \
	tests/test_order_out_of_memory \
	tests/test_order_failures \
	tests/test_order_programs \
	tests/test_forget_stream \
	tests/test_forget_stream_calls \
	tests/test_forget_stream_threads \
	tests/test_segments \
	tests/test_arena \
	tests/test_arena_limits \
	tests/test_arena_pool \
	tests/test_arena_order \
	tests/test_order_threads
check_PROGRAMS += $(core_tests)
TESTS += $(core_tests)
tests_test_status_LDADD = $(clptest_LDADD)
tests_test_log_LDADD = $(clptest_LDADD)
tests_test_bin_LDADD = $(clptest_LDADD)
tests_test_bytes_LDADD = $(clptest_LDADD)
tests_test_options_LDADD = $(clptest_LDADD)
tests_test_allocator_LDADD = $(clptest_LDADD)
tests_test_host_allocator_LDADD = $(clptest_LDADD)
tests_test_simulated_allocator_LDADD = $(clptest_LDADD)
tests_test_pool_LDADD = $(clptest_LDADD)
tests_test_buffer_LDADD = $(clptest_LDADD)
tests_test_pyopencl_LDADD = $(clptest_LDADD)
tests_test_stats_LDADD = $(clptest_LDADD)
tests_test_reclaim_LDADD = $(clptest_LDADD)
tests_test_limit_LDADD = $(clptest_LDADD)
tests_test_limit_environment_LDADD = $(clptest_LDADD)
tests_test_out_of_memory_LDADD = $(clptest_LDADD)
tests_test_out_of_memory_callback_LDADD = $(clptest_LDADD)
tests_test_device_failures_LDADD = $(clptest_LDADD)
tests_test_lifetime_LDADD = $(clptest_LDADD)
tests_test_threads_LDADD = $(clptest_LDADD)
tests_test_threads_pools_LDADD = $(clptest_LDADD)
tests_test_thread_cache_LDADD = $(clptest_LDADD)
tests_test_thread_cache_bounds_LDADD = $(clptest_LDADD)
tests_test_thread_cache_ends_LDADD = $(clptest_LDADD)
tests_test_late_device_LDADD = $(clptest_LDADD)
tests_test_order_LDADD = $(clptest_LDADD)
tests_test_order_uses_LDADD = $(clptest_LDADD)
tests_test_order_mixed_LDADD = $(clptest_LDADD)
tests_test_order_kinds_LDADD = $(clptest_LDADD)
tests_test_bind_LDADD = $(clptest_LDADD)
tests_test_order_arguments_LDADD = $(clptest_LDADD)
tests_test_order_marks_LDADD = $(clptest_LDADD)
tests_test_order_reclaim_LDADD = $(clptest_LDADD)
tests_test_order_out_of_memory_LDADD = $(clptest_LDADD)
tests_test_order_failures_LDADD = $(clptest_LDADD)
tests_test_order_programs_LDADD = $(clptest_LDADD)
tests_test_forget_stream_LDADD = $(clptest_LDADD)
tests_test_forget_stream_calls_LDADD = $(clptest_LDADD)
tests_test_forget_stream_threads_LDADD = $(clptest_LDADD)
tests_test_arena_LDADD = $(clptest_LDADD)
tests_test_arena_LDFLAGS = $(failmalloc_link_flags)
tests_test_arena_SOURCES = tests/test_arena.c $(failmalloc)
tests_test_arena_limits_LDADD = $(clptest_LDADD)
tests_test_arena_pool_LDADD = $(clptest_LDADD)
tests_test_arena_order_LDADD = $(clptest_LDADD)
tests_test_map_SOURCES = tests/test_map.c $(failmalloc)
tests_test_map_LDFLAGS = $(failmalloc_link_flags)
tests_test_map_LDADD = $(clptest_LDADD)
tests_test_segments_LDADD = $(clptest_LDADD)
tests_test_segments_LDFLAGS = $(failmalloc_link_flags)
tests_test_segments_SOURCES = tests/test_segments.c $(failmalloc) $(range_model)
tests_test_order_threads_LDADD = $(clptest_LDADD)
tests_test_hook_LDADD = $(clptest_LDADD)
tests_test_hook_device_LDADD = $(clptest_LDADD)
tests_test_hook_registration_LDADD = $(clptest_LDADD)
tests_test_hook_owners_LDADD = $(clptest_LDADD)
tests_test_hook_callbacks_LDADD = $(clptest_LDADD)
tests_test_hook_threads_LDADD = $(clptest_LDADD)
tests_test_debug_print_LDADD = $(clptest_LDADD)
tests_test_dlopen_LDADD = tests/libclptest.la libclpool-internal.la $(CHECK_LIBS) -ldl
tests_test_bin_SOURCES = tests/test_bin.c tests/bin_answers.inc

# The same threads, on a core that lets others run between the steps of the caches' protocol, and
# tells helgrind what its atomics order: check-helgrind.sh runs them there.
check_LTLIBRARIES += tests/libclpool-stepped.la
stepped_CPPFLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/tests/support/step.h \
	-include $(top_srcdir)/tests/support/helgrind.h
stepped_LDADD = tests/libclptest.la tests/libclpool-stepped.la $(CHECK_LIBS)
tests_libclpool_stepped_la_SOURCES = $(core_sources) $(trace_hook_sources) \
	tests/support/helgrind.c tests/support/helgrind.h \
	tests/support/step.c tests/support/step.h
tests_libclpool_stepped_la_CPPFLAGS = $(stepped_CPPFLAGS)
stepped_tests = \
	tests/test_threads_stepped \
	tests/test_threads_pools_stepped \
	tests/test_thread_cache_stepped \
	tests/test_thread_cache_ends_stepped \
	tests/test_order_threads_stepped \
	tests/test_forget_stream_threads_stepped
check_PROGRAMS += $(stepped_tests)
TESTS += $(stepped_tests)
tests_test_threads_stepped_SOURCES = tests/test_threads.c
tests_test_threads_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_threads_stepped_LDADD = $(stepped_LDADD)
tests_test_threads_pools_stepped_SOURCES = tests/test_threads_pools.c
tests_test_threads_pools_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_threads_pools_stepped_LDADD = $(stepped_LDADD)
tests_test_thread_cache_stepped_SOURCES = tests/test_thread_cache.c
tests_test_thread_cache_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_thread_cache_stepped_LDADD = $(stepped_LDADD)
tests_test_thread_cache_ends_stepped_SOURCES = tests/test_thread_cache_ends.c
tests_test_thread_cache_ends_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_thread_cache_ends_stepped_LDADD = $(stepped_LDADD)
tests_test_order_threads_stepped_SOURCES = tests/test_order_threads.c
tests_test_order_threads_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_order_threads_stepped_LDADD = $(stepped_LDADD)
tests_test_forget_stream_threads_stepped_SOURCES = tests/test_forget_stream_threads.c
tests_test_forget_stream_threads_stepped_CPPFLAGS = $(stepped_CPPFLAGS)
tests_test_forget_stream_threads_stepped_LDADD = $(stepped_LDADD)
AM_TESTS_ENVIRONMENT += clp_helgrind_tests='$(stepped_tests)'; export clp_helgrind_tests;

# These two count and fail allocations of host memory: libc's functions are wrapped.
failmalloc = tests/support/failmalloc.c tests/support/failmalloc.h
failmalloc_link_flags = $(AM_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
	-Wl,--wrap=reallocarray,--wrap=aligned_alloc,--wrap=posix_memalign \
	-Wl,--wrap=strdup,--wrap=strndup,--wrap=vasprintf,--wrap=free
tests_test_host_memory_failures_SOURCES = tests/test_host_memory_failures.c $(failmalloc)
tests_test_host_memory_failures_LDADD = $(clptest_LDADD)
tests_test_host_memory_failures_LDFLAGS = $(failmalloc_link_flags)
tests_test_hook_memory_SOURCES = tests/test_hook_memory.c $(failmalloc)
tests_test_hook_memory_LDADD = $(clptest_LDADD)
tests_test_hook_memory_LDFLAGS = $(failmalloc_link_flags)
tests_test_warm_path_SOURCES = tests/test_warm_path.c $(failmalloc)
tests_test_warm_path_LDADD = $(clptest_LDADD)
tests_test_warm_path_LDFLAGS = $(failmalloc_link_flags)
else
check-local:
	@echo 'make check needs Check, the unit test framework (Debian: check),' \
	  'and a configure that finds it' >&2
	@exit 1
endif

AM_TESTS_ENVIRONMENT += CLP_SANITIZER_FLAGS='$(SANITIZER_CFLAGS)'; export CLP_SANITIZER_FLAGS;
dist_check_SCRIPTS += tests/check-helgrind.sh
TESTS += tests/check-helgrind.sh
EXTRA_DIST += tests/support/helgrind.supp
check-helgrind:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/check-helgrind.sh

# --- The line profile -----------------------------------------------------------------------------

if HAVE_CHECK
profile_tests = \
	tests/test_call_stack \
	tests/test_call_tree \
	tests/test_object \
	tests/test_symbols \
	tests/test_frame_lines \
	tests/test_line_report \
	tests/test_line_profile \
	tests/test_line_profile_pools \
	tests/test_line_profile_threads
check_PROGRAMS += $(profile_tests)
TESTS += $(profile_tests)
profiles = tests/support/profiles.c tests/support/profiles.h
tests_test_call_stack_SOURCES = tests/test_call_stack.c $(profiles)
tests_test_call_stack_LDADD = $(clptest_LDADD)
tests_test_call_tree_SOURCES = tests/test_call_tree.c $(failmalloc)
tests_test_call_tree_LDADD = $(clptest_LDADD)
tests_test_call_tree_LDFLAGS = $(failmalloc_link_flags)
tests_test_object_LDADD = $(clptest_LDADD) -ldl
# These look for their own names.
tests_test_symbols_SOURCES = tests/test_symbols.c $(failmalloc)
tests_test_symbols_CFLAGS = $(AM_CFLAGS) -g
tests_test_symbols_LDADD = $(clptest_LDADD)
tests_test_symbols_LDFLAGS = $(failmalloc_link_flags)
tests_test_frame_lines_SOURCES = tests/test_frame_lines.c $(profiles) $(failmalloc)
tests_test_frame_lines_LDADD = $(clptest_LDADD)
tests_test_frame_lines_LDFLAGS = $(failmalloc_link_flags)
tests_test_line_report_SOURCES = tests/test_line_report.c $(profiles)
tests_test_line_report_LDADD = $(clptest_LDADD)
tests_test_line_profile_SOURCES = tests/test_line_profile.c $(profiles) $(failmalloc)
tests_test_line_profile_LDADD = $(clptest_LDADD)
tests_test_line_profile_LDFLAGS = $(failmalloc_link_flags)
tests_test_line_profile_pools_SOURCES = tests/test_line_profile_pools.c $(profiles)
tests_test_line_profile_pools_CFLAGS = $(AM_CFLAGS) -g
tests_test_line_profile_pools_LDADD = $(clptest_LDADD)
tests_test_line_profile_threads_SOURCES = tests/test_line_profile_threads.c $(profiles)
tests_test_line_profile_threads_LDADD = $(clptest_LDADD)
endif

AM_TESTS_ENVIRONMENT += \
	OPENCL_LIBS='$(OPENCL_LIBS)'; export OPENCL_LIBS; LIBDW_LIBS='$(LIBDW_LIBS)'; export LIBDW_LIBS;
if HAVE_LIBDW
AM_TESTS_ENVIRONMENT += clp_libdw=yes; export clp_libdw;
else
AM_TESTS_ENVIRONMENT += clp_libdw=no; export clp_libdw;
endif
dist_check_SCRIPTS += tests/check-line-profile.sh
TESTS += tests/check-line-profile.sh
EXTRA_DIST += tests/support/profiled.c

# --- OpenCL: its allocators, pools on them, running out, and the examples -------------------------

# The leak check leaves out what PoCL and the LLVM inside of it lose themselves, nothing of clpool's.
# To tell the two apart, AddressSanitizer needs whole call stacks, also through code without frame
# pointers. Its guess at thread-local memory (intercept_tls_get_addr) crashes on what PoCL loads.
AM_TESTS_ENVIRONMENT += \
	ASAN_OPTIONS=fast_unwind_on_malloc=0:intercept_tls_get_addr=0; export ASAN_OPTIONS; \
	LSAN_OPTIONS='suppressions=$(abs_top_srcdir)/tests/support/lsan.supp:print_suppressions=0'; \
	export LSAN_OPTIONS;
EXTRA_DIST += tests/support/lsan.supp

AM_TESTS_ENVIRONMENT += clp_examples='$(example_programs)'; export clp_examples;
dist_check_SCRIPTS += tests/check-examples.sh
TESTS += tests/check-examples.sh

if HAVE_CHECK
if HAVE_OPENCL
check_LTLIBRARIES += tests/libclptest-opencl.la
tests_libclptest_opencl_la_SOURCES = \
	tests/support/opencl_fixture.c tests/support/opencl_fixture.h \
	tests/support/order_memory.c tests/support/order_memory.h
tests_libclptest_opencl_la_CPPFLAGS = $(opencl_CPPFLAGS)
opencl_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS)
opencl_LDADD = tests/libclptest-opencl.la $(clptest_LDADD)

opencl_tests = \
	tests/test_cl_error \
	tests/test_cl_device \
	tests/test_cl_mem_flags \
	tests/test_cl_commit \
	tests/test_cl_buffer_allocator \
	tests/test_cl_queue_order \
	tests/test_cl_queue_order_failures \
	tests/test_cl_pending_frees \
	tests/test_cl_svm_allocator \
	tests/test_cl_svm_free \
	tests/test_cl_line_profile \
	tests/test_cl_pooled_mem \
	tests/test_cl_mem \
	tests/test_cl_pool \
	tests/test_cl_svm_pool \
	tests/test_cl_lifetime \
	tests/test_cl_order \
	tests/test_cl_order_calls \
	tests/test_cl_order_stress \
	tests/test_cl_arena \
	tests/test_exhaustion
check_PROGRAMS += $(opencl_tests)
TESTS += $(opencl_tests)

# These watch OpenCL's functions, which are wrapped.
wrap_opencl = tests/support/wrap_opencl.c tests/support/wrap_opencl.h \
	tests/support/opencl_live.c tests/support/opencl_live.h
queue_marks = tests/support/queue_marks.c tests/support/queue_marks.h $(wrap_opencl)
wrap_opencl_link_flags = $(AM_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=clCreateContext,--wrap=clRetainContext,--wrap=clReleaseContext \
	-Wl,--wrap=clCreateCommandQueueWithProperties,--wrap=clRetainCommandQueue \
	-Wl,--wrap=clReleaseCommandQueue,--wrap=clCreateBuffer,--wrap=clReleaseMemObject \
	-Wl,--wrap=clGetContextInfo,--wrap=clGetCommandQueueInfo,--wrap=clGetDeviceInfo \
	-Wl,--wrap=clEnqueueMigrateMemObjects,--wrap=clEnqueueWriteBuffer \
	-Wl,--wrap=clEnqueueFillBuffer \
	-Wl,--wrap=clEnqueueBarrierWithWaitList,--wrap=clEnqueueBarrier \
	-Wl,--wrap=clEnqueueMarkerWithWaitList,--wrap=clEnqueueMarker \
	-Wl,--wrap=clEnqueueWaitForEvents,--wrap=clWaitForEvents,--wrap=clGetEventInfo \
	-Wl,--wrap=clCreateUserEvent,--wrap=clRetainEvent,--wrap=clReleaseEvent \
	-Wl,--wrap=clCreateSubBuffer,--wrap=clSetMemObjectDestructorCallback \
	-Wl,--wrap=clSVMAlloc,--wrap=clSVMFree,--wrap=clEnqueueSVMFree \
	-Wl,--wrap=clFlush,--wrap=clFinish

tests_test_cl_error_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_error_LDADD = $(opencl_LDADD)
tests_test_cl_mem_flags_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_mem_flags_LDADD = $(opencl_LDADD)
tests_test_cl_mem_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_mem_LDADD = $(opencl_LDADD)
tests_test_cl_order_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_order_LDADD = $(opencl_LDADD)
tests_test_cl_arena_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_arena_LDADD = $(opencl_LDADD)
tests_test_cl_order_stress_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_order_stress_LDADD = $(opencl_LDADD)
tests_test_exhaustion_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_exhaustion_LDADD = $(opencl_LDADD)

tests_test_cl_device_SOURCES = tests/test_cl_device.c $(wrap_opencl)
tests_test_cl_device_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_device_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_device_LDADD = $(opencl_LDADD)
tests_test_cl_commit_SOURCES = tests/test_cl_commit.c $(wrap_opencl)
tests_test_cl_commit_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_commit_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_commit_LDADD = $(opencl_LDADD)
tests_test_cl_buffer_allocator_SOURCES = tests/test_cl_buffer_allocator.c $(wrap_opencl) \
	$(failmalloc)
tests_test_cl_buffer_allocator_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_buffer_allocator_LDFLAGS = $(wrap_opencl_link_flags) $(failmalloc_link_flags)
tests_test_cl_buffer_allocator_LDADD = $(opencl_LDADD)
tests_test_cl_queue_order_SOURCES = tests/test_cl_queue_order.c $(queue_marks)
tests_test_cl_queue_order_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_queue_order_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_queue_order_LDADD = $(opencl_LDADD)
tests_test_cl_queue_order_failures_SOURCES = tests/test_cl_queue_order_failures.c $(queue_marks) \
	$(failmalloc)
tests_test_cl_queue_order_failures_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_queue_order_failures_LDFLAGS = $(wrap_opencl_link_flags) $(failmalloc_link_flags)
tests_test_cl_queue_order_failures_LDADD = $(opencl_LDADD)
tests_test_cl_pending_frees_SOURCES = tests/test_cl_pending_frees.c $(wrap_opencl) $(failmalloc)
tests_test_cl_pending_frees_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_pending_frees_LDFLAGS = $(wrap_opencl_link_flags) $(failmalloc_link_flags)
tests_test_cl_pending_frees_LDADD = $(opencl_LDADD)
tests_test_cl_svm_allocator_SOURCES = tests/test_cl_svm_allocator.c $(wrap_opencl) $(failmalloc)
tests_test_cl_svm_allocator_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_svm_allocator_LDFLAGS = $(wrap_opencl_link_flags) $(failmalloc_link_flags)
tests_test_cl_svm_allocator_LDADD = $(opencl_LDADD)
tests_test_cl_svm_free_SOURCES = tests/test_cl_svm_free.c $(wrap_opencl)
tests_test_cl_svm_free_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_svm_free_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_svm_free_LDADD = $(opencl_LDADD)
tests_test_cl_line_profile_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_line_profile_LDADD = $(opencl_LDADD)
tests_test_cl_pooled_mem_SOURCES = tests/test_cl_pooled_mem.c $(wrap_opencl)
tests_test_cl_pooled_mem_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_pooled_mem_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_pooled_mem_LDADD = $(opencl_LDADD)
tests_test_cl_pool_SOURCES = tests/test_cl_pool.c $(wrap_opencl)
tests_test_cl_pool_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_pool_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_pool_LDADD = $(opencl_LDADD)
tests_test_cl_svm_pool_SOURCES = tests/test_cl_svm_pool.c $(wrap_opencl)
tests_test_cl_svm_pool_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_svm_pool_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_svm_pool_LDADD = $(opencl_LDADD)
tests_test_cl_order_calls_SOURCES = tests/test_cl_order_calls.c $(wrap_opencl)
tests_test_cl_order_calls_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_order_calls_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_order_calls_LDADD = $(opencl_LDADD)
tests_test_cl_lifetime_SOURCES = tests/test_cl_lifetime.c $(wrap_opencl)
tests_test_cl_lifetime_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_lifetime_LDFLAGS = $(wrap_opencl_link_flags)
tests_test_cl_lifetime_LDADD = $(opencl_LDADD)
endif
endif

# --- CUDA, on the fake driver ---------------------------------------------------------------------

dist_check_SCRIPTS += tests/check-cuda-header.sh
TESTS += tests/check-cuda-header.sh
EXTRA_DIST += tests/support/cuda_header.c

if HAVE_CHECK
# A shared library as the driver is one: the library loads it by its path, tests link with it, and
# both have the same one. -rpath makes it a shared library; it is never installed.
check_LTLIBRARIES += tests/fakecuda/libfakecuda.la
tests_fakecuda_libfakecuda_la_SOURCES = \
	tests/fakecuda/calls.c \
	tests/fakecuda/contexts.c \
	tests/fakecuda/devices.c \
	tests/fakecuda/events.c \
	tests/fakecuda/fake.h \
	tests/fakecuda/fakecuda.h \
	tests/fakecuda/memory.c \
	tests/fakecuda/mempool_memory.c \
	tests/fakecuda/mempools.c \
	tests/fakecuda/order.c \
	tests/fakecuda/reset.c \
	tests/fakecuda/segments.c \
	tests/fakecuda/sharing.c \
	tests/fakecuda/stream_calls.c \
	tests/fakecuda/streams.c \
	tests/fakecuda/symbols.c \
	tests/fakecuda/uses.c
tests_fakecuda_libfakecuda_la_LDFLAGS = $(AM_LDFLAGS) $(NO_UNDEFINED_LDFLAGS) \
	-shared -avoid-version -rpath $(abs_top_builddir)/tests/fakecuda \
	-export-symbols-regex '^(cu|fakecuda_)'

fakecuda_tests = \
	tests/test_fakecuda \
	tests/test_fakecuda_memory \
	tests/test_fakecuda_caller \
	tests/test_fakecuda_share
check_PROGRAMS += $(fakecuda_tests)
TESTS += $(fakecuda_tests)
fakecuda_fixture = tests/support/cuda_fixture.c tests/support/cuda_fixture.h
other_process = tests/support/other_process.c tests/support/other_process.h
fakecuda_LDADD = tests/fakecuda/libfakecuda.la $(clptest_LDADD)
tests_test_fakecuda_SOURCES = tests/test_fakecuda.c $(fakecuda_fixture)
tests_test_fakecuda_LDADD = $(fakecuda_LDADD) -ldl
tests_test_fakecuda_memory_SOURCES = tests/test_fakecuda_memory.c $(fakecuda_fixture)
tests_test_fakecuda_memory_LDADD = $(fakecuda_LDADD)
tests_test_fakecuda_caller_SOURCES = tests/test_fakecuda_caller.c $(fakecuda_fixture)
tests_test_fakecuda_caller_LDADD = $(fakecuda_LDADD)
tests_test_fakecuda_share_SOURCES = tests/test_fakecuda_share.c $(fakecuda_fixture) \
	$(other_process)
tests_test_fakecuda_share_LDADD = $(fakecuda_LDADD)

cuda_tests = \
	tests/test_cuda_driver \
	tests/test_cuda_error \
	tests/test_cuda_context \
	tests/test_cuda_device \
	tests/test_cuda_order \
	tests/test_cuda_async_allocator \
	tests/test_cuda_pool
check_PROGRAMS += $(cuda_tests)
TESTS += $(cuda_tests)
cuda_device = tests/support/cuda_device.c tests/support/cuda_device.h
cuda_LDADD = tests/fakecuda/libfakecuda.la $(clptest_LDADD)
tests_test_cuda_driver_SOURCES = tests/test_cuda_driver.c $(cuda_device)
tests_test_cuda_driver_LDFLAGS = $(AM_LDFLAGS) $(WRAP_LDFLAGS) \
	-Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose
tests_test_cuda_driver_LDADD = $(cuda_LDADD)
tests_test_cuda_error_SOURCES = tests/test_cuda_error.c $(cuda_device)
tests_test_cuda_error_LDADD = $(cuda_LDADD)
tests_test_cuda_context_SOURCES = tests/test_cuda_context.c $(cuda_device)
tests_test_cuda_context_LDADD = $(cuda_LDADD)
tests_test_cuda_device_SOURCES = tests/test_cuda_device.c $(cuda_device)
tests_test_cuda_device_LDADD = $(cuda_LDADD)
tests_test_cuda_order_SOURCES = tests/test_cuda_order.c $(cuda_device)
tests_test_cuda_order_LDADD = $(cuda_LDADD)
tests_test_cuda_async_allocator_SOURCES = tests/test_cuda_async_allocator.c $(cuda_device) \
	$(failmalloc)
tests_test_cuda_async_allocator_LDFLAGS = $(failmalloc_link_flags)
tests_test_cuda_async_allocator_LDADD = $(cuda_LDADD)
tests_test_cuda_pool_SOURCES = tests/test_cuda_pool.c $(cuda_device)
tests_test_cuda_pool_LDADD = $(cuda_LDADD)

# Memory pools, sharing, asynchronous pools.
cuda_memory_tests = \
	tests/test_cuda_mempool \
	tests/test_cuda_mempool_attributes \
	tests/test_cuda_share \
	tests/test_cuda_async_pool \
	tests/test_cuda_async_pool_device \
	tests/test_cuda_async_pool_hooks \
	tests/test_cuda_async_pool_limit \
	tests/test_cuda_without_driver
check_PROGRAMS += $(cuda_memory_tests)
TESTS += $(cuda_memory_tests)
cuda_memory = $(cuda_device) tests/support/cuda_memory.c tests/support/cuda_memory.h
tests_test_cuda_mempool_SOURCES = tests/test_cuda_mempool.c $(cuda_memory)
tests_test_cuda_mempool_LDADD = $(cuda_LDADD)
tests_test_cuda_mempool_attributes_SOURCES = tests/test_cuda_mempool_attributes.c $(cuda_memory)
tests_test_cuda_mempool_attributes_LDADD = $(cuda_LDADD)
tests_test_cuda_share_SOURCES = tests/test_cuda_share.c $(cuda_memory) $(other_process)
tests_test_cuda_share_LDADD = $(cuda_LDADD)
tests_test_cuda_without_driver_LDADD = $(clptest_LDADD)
tests_test_cuda_async_pool_SOURCES = tests/test_cuda_async_pool.c $(cuda_memory) $(failmalloc)
tests_test_cuda_async_pool_LDFLAGS = $(failmalloc_link_flags)
tests_test_cuda_async_pool_LDADD = $(cuda_LDADD)
tests_test_cuda_async_pool_device_SOURCES = tests/test_cuda_async_pool_device.c $(cuda_memory)
tests_test_cuda_async_pool_device_LDADD = $(cuda_LDADD)
tests_test_cuda_async_pool_hooks_SOURCES = tests/test_cuda_async_pool_hooks.c $(cuda_memory)
tests_test_cuda_async_pool_hooks_CFLAGS = $(AM_CFLAGS) -g
tests_test_cuda_async_pool_hooks_LDADD = $(cuda_LDADD)
tests_test_cuda_async_pool_limit_SOURCES = tests/test_cuda_async_pool_limit.c $(cuda_memory)
tests_test_cuda_async_pool_limit_LDADD = $(cuda_LDADD)
endif

# --- CUDA, on the real driver; skipped where there is none ----------------------------------------

if HAVE_CHECK
gpu_tests = \
	tests/gpu/test_gpu_allocator \
	tests/gpu/test_gpu_async_pool \
	tests/gpu/test_gpu_driver \
	tests/gpu/test_gpu_mempool \
	tests/gpu/test_gpu_share \
	tests/gpu/test_gpu_two
check_PROGRAMS += $(gpu_tests)
TESTS += $(gpu_tests)
gpu = tests/gpu/gpu.c tests/gpu/gpu.h
gpu_LDADD = $(clptest_LDADD) -ldl
tests_gpu_test_gpu_allocator_SOURCES = tests/gpu/test_gpu_allocator.c $(gpu)
tests_gpu_test_gpu_allocator_LDADD = $(gpu_LDADD)
tests_gpu_test_gpu_async_pool_SOURCES = tests/gpu/test_gpu_async_pool.c $(gpu)
tests_gpu_test_gpu_async_pool_LDADD = $(gpu_LDADD)
tests_gpu_test_gpu_driver_SOURCES = tests/gpu/test_gpu_driver.c $(gpu)
tests_gpu_test_gpu_driver_LDADD = $(gpu_LDADD)
tests_gpu_test_gpu_mempool_SOURCES = tests/gpu/test_gpu_mempool.c $(gpu)
tests_gpu_test_gpu_mempool_LDADD = $(gpu_LDADD)
tests_gpu_test_gpu_share_SOURCES = tests/gpu/test_gpu_share.c $(gpu) $(other_process)
tests_gpu_test_gpu_share_LDADD = $(gpu_LDADD)
tests_gpu_test_gpu_two_SOURCES = tests/gpu/test_gpu_two.c $(gpu)
tests_gpu_test_gpu_two_LDADD = $(gpu_LDADD)
endif

# --- Traces and the tool --------------------------------------------------------------------------

if TOOL
if HAVE_CHECK
trace_tests = \
	tests/test_trace_input \
	tests/test_trace_lines \
	tests/test_trace_reader \
	tests/test_costs \
	tests/test_live_blocks \
	tests/test_batch \
	tests/test_batch_ring \
	tests/test_metering_allocator \
	tests/test_replay \
	tests/test_replay_failures \
	tests/test_arena_traces \
	tests/test_trace_hook \
	tests/test_trace_hook_replay \
	tests/test_trace_environment \
	tests/test_scale \
	tests/test_replay_observer \
	tests/test_elapsed \
	tests/test_timeline \
	tests/test_bin_census \
	tests/test_largest \
	tests/test_survey \
	tests/test_recommend \
	tests/test_tune
check_PROGRAMS += $(trace_tests)
TESTS += $(trace_tests)
trace_test_LDADD = libclpool-trace.la $(clptest_LDADD)
traces = tests/support/traces.c tests/support/traces.h
replays = tests/support/replays.c tests/support/replays.h $(traces)
tests_test_trace_input_SOURCES = tests/test_trace_input.c $(traces) $(failmalloc)
tests_test_trace_input_LDADD = $(trace_test_LDADD)
tests_test_trace_input_LDFLAGS = $(failmalloc_link_flags)
tests_test_trace_lines_SOURCES = tests/test_trace_lines.c $(traces) $(failmalloc)
tests_test_trace_lines_LDADD = $(trace_test_LDADD)
tests_test_trace_lines_LDFLAGS = $(failmalloc_link_flags)
tests_test_trace_reader_SOURCES = tests/test_trace_reader.c $(traces) $(failmalloc)
tests_test_trace_reader_LDADD = $(trace_test_LDADD)
tests_test_trace_reader_LDFLAGS = $(failmalloc_link_flags)
tests_test_costs_SOURCES = tests/test_costs.c $(traces) $(failmalloc)
tests_test_costs_LDADD = $(trace_test_LDADD)
tests_test_costs_LDFLAGS = $(failmalloc_link_flags)
tests_test_live_blocks_SOURCES = tests/test_live_blocks.c $(traces) $(failmalloc)
tests_test_live_blocks_LDADD = $(trace_test_LDADD)
tests_test_live_blocks_LDFLAGS = $(failmalloc_link_flags)
tests_test_batch_ring_SOURCES = tests/test_batch_ring.c $(failmalloc)
tests_test_batch_ring_LDADD = $(trace_test_LDADD)
tests_test_batch_ring_LDFLAGS = $(failmalloc_link_flags)
tests_test_batch_SOURCES = tests/test_batch.c $(traces) $(failmalloc)
tests_test_batch_LDADD = $(trace_test_LDADD)
tests_test_batch_LDFLAGS = $(failmalloc_link_flags)
tests_test_metering_allocator_SOURCES = tests/test_metering_allocator.c $(failmalloc)
tests_test_metering_allocator_LDADD = $(trace_test_LDADD)
tests_test_metering_allocator_LDFLAGS = $(failmalloc_link_flags)
tests_test_replay_SOURCES = tests/test_replay.c $(replays)
tests_test_replay_LDADD = $(trace_test_LDADD)
tests_test_replay_failures_SOURCES = tests/test_replay_failures.c $(replays)
tests_test_replay_failures_LDADD = $(trace_test_LDADD)
tests_test_arena_traces_SOURCES = tests/test_arena_traces.c $(replays)
tests_test_arena_traces_LDADD = $(trace_test_LDADD)
trace_logs = tests/support/trace_log.c tests/support/trace_log.h $(replays)
tests_test_trace_hook_SOURCES = tests/test_trace_hook.c $(trace_logs) $(failmalloc)
tests_test_trace_hook_LDADD = $(trace_test_LDADD)
tests_test_trace_hook_LDFLAGS = $(failmalloc_link_flags) -Wl,--wrap=fopen,--wrap=fwrite
tests_test_trace_hook_replay_SOURCES = tests/test_trace_hook_replay.c $(trace_logs)
tests_test_trace_hook_replay_LDADD = $(trace_test_LDADD)
tests_test_trace_environment_SOURCES = tests/test_trace_environment.c $(cuda_device) $(replays) \
	$(failmalloc)
tests_test_trace_environment_LDADD = libclpool-trace.la $(cuda_LDADD) -ldl
tests_test_trace_environment_LDFLAGS = $(failmalloc_link_flags) \
	-Wl,--wrap=fopen,--wrap=pthread_atfork
tests_test_scale_SOURCES = tests/test_scale.c $(replays)
tests_test_scale_LDADD = $(trace_test_LDADD)
tests_test_replay_observer_SOURCES = tests/test_replay_observer.c $(replays)
tests_test_replay_observer_LDADD = $(trace_test_LDADD)
tests_test_elapsed_LDADD = $(trace_test_LDADD)
tests_test_timeline_LDADD = $(trace_test_LDADD)
tests_test_bin_census_SOURCES = tests/test_bin_census.c $(failmalloc)
tests_test_bin_census_LDADD = $(trace_test_LDADD)
tests_test_bin_census_LDFLAGS = $(failmalloc_link_flags)
tests_test_largest_LDADD = $(trace_test_LDADD)
tests_test_survey_SOURCES = tests/test_survey.c $(replays) $(failmalloc)
tests_test_survey_LDADD = $(trace_test_LDADD)
tests_test_survey_LDFLAGS = $(failmalloc_link_flags)
tests_test_recommend_LDADD = $(trace_test_LDADD)
tests_test_tune_SOURCES = tests/test_tune.c $(replays) $(failmalloc)
tests_test_tune_LDADD = $(trace_test_LDADD)
tests_test_tune_LDFLAGS = $(failmalloc_link_flags)
if HAVE_OPENCL
check_PROGRAMS += tests/test_cl_arena_replay
TESTS += tests/test_cl_arena_replay
tests_test_cl_arena_replay_SOURCES = tests/test_cl_arena_replay.c $(traces)
tests_test_cl_arena_replay_CPPFLAGS = $(opencl_CPPFLAGS)
tests_test_cl_arena_replay_LDADD = libclpool-trace.la $(opencl_LDADD)
endif
endif

dist_check_SCRIPTS += tests/check-tool.sh tests/check-report.sh tests/check-tune.sh
TESTS += tests/check-tool.sh tests/check-report.sh tests/check-tune.sh
tests/check-tool.log tests/check-report.log tests/check-tune.log: tools/clpool$(EXEEXT)
dist_check_SCRIPTS += tests/check-bench.sh
TESTS += tests/check-bench.sh
tests/check-bench.log: tools/clpool$(EXEEXT)
dist_check_SCRIPTS += tests/check-manual.sh tests/check-completion.sh
TESTS += tests/check-manual.sh tests/check-completion.sh
tests/check-manual.log: tools/clpool$(EXEEXT)
else
AM_TESTS_ENVIRONMENT += clp_tool=no; export clp_tool;
endif
EXTRA_DIST += tests/support/perfetto.py tests/support/picture.py tests/support/report_page.py
if SANITIZED
AM_TESTS_ENVIRONMENT += clp_sanitized=yes; export clp_sanitized;
endif
if FUZZING
AM_TESTS_ENVIRONMENT += clp_sanitized=yes; export clp_sanitized;
endif

dist_check_SCRIPTS += tests/check-bin-answers.sh
TESTS += tests/check-bin-answers.sh
EXTRA_DIST += tests/support/bin_answers.py

# --- The house: what the tree and the built library must look like --------------------------------

AM_TESTS_ENVIRONMENT += \
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

house_checks = \
	tests/check-calls.sh \
	tests/check-doxygen.sh \
	tests/check-exports.sh \
	tests/check-format.sh \
	tests/check-headers.sh \
	tests/check-includes.sh \
	tests/check-install.sh \
	tests/check-model.sh \
	tests/check-scripts.sh \
	tests/check-source.sh \
	tests/check-walk.sh
dist_check_SCRIPTS += $(house_checks)
TESTS += $(house_checks)
EXTRA_DIST += tests/support/command.sh tests/support/house.sh tests/support/includes.awk \
	tests/support/calls.awk \
	tests/support/no_sysfs.sh \
	tests/model/claim.pml \
	tests/install/Makefile.in tests/install/configure.ac tests/install/consumer.c

# --- Fuzzing: each target with libFuzzer, or else as a test over its corpus -----------------------

range_model = tests/support/range_model.c tests/support/range_model.h
fuzz_targets = \
	tests/fuzz/fuzz_arena \
	tests/fuzz/fuzz_limit \
	tests/fuzz/fuzz_pool
if TOOL
fuzz_targets += tests/fuzz/fuzz_costs tests/fuzz/fuzz_trace
endif
tests_fuzz_fuzz_arena_SOURCES = tests/fuzz/fuzz_arena.c tests/fuzz/fuzz.h $(range_model)
tests_fuzz_fuzz_arena_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DFUZZ_CORPUS='"arena"'
tests_fuzz_fuzz_arena_LDADD = libclpool-internal.la
tests_fuzz_fuzz_costs_SOURCES = tests/fuzz/fuzz_costs.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_costs_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DFUZZ_CORPUS='"costs"'
tests_fuzz_fuzz_costs_LDADD = libclpool-trace.la libclpool-internal.la
tests_fuzz_fuzz_limit_SOURCES = tests/fuzz/fuzz_limit.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_limit_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DFUZZ_CORPUS='"limit"'
tests_fuzz_fuzz_limit_LDADD = libclpool-internal.la
tests_fuzz_fuzz_pool_SOURCES = tests/fuzz/fuzz_pool.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_pool_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DFUZZ_CORPUS='"pool"'
tests_fuzz_fuzz_pool_LDADD = libclpool-internal.la
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_trace_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DFUZZ_CORPUS='"trace"'
tests_fuzz_fuzz_trace_LDADD = libclpool-trace.la libclpool-internal.la
check_PROGRAMS += $(fuzz_targets)
EXTRA_DIST += tests/fuzz/corpus

if FUZZING
tests_fuzz_fuzz_arena_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS)
tests_fuzz_fuzz_costs_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS)
tests_fuzz_fuzz_limit_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS)
tests_fuzz_fuzz_pool_LDFLAGS = $(AM_LDFLAGS) $(FUZZER_LDFLAGS)
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
tests_fuzz_fuzz_arena_SOURCES += tests/fuzz/driver.c
tests_fuzz_fuzz_costs_SOURCES += tests/fuzz/driver.c
tests_fuzz_fuzz_limit_SOURCES += tests/fuzz/driver.c
tests_fuzz_fuzz_pool_SOURCES += tests/fuzz/driver.c
tests_fuzz_fuzz_trace_SOURCES += tests/fuzz/driver.c
TESTS += $(fuzz_targets)
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
# What is left out is minutes of the driver's code; test_cl_arena and test_cl_order make the same
# calls.
check-valgrind: $(check_PROGRAMS)
	CK_FORK=no CK_TIMEOUT_MULTIPLIER=20 $(MAKE) $(AM_MAKEFLAGS) check-TESTS \
	  TESTS='$(filter-out %.sh tests/test_cl_arena_replay tests/test_cl_order_stress,$(TESTS))' \
	  TEST_SUITE_LOG=test-suite-valgrind.log \
	  LOG_COMPILER='$(LIBTOOL) --silent --mode=execute $(VALGRIND) --quiet $(VALGRIND_FLAGS)'
else
check-valgrind:
	@echo 'check-valgrind needs valgrind, and a build without sanitizers or fuzzing' >&2
	@exit 1
endif
EXTRA_DIST += tests/support/pocl.supp
MOSTLYCLEANFILES = test-suite-valgrind.log

# --- Coverage: a table of the library's files -----------------------------------------------------

if COVERAGE
# Counters of an earlier build do not fit this one.
check-coverage:
	find . -name '*.gcda' -exec rm -f {} +
	$(MAKE) $(AM_MAKEFLAGS) check
	GCOV='$(GCOV)' $(SHELL) $(srcdir)/tests/support/coverage.sh
else
check-coverage:
	@echo 'check-coverage needs a configure with --enable-coverage' >&2
	@exit 1
endif
EXTRA_DIST += tests/support/coverage.sh
.PHONY: check-valgrind check-coverage check-helgrind

# What PoCL compiled, what the fuzzer found, what gcov counted.
clean-local:
	rm -rf pocl-cache fuzz-corpus
	find . '(' -name '*.gcda' -o -name '*.gcno' ')' -exec rm -f {} +
