#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in a copy of the tree, one at a time, and checks that some test finds each.

The table is tests/house/plants/*.txt; HACKING.md says how to write an entry. The tests that an
entry names are tried first; if none finds the fault, all are: the programs and scripts of
`make check`, but for those that look at the text of the tree. Exits with 0 if each fault is found,
1 if not."""
import argparse
import filecmp
import glob
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[2]
# -O0 compiles fastest; a plant must compile without warnings.
CONFIGURE = ['--quiet', '--disable-static', '--enable-werror', 'CFLAGS=-O0', 'CXXFLAGS=-O0']
BOOTSTRAP = ('m4', 'build-aux', 'aclocal.m4', 'configure', 'config.h.in', 'Makefile.in')  # in order
OF_MAKE = ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'TESTS')
ASKED = 'test_programs', 'built_checks', 'layer_programs', 'libraries'
HANGS = 'hangs'
KEYS = 'kind', 'in', 'try'  # an entry's lines but for what a user notices, and the change


class PlantError(Exception):
    """The table is wrong, or the tree cannot be built or tested as it is."""


class Plant:
    """One fault: `old` text, which a file has exactly once, and the `new` text in its place."""

    def __init__(self, name, where, finders, lines):
        diff = [line for line in lines if line[0] in ' -+']
        told = [line.partition(' ') for line in lines if line[0] not in ' -+']
        self.name, self.where = name, where
        self.kind, self.file, tests = (' '.join(rest for word, _, rest in told if word == key)
                                       for key in KEYS)
        self.notice = ''.join(''.join(parts) for parts in told if parts[0] not in KEYS)
        self.finders = list(dict.fromkeys(finders + tests.split()))
        self.old, self.new = (''.join(line[1:] + '\n' for line in diff if line[0] in first)
                              for first in (' -', ' +'))
        if lines[len(told):] != diff:
            raise self.error('a line after the first that is changed begins with no blank, - or +')

    def error(self, why):
        return PlantError(f'{self.where}: {self.name}: {why}')

    def applied_to(self, text):
        """The text with the fault in it."""
        parts = ('\n' + text).split('\n' + self.old)
        if len(parts) != 2 or self.old == self.new:
            raise self.error(f'the old text is there {len(parts) - 1} times in {self.file}: plant '
                             f'a {self.kind} in the new code, or take this one out')
        return (parts[0] + '\n' + self.new + parts[1])[1:]

    def check(self):
        """Fails unless the entry is complete and applies to the tree."""
        if not (self.kind and self.notice and self.file):
            raise self.error('an entry has a kind, a file, and says what a user would notice')
        for test in self.finders:
            if not any((HERE / (test + end)).is_file() for end in ('', '.c', '.cc')):
                raise self.error(f'there is no test {test}')
        self.applied_to((HERE / self.file).read_text('utf-8'))


def read_plants():
    """All plants of the table, each of which applies: {name: plant}. A line `try` before the first
    of a file is for all of the file."""
    plants = {}
    for path in sorted(HERE.glob('tests/house/plants/*.txt')):
        head, *entries = re.split(r'^\[([a-z0-9-]+)\]\n', path.read_text('utf-8'), flags=re.M)
        finders = ' '.join(re.findall('^try (.*)', head, re.M)).split()
        for name, text in zip(entries[::2], entries[1::2]):
            lines = [line for line in text.splitlines() if line and line[0] != '#']
            plant = Plant(name, path.name, finders, lines)
            plant.check()
            if plants.setdefault(name, plant) is not plant:
                raise plant.error('another plant has this name')
    return plants


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
        self.tree, self.build, self.log = work / 'tree', work / 'build', work / 'log'
        self.jobs = jobs
        self.expected = {}  # test: its outcome and processor seconds without a plant
        self.copy()
        self.build.mkdir(parents=True, exist_ok=True)
        if not (self.tree / 'configure').is_file():
            self.call(self.tree, 'autoreconf', '-fi')
        if not (self.build / 'config.status').is_file():
            self.call(self.build, '../tree/configure', *CONFIGURE)
        self.make('Makefile')  # which may say that it is made again
        ask = ('--eval=libraries = $(lib_LTLIBRARIES) $(pkglib_LTLIBRARIES) $(check_LTLIBRARIES)',
               '--eval=ask: ; @$(AM_TESTS_ENVIRONMENT) ' + ' '.join(
                   f"ASK_{name}='$({name})'" for name in ASKED) + ' env -0', 'ask')
        told = dict(line.split('=', 1) for line in self.make(*ask).split('\0') if '=' in line)
        self.programs, self.scripts, self.layer, self.libraries = (
            told.pop('ASK_' + name).split() for name in ASKED)
        self.environment = {name: told[name] for name in told if name not in OF_MAKE}

    def copy(self):
        listed = subprocess.run(['git', 'ls-files'], cwd=HERE, capture_output=True, text=True,
                                check=False)
        names = listed.stdout.split('\n')  # or all, in a tree that was unpacked
        if listed.returncode:
            names = sorted(glob.glob('**', root_dir=HERE, recursive=True, include_hidden=True))
        for top in BOOTSTRAP:
            names += glob.glob(top, root_dir=HERE) + glob.glob(top + '/*', root_dir=HERE)
        for name in names:
            source, to = HERE / name, self.tree / name
            if source.is_file() and not (to.is_file() and filecmp.cmp(source, to, shallow=False)):
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, to)  # with the time of now, so that make sees it

    @staticmethod
    def call(directory, *command):
        environment = {name: os.environ[name] for name in os.environ if name not in OF_MAKE}
        result = subprocess.run(command, cwd=directory, env=environment, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode:
            raise PlantError(f'{" ".join(command)} failed:\n{result.stdout[-4000:]}')
        return result.stdout

    def make(self, *targets):
        return self.call(self.build, 'make', '--silent', f'-j{self.jobs}', *targets)

    def run(self, test):
        """Builds and runs a test. Returns its exit status, or HANGS, and its processor seconds."""
        if test in self.scripts:  # what it runs is not known here
            self.make('all', *self.layer)
            command = ['python3' if test.endswith('.py') else 'sh', self.tree / test]
        else:  # a few programs load libraries
            path = self.tree / (test + '.c')
            loads = path.is_file() and 'top_builddir' in path.read_text('utf-8')
            self.make(test, *(self.libraries if loads else []))
            command = [self.build / test]
        before = os.times()
        with open(self.log, 'wb') as output:
            process = subprocess.Popen(command, cwd=self.build, env=self.environment,
                                       stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = process.wait(60 + 30 * self.expected.get(test, (0, 60))[1])
        except subprocess.TimeoutExpired:
            status = HANGS
        finally:
            kill_session(process.pid)
            process.wait()
        after = os.times()
        return status, sum(after[2:4]) - sum(before[2:4])  # of its children

    def can_find(self, test):
        """Runs a test without a plant, once: it must not fail. False if it is skipped."""
        if test not in self.expected:
            if test not in self.programs + self.scripts:
                raise PlantError(f'{test} is not among the tests of this build')
            self.expected[test] = self.run(test)
            if self.expected[test][0] not in (0, 77):
                raise PlantError(f'{test} fails without any plant: see {self.log}')
        return self.expected[test][0] == 0

    def finders(self, plant, tests):
        """Plants the fault and runs these tests. Yields (test, outcome, seconds) of those that find
        it."""
        able = [test for test in tests if self.can_find(test)]
        path = self.tree / plant.file
        text = path.read_text('utf-8')
        try:
            path.write_text(plant.applied_to(text), 'utf-8')
            for test in able:
                status, seconds = self.run(test)
                if status not in (0, 77):
                    yield test, status, seconds
        finally:
            path.write_text(text, 'utf-8')

    def plant(self, plant, all_finders):
        """Plants one fault, and prints what finds it. Returns whether anything does."""
        name = plant.name
        rest = sorted(set(self.programs + self.scripts) - set(plant.finders))
        try:
            for tests, note in (plant.finders, ''), (rest, ' (by the whole suite)'):
                for test, status, seconds in self.finders(plant, tests):
                    test += (' (hangs)' if status == HANGS else '') + note
                    print(f'{name:42} {test:56} {seconds:7.2f}', flush=True)
                    name = ''
                    if not all_finders:
                        return True
        except PlantError as error:
            print(f'{plant.name:42} CANNOT BE TRIED: {error}', flush=True)
        if name:
            print(f'{name:42} NOT FOUND', flush=True)
        return not name


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('names', nargs='*', metavar='NAME', help='plant these; without, all')
    add('--check', action='store_true', help='only check that every plant applies')
    add('--count', type=int, help='plant so many, chosen by the text of --seed')
    add('--seed', default='', help='the same text chooses the same plants')
    add('--all-finders', action='store_true', help='tell all tests that find it')
    add('--jobs', type=int, default=2, help='jobs of make (2)')
    add('--work', help='work in this folder and leave it: the next run builds less')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # cleans up
    try:
        plants = read_plants()
        chosen = choose(plants, options)
        if options.check:
            print(f'{len(plants)} planted faults apply')
        else:
            own = None if options.work else tempfile.TemporaryDirectory(prefix='clpool-plants-')
            rig = Rig(pathlib.Path(options.work or own.name).resolve(), options.jobs)
            print(f'{"planted fault":42} {"found by":56} {"CPU s":>7}', flush=True)
            missed = [plant.name for plant in chosen if not rig.plant(plant, options.all_finders)]
            print(f'{len(chosen) - len(missed)} of {len(chosen)} planted faults found')
            if missed:
                sys.exit(f'no test finds {", ".join(missed)}')
    except (PlantError, OSError) as error:
        sys.exit(f'check-plants.py: {error}')


if __name__ == '__main__':
    main()
