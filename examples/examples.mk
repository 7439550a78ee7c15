# SPDX-License-Identifier: MIT
# Examples: built and run by the tests, their sources installed as documentation.

example_programs = examples/tune_bins examples/arena examples/cuda_async examples/cuda_share
examples_tune_bins_SOURCES = examples/tune_bins.c examples/check.h
examples_tune_bins_LDADD = libclpool.la
examples_arena_SOURCES = examples/arena.c examples/check.h
examples_arena_LDADD = libclpool.la
examples_cuda_async_SOURCES = examples/cuda_async.c examples/check.h \
	examples/cuda_driver.c examples/cuda_driver.h
examples_cuda_async_LDADD = libclpool.la -ldl
examples_cuda_share_SOURCES = examples/cuda_share.c examples/check.h \
	examples/cuda_driver.c examples/cuda_driver.h
examples_cuda_share_LDADD = libclpool.la -ldl

opencl_example_sources = \
	examples/array.c examples/array.h \
	examples/array_expressions.c \
	examples/clblast_chain.c \
	examples/first_pool.c \
	examples/measure.c examples/measure.h \
	examples/opencl_device.c examples/opencl_device.h \
	examples/pooled_buffers.c \
	examples/pooled_buffers_cpp.cc \
	examples/two_queues.c \
	examples/where_memory_goes.c \
	examples/without_pools.c

if HAVE_OPENCL
example_programs += \
	examples/first_pool \
	examples/pooled_buffers \
	examples/array_expressions \
	examples/two_queues \
	examples/where_memory_goes \
	examples/without_pools
examples_first_pool_SOURCES = examples/first_pool.c
examples_first_pool_LDADD = libclpool.la $(OPENCL_LIBS)
examples_pooled_buffers_SOURCES = examples/pooled_buffers.c examples/check.h \
	examples/opencl_device.c examples/opencl_device.h
examples_pooled_buffers_LDADD = libclpool.la $(OPENCL_LIBS)
examples_array_expressions_SOURCES = examples/array_expressions.c examples/check.h \
	examples/array.c examples/array.h \
	examples/measure.c examples/measure.h \
	examples/opencl_device.c examples/opencl_device.h
examples_array_expressions_LDADD = libclpool.la $(OPENCL_LIBS) -lm
examples_two_queues_SOURCES = examples/two_queues.c examples/check.h \
	examples/opencl_device.c examples/opencl_device.h
examples_two_queues_LDADD = libclpool.la $(OPENCL_LIBS)
examples_where_memory_goes_SOURCES = examples/where_memory_goes.c examples/check.h \
	examples/array.c examples/array.h \
	examples/opencl_device.c examples/opencl_device.h
examples_where_memory_goes_LDADD = libclpool.la $(OPENCL_LIBS)
examples_without_pools_SOURCES = examples/without_pools.c \
	examples/opencl_device.c examples/opencl_device.h
examples_without_pools_LDADD = $(OPENCL_LIBS)
if HAVE_CLBLAST
example_programs += examples/clblast_chain
endif
if HAVE_OPENCL_HPP
example_programs += examples/pooled_buffers_cpp
endif
endif
examples_clblast_chain_SOURCES = examples/clblast_chain.c examples/check.h \
	examples/measure.c examples/measure.h \
	examples/opencl_device.c examples/opencl_device.h
examples_clblast_chain_LDADD = libclpool.la $(CLBLAST_LIBS) $(OPENCL_LIBS) -lm
examples_pooled_buffers_cpp_SOURCES = examples/pooled_buffers_cpp.cc examples/check.h \
	examples/opencl_device.c examples/opencl_device.h
examples_pooled_buffers_cpp_LDADD = libclpool.la $(OPENCL_LIBS)
noinst_PROGRAMS += $(example_programs)

examplesdir = $(docdir)/examples
dist_examples_DATA = examples/README examples/arena.c examples/tune_bins.c \
	examples/cuda_async.c examples/cuda_share.c \
	examples/cuda_driver.c examples/cuda_driver.h examples/check.h
if HAVE_OPENCL
dist_examples_DATA += $(opencl_example_sources)
endif

example_tracesdir = $(examplesdir)/data
dist_example_traces_DATA = examples/data/README examples/data/resnet50_train.csv.gz \
	examples/data/rank.0.csv.gz examples/data/rank.1.csv.gz \
	examples/data/rank.2.csv.gz examples/data/rank.3.csv.gz
