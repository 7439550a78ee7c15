#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in a copy of the tree, one at a time, and checks that some test finds each.

The table is tests/house/plants/*.txt; HACKING.md says how to write an entry. The tests that an
entry names are tried first; if none finds the fault, all are: the programs and scripts of
`make check`, but for those that look at the text of the tree. Exits with 0 if each fault is found,
1 if not."""
import argparse
import glob
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Each kind of fault has at least one plant, whatever the code looks like.
KINDS = ('age order wrong', 'block in two lanes', 'exact block held', 'figure off', 'fork missed',
         'leak on failure', 'limit off by one', 'lock missing', 'lock order broken', 'lost block',
         'mark lost', 'order broken', 'second release not told', 'wrong status')
# -O0 compiles fastest; a plant must compile without warnings.
CONFIGURE = ['--quiet', '--disable-static', '--enable-werror', 'CFLAGS=-O0', 'CXXFLAGS=-O0']
BOOTSTRAP = ('m4', 'build-aux', 'aclocal.m4', 'configure', 'config.h.in', 'Makefile.in')  # in order
HANGS = 'hangs'


class PlantError(Exception):
    """The table is wrong, or the tree cannot be built or tested as it is."""


class Plant:
    """One fault: `old` text, which a file has exactly once, and the `new` text in its place."""

    def __init__(self, name, where, finders):
        self.name, self.where, self.finders = name, where, finders
        self.kind = self.notice = self.file = self.old = self.new = ''

    def error(self, why):
        return PlantError(f'{self.where}: {self.name}: {why}')

    def add(self, line):
        """Adds one line of the entry."""
        word, _, rest = line.partition(' ')
        if line[0] in ' -+':
            self.old += line[1:] + '\n' if line[0] in ' -' else ''
            self.new += line[1:] + '\n' if line[0] in ' +' else ''
        elif self.old or self.new:
            raise self.error(f'this line begins with none of blank, - and +: {line}')
        elif word == 'kind':
            self.kind = rest
        elif word == 'in':
            self.file = rest
        elif word == 'try':
            self.finders = list(dict.fromkeys(self.finders + rest.split()))
        else:
            self.notice += line

    def applied_to(self, text):
        """The text with the fault in it."""
        count = ('\n' + text).count('\n' + self.old)
        if count != 1:
            raise self.error(f'the old text is there {count} times in {self.file}: plant a fault '
                             f'of this kind ({self.kind}) in the new code, or take this one out')
        before, after = ('\n' + text).split('\n' + self.old)
        return (before + '\n' + self.new + after)[1:]

    def check(self):
        """Fails unless the entry is complete and applies to the tree."""
        if self.kind not in KINDS:
            raise self.error(f'"{self.kind}" is no kind of fault: {", ".join(KINDS)}')
        if not self.notice or self.old == self.new:
            raise self.error('an entry says what a user would notice, and has lines of - or +')
        for test in self.finders:
            if not any(os.path.isfile(os.path.join(HERE, test + end)) for end in ('', '.c', '.cc')):
                raise self.error(f'there is no test {test}')
        with open(os.path.join(HERE, self.file), encoding='utf-8') as file:
            self.applied_to(file.read())


def read_table(path):
    """The plants of one file. A line `try` before the first plant is for all of them."""
    plants, finders = [], []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            heading = re.fullmatch(r'\[([a-z0-9-]+)\]', line)
            if heading:
                plants.append(Plant(heading[1], f'{os.path.basename(path)}:{number}', finders))
            elif plants and line and line[0] != '#':
                plants[-1].add(line)
            elif line.startswith('try '):
                finders = line.split()[1:]
    return plants


def read_plants():
    """All plants of the tree's table, each of which applies."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, 'tests/house/plants/*.txt'))):
        for plant in read_table(path):
            plant.check()
            if found.setdefault(plant.name, plant) is not plant:
                raise plant.error('another plant has this name')
    missing = set(KINDS) - {plant.kind for plant in found.values()}
    if missing:
        raise PlantError(f'no plant is of the kind {", ".join(sorted(missing))}')
    return found


def choose(plants, options):
    """The named plants, or all; of these the --count that the text --seed chooses, or all."""
    unknown = set(options.names) - set(plants)
    if unknown:
        raise PlantError(f'there is no plant {", ".join(sorted(unknown))}')
    chosen = [plants[name] for name in options.names or plants]
    if options.count is None:
        return chosen
    return sorted(chosen, key=lambda plant: hashlib.sha256(
        f'{options.seed} {plant.name}'.encode()).digest())[:options.count]


def kill_session(session):
    """Ends the processes of a session. Check gives each test a process group of its own."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if os.getsid(int(pid)) == session:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:  # it has ended
            pass


class Rig:
    """A copy of the tree, `work`/tree, and a build of it, `work`/build. With --work, later runs
    copy only what changed."""

    def __init__(self, work, jobs):
        self.tree, self.build = os.path.join(work, 'tree'), os.path.join(work, 'build')
        self.log, self.jobs = os.path.join(work, 'log'), jobs
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'TESTS')}
        self.expected = {}  # test: its outcome and processor seconds without a plant
        self.copy()
        os.makedirs(self.build, exist_ok=True)
        if not os.path.isfile(os.path.join(self.tree, 'configure')):
            self.call(self.tree, 'autoreconf', '-fi')
        if not os.path.isfile(os.path.join(self.build, 'config.status')):
            self.call(self.build, '../tree/configure', *CONFIGURE)
        self.make('Makefile')  # which may say that it is made again
        self.programs = self.ask('echo $(test_programs)').split()
        self.scripts = self.ask('echo $(built_checks)').split()
        self.layer = self.ask('echo $(layer_programs)').split()
        self.libraries = self.ask('echo $(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) '
                                  '$(check_LTLIBRARIES)').split()
        told = self.ask('$(AM_TESTS_ENVIRONMENT) env -0').split('\0')
        self.test_environment = dict(line.split('=', 1) for line in told if '=' in line)
        for name in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL'):
            self.test_environment.pop(name, None)

    def copy(self):
        listed = subprocess.run(['git', 'ls-files'], cwd=HERE, capture_output=True, text=True,
                                check=False)
        names = listed.stdout.split('\n')  # or all, in a tree that was unpacked
        if listed.returncode:
            names = sorted(glob.glob('**', root_dir=HERE, recursive=True, include_hidden=True))
        for top in BOOTSTRAP:
            names += glob.glob(top, root_dir=HERE) + glob.glob(top + '/*', root_dir=HERE)
        for name in names:
            source, to = os.path.join(HERE, name), os.path.join(self.tree, name)
            if os.path.isfile(source) and not self.has(to, source):
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(source, to)  # with the time of now, so that make sees it

    @staticmethod
    def has(to, source):
        if not os.path.isfile(to):
            return False
        with open(source, 'rb') as left, open(to, 'rb') as right:
            return left.read() == right.read()

    def call(self, directory, *command):
        result = subprocess.run(command, cwd=directory, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode:
            raise PlantError(f'{" ".join(command)} failed:\n{result.stdout[-4000:]}')
        return result.stdout

    def make(self, *targets):
        return self.call(self.build, 'make', '--silent', f'-j{self.jobs}', *targets)

    def ask(self, recipe):
        return self.make(f'--eval=ask-make: ; @{recipe}', 'ask-make')

    def build_test(self, test):
        """What a script runs is not known here, so that is all. A few programs load libraries."""
        if test in self.scripts:
            self.make('all', *self.layer)
            return
        path = os.path.join(self.tree, test + '.c')
        loads = os.path.isfile(path) and 'top_builddir' in open(path, encoding='utf-8').read()
        self.make(test, *(self.libraries if loads else []))

    def run(self, test):
        """Runs a test. Returns its exit status, or HANGS, and its processor seconds."""
        command = [os.path.join(self.build, test)]
        if test in self.scripts:
            interpreter = 'python3' if test.endswith('.py') else 'sh'
            command = [interpreter, os.path.join(self.tree, test)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.log, 'wb') as output:
            process = subprocess.Popen(command, cwd=self.build, env=self.test_environment,
                                       stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(60 + 30 * self.expected.get(test, (0, 60))[1])
        except subprocess.TimeoutExpired:
            status = HANGS
        finally:
            kill_session(process.pid)
            process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def learn(self, test):
        """Runs a test without a plant, once: it must not fail. Returns whether it can find any."""
        if test not in self.expected:
            if test not in self.programs + self.scripts:
                raise PlantError(f'{test} is not among the tests of this build')
            self.build_test(test)
            self.expected[test] = self.run(test)
            if self.expected[test][0] not in (0, 77):
                raise PlantError(f'{test} fails without any plant: see {self.log}')
        return self.expected[test][0] == 0

    def finders(self, plant, tests, all_finders):
        """Plants the fault and runs these tests. Yields (test, outcome, seconds) of those that find
        it: the first, or all."""
        able = [test for test in tests if self.learn(test)]
        path = os.path.join(self.tree, plant.file)
        with open(path, encoding='utf-8') as file:
            text = file.read()
        try:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(plant.applied_to(text))
            for test in able:
                self.build_test(test)
                status, seconds = self.run(test)
                if status not in (0, 77):
                    yield test, status, seconds
                    if not all_finders:
                        return
        finally:
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)


def plant_all(rig, plants, all_finders):
    """Plants each fault in turn. Returns whether all were found."""
    print(f'{"planted fault":42} {"found by":56} {"CPU s":>7}')
    missed = []
    for plant in plants:
        rest = sorted(set(rig.programs + rig.scripts) - set(plant.finders))
        count = 0
        for tests, note in (plant.finders, ''), (rest, ' (by the whole suite)'):
            if count and not all_finders:
                break
            try:
                for test, status, seconds in rig.finders(plant, tests, all_finders):
                    test += (' (hangs)' if status == HANGS else '') + note
                    name = plant.name if count == 0 else ''
                    print(f'{name:42} {test:56} {seconds:7.2f}', flush=True)
                    count += 1
            except PlantError as error:
                print(f'{plant.name:42} CANNOT BE TRIED: {error}', flush=True)
                break
        if not count:
            print(f'{plant.name:42} NOT FOUND', flush=True)
            missed.append(plant.name)
    print(f'{len(plants) - len(missed)} of {len(plants)} planted faults found')
    if missed:
        print('no test finds', ', '.join(missed))
    return not missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME', help='plant these; without, all')
    parser.add_argument('--check', action='store_true', help='only check that every plant applies')
    parser.add_argument('--list', action='store_true', help='only list them')
    parser.add_argument('--count', type=int, help='plant so many, chosen by the text of --seed')
    parser.add_argument('--seed', default='', help='the same text chooses the same plants')
    parser.add_argument('--all-finders', action='store_true', help='tell all tests that find it')
    parser.add_argument('--jobs', type=int, default=2, help='jobs of make (2)')
    parser.add_argument('--work', help='work in this folder and leave it: the next run builds less')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # cleans up
    work = None
    try:
        plants = read_plants()
        chosen = choose(plants, options)
        if options.check:
            print(f'{len(plants)} planted faults apply')
        elif options.list:
            for plant in chosen:
                print(f'{plant.name:42} {plant.kind:24} {plant.file}\n    {plant.notice}')
        else:
            work = options.work or tempfile.mkdtemp(prefix='clpool-plants-')
            return not plant_all(Rig(os.path.abspath(work), options.jobs), chosen,
                                 options.all_finders)
    except (PlantError, OSError) as error:
        sys.exit(f'check-plants.py: {error}')
    finally:
        if work and not options.work:
            shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
