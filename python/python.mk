# SPDX-License-Identifier: MIT
# The Python package, which pip builds (python/setup.py). What needs the package registry is not a
# part of `make check`:
#
#   make check-python      its tests
#   make check-pyopencl    PyOpenCL's own tests, without a pool, on its own, and on clpool's

EXTRA_DIST += packaging/conda/recipe.yaml packaging/clpool.spec \
	packaging/conan/conanfile.py packaging/conan/test_package/CMakeLists.txt \
	packaging/conan/test_package/conanfile.py \
	packaging/vcpkg/portfile.cmake packaging/vcpkg/vcpkg.json \
	python/COPYING python/MANIFEST.in python/README.md \
	python/bench/footprint.py \
	python/bench/pair.py \
	python/clpool/__init__.py \
	python/clpool/__main__.py \
	python/clpool/_clpool.pyi \
	python/clpool/_convert.py \
	python/clpool/_cuda.py \
	python/clpool/_errors.py \
	python/clpool/_frameworks.py \
	python/clpool/_hooks.py \
	python/clpool/_log.py \
	python/clpool/_patch.py \
	python/clpool/_profile.py \
	python/clpool/_set_up.py \
	python/clpool/_show.py \
	python/clpool/_summary.py \
	python/clpool/_tracing.py \
	python/clpool/_use.py \
	python/clpool/statistics.py \
	python/clpool/py.typed \
	python/examples/snapshot.json \
	python/examples/timeline.py \
	python/pyproject.toml \
	python/setup.py \
	python/src/allocate.c \
	python/src/allocator.c \
	python/src/arguments.c \
	python/src/async_pool.c \
	python/src/buffer_calls.c \
	python/src/callback_allocator.c \
	python/src/clpool_module.h \
	python/src/cuda_mempool.c \
	python/src/dlpack.c \
	python/src/errors.c \
	python/src/hook.c \
	python/src/log.c \
	python/src/memory.c \
	python/src/module.c \
	python/src/pointer_map.c python/src/pointer_map.h \
	python/src/pool.c \
	python/src/pool_methods.c \
	python/src/pooled_buffer.c \
	python/src/released.c \
	python/src/torch.c python/src/torch.h \
	python/src/torch_entry.cc \
	python/src/trace.c \
	python/src/wrapper.c \
	python/tests/check.sh \
	python/tests/check_packaging.py \
	python/tests/check_pyopencl.py \
	python/tests/conftest.py \
	python/tests/default_allocator.py \
	python/tests/gpu/figures.py \
	python/tests/gpu/run.sh \
	python/tests/gpu/test_frameworks.py \
	python/tests/test_array_programs.py \
	python/tests/test_callback_allocator.py \
	python/tests/test_convert.py \
	python/tests/test_cuda.py \
	python/tests/test_dlpack.py \
	python/tests/test_errors.py \
	python/tests/test_guides.py \
	python/tests/test_hooks.py \
	python/tests/test_log.py \
	python/tests/test_memory_pressure.py \
	python/tests/test_order.py \
	python/tests/test_package.py \
	python/tests/test_patch.py \
	python/tests/test_pool.py \
	python/tests/test_process.py \
	python/tests/test_random_programs.py \
	python/tests/test_queues.py \
	python/tests/test_regions.py \
	python/tests/test_released.py \
	python/tests/test_shape.py \
	python/tests/test_statistics.py \
	python/tests/test_svm.py \
	python/tests/test_tracing.py \
	python/tests/test_typing.py \
	python/tests/test_use.py \
	python/tests/typed_program.py \
	python/tests/wheel.sh \
	python/tests/wrong_program.py

check_python = CFLAGS= $(SHELL) $(srcdir)/python/tests/check.sh $(abs_top_srcdir)

check-python: all tests/fakecuda/libfakecuda.la
	$(check_python) -m pytest -q -rs tests

check-pyopencl: all
	$(check_python) tests/check_pyopencl.py

.PHONY: check-python check-pyopencl
