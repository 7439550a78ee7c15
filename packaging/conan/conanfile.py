# SPDX-License-Identifier: MIT
"""Conan 2 recipe, for a checkout: conan create packaging/conan. OpenCL's headers come from the
system; with_opencl=False does without."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class ClpoolConan(ConanFile):
    name = "clpool"
    license = "MIT"
    url = homepage = "https://packages.invalid/clpool"
    description = "Pools of device memory for OpenCL and CUDA programs"
    topics = ("opencl", "cuda", "gpu", "memory-pool", "allocator")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "with_opencl": [True, False]}
    default_options = {"shared": False, "with_opencl": True}
    languages = "C"

    @property
    def tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        lines = load(self, os.path.join(self.tree, "CITATION.cff")).splitlines()
        self.version = next(line.split()[1] for line in lines if line.startswith("version:"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "CITATION.cff", "COPYING", "lib/*", "include/*"):
            copy(self, pattern, self.tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["CLPOOL_OPENCL"] = bool(self.options.with_opencl)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "COPYING", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["clpool"]
        self.cpp_info.system_libs = ["pthread", "dl"]
