# SPDX-License-Identifier: MIT
"""A copy of the tree and a build of it, in which faults are planted."""
import os
import shutil
import subprocess

import process

# -O0 compiles fastest; a plant must compile without warnings.
CONFIGURE = ['--quiet', '--disable-static', '--enable-werror', 'CFLAGS=-O0', 'CXXFLAGS=-O0']
BOOTSTRAP = ('configure', 'Makefile.in', 'aclocal.m4', 'config.h.in', 'build-aux', 'm4')
LISTED = {'programs': '$(check_PROGRAMS)', 'scripts': '$(built_checks)',
          'layer': '$(layer_programs)',
          'libraries': '$(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) $(check_LTLIBRARIES)'}


class RigError(Exception):
    """The tree cannot be built or tested as it is, or a plant does not compile."""


def files_below(source, top):
    """Files below a folder or file of the tree, as paths from the tree's top."""
    path = os.path.join(source, top)
    if os.path.isfile(path):
        return [top]
    return [os.path.relpath(os.path.join(folder, name), source)
            for folder, _, names in os.walk(path) for name in names]


def source_files(source):
    """What git knows, with what the bootstrap makes; else all, but for folders of builds."""
    listed = subprocess.run(['git', '-C', source, 'ls-files', '-z'], capture_output=True, text=True,
                            check=False)
    if listed.returncode == 0:
        tops = [name for name in listed.stdout.split('\0') if name] + list(BOOTSTRAP)
    else:
        tops = [name for name in os.listdir(source)
                if not os.path.exists(os.path.join(source, name, 'config.status'))]
    return sorted({name for top in tops for name in files_below(source, top)})


def is_same(one, other):
    """Whether both files have the same bytes."""
    if not os.path.isfile(other):
        return False
    with open(one, 'rb') as left, open(other, 'rb') as right:
        return left.read() == right.read()


def copy_file(source, to):
    """Copies with the time of the source, unless make would then take the old object for newer."""
    is_older = os.path.exists(to) and os.path.getmtime(source) <= os.path.getmtime(to)
    shutil.copy2(source, to)
    if is_older:
        os.utime(to)


class Rig:
    """The copy is `work`/tree, the build `work`/build."""

    def __init__(self, source, work, jobs):
        self.source = source
        self.tree = os.path.join(work, 'tree')
        self.build = os.path.join(work, 'build')
        self.logs = os.path.join(work, 'logs')
        self.jobs = jobs
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'TESTS')}
        self.test_environment = {}
        self.programs, self.scripts, self.layer, self.libraries = [], [], [], []
        self.expected = {}  # test: its outcome and processor seconds without a plant

    # --- building ---

    def call(self, command, directory, what):
        result = subprocess.run(command, cwd=directory, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode:
            raise RigError(f'{what} failed:\n{result.stdout[-4000:]}')
        return result.stdout

    def make(self, *targets):
        command = ['make', '--silent', f'-j{self.jobs}', *targets]
        self.call(command, self.build, ' '.join(command))

    def copy(self):
        for name in source_files(self.source):
            source, to = os.path.join(self.source, name), os.path.join(self.tree, name)
            if not is_same(source, to):
                os.makedirs(os.path.dirname(to), exist_ok=True)
                copy_file(source, to)

    def prepare(self):
        """Copies and configures, unless that was done; then asks make what there is."""
        self.copy()
        os.makedirs(self.build, exist_ok=True)
        os.makedirs(self.logs, exist_ok=True)
        if not os.path.isfile(os.path.join(self.tree, 'configure')):
            self.call(['autoreconf', '-fi'], self.tree, 'autoreconf')
        if not os.path.isfile(os.path.join(self.build, 'config.status')):
            self.call(['../tree/configure', *CONFIGURE], self.build, 'configure')
        self.ask_make()

    def ask_make(self):
        """Which tests there are, and the environment in which make check runs them."""
        def ask(recipe):
            return self.call(['make', '--silent', f'--eval=ask-make: ; @{recipe}', 'ask-make'],
                             self.build, 'asking make')
        self.make('Makefile')  # which may say that it is made again
        for name, variable in LISTED.items():
            setattr(self, name, ask(f'echo {variable}').split())
        told = ask('$(AM_TESTS_ENVIRONMENT) env -0').split('\0')
        self.test_environment = dict(line.split('=', 1) for line in told if '=' in line)
        for name in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL'):
            self.test_environment.pop(name, None)

    def loads_libraries(self, test):
        """Whether a program loads shared libraries from the build at run time."""
        path = os.path.join(self.tree, test + '.c')
        return os.path.isfile(path) and 'top_builddir' in self.read(test + '.c')

    def build_test(self, test):
        """What a script runs is not known here, so that is all."""
        if test in self.scripts:
            self.make('all', *self.layer)
        else:
            self.make(test, *(self.libraries if self.loads_libraries(test) else []))

    def build_suite(self):
        self.make('check', 'TESTS=')
        if self.layer:
            self.make(*self.layer)

    # --- planting ---

    def write(self, name, text):
        with open(os.path.join(self.tree, name), 'w', encoding='utf-8') as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.tree, name), encoding='utf-8') as file:
            return file.read()

    # --- testing ---

    def run(self, test):
        """Runs a test that is built. Returns its outcome and its processor seconds."""
        command = [os.path.join(self.build, test)]
        if test in self.scripts:
            command = ['sh', os.path.join(self.tree, test)]
        log = os.path.join(self.logs, test.replace('/', '-') + '.log')
        _, expected = self.expected.get(test, (None, 30.0))
        return process.run(command, self.build, self.test_environment, log, expected)

    def learn(self, tests, is_built=False):
        """Runs tests without a plant: none may fail. Those that are skipped find nothing."""
        for test in tests:
            if test in self.expected:
                continue
            if test not in self.programs + self.scripts:
                raise RigError(f'{test} is not among the tests of this build')
            if not is_built:
                self.build_test(test)
            outcome, seconds = self.run(test)
            if outcome in (process.FAILED, process.HUNG):
                raise RigError(f'{test} {outcome} without any plant: see {self.logs}')
            self.expected[test] = (outcome, seconds)

    def finds(self, test):
        """Whether the test can find anything: it is not skipped."""
        return self.expected[test][0] == process.PASSED
