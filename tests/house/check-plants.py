#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults in a copy of the tree, one at a time, and checks that some test finds each.

usage: check-plants.py [OPTIONS] [NAME...]      a NAME is a plant's; without, all are planted

  --check         only check that every plant applies; nothing is built
  --list          only list the plants
  --count=N       plant N of them, chosen by the text of --seed
  --seed=TEXT     for --count: the same text chooses the same plants
  --all-finders   run the whole suite on each plant, and tell every test that finds it
  --jobs=N        jobs of make (default: 2)
  --source=DIR    the tree (default: the one that this script is in)
  --work=DIR      work in DIR and leave it: the next run there builds less
  --keep          leave the folder of work, and tell where it is

The table is tests/house/plants/*.txt. The tests that an entry names are tried first; if none finds
the fault, the whole suite is run: the programs and scripts of `make check`, without those that look
at the text of the tree. Exits with 0 if every planted fault is found, 1 if not, 2 on wrong use."""
import getopt
import os
import shutil
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # the tree may be read-only, and stays as it is
sys.path.insert(0, os.path.join(HERE, 'plants'))

# pylint: disable=wrong-import-position
import plant as table
import process
from rig import Rig, RigError

OPTIONS = ['check', 'list', 'count=', 'seed=', 'all-finders', 'jobs=', 'source=', 'work=', 'keep',
           'help']


class Found:
    """What the tests made of a plant."""

    def __init__(self, plant):
        self.plant = plant
        self.tests = []      # (test, outcome, processor seconds) of those that found it
        self.is_hinted = True

    def line(self):
        if not self.tests:
            return f'{self.plant.name:42} NOT FOUND'
        test, outcome, seconds = self.tests[0]
        note = ' (hangs)' if outcome == process.HUNG else ''
        note += '' if self.is_hinted else ' (by the whole suite)'
        return f'{self.plant.name:42} {test + note:56} {seconds:7.2f}'


def suite_order(rig, plant):
    """All tests: those of the plant's folders first, then the quick ones."""
    words = set(plant.file.split('/')[:-1]) - {'lib', 'core'}
    def key(test):
        return (not words & set(test.split('/')), rig.expected[test][1])
    return sorted((test for test in rig.programs + rig.scripts if rig.finds(test)), key=key)


def try_test(rig, found, test):
    """Runs a test on the planted tree. Returns whether it finds the fault."""
    outcome, seconds = rig.run(test)
    is_found = outcome in (process.FAILED, process.HUNG)
    if is_found:
        found.tests.append((test, outcome, seconds))
    return is_found


def try_hints(rig, found):
    """Builds and runs the tests that the plant names, until one finds it."""
    for test in filter(rig.finds, found.plant.finders):
        rig.build_test(test)
        if try_test(rig, found, test):
            return


def try_suite(rig, found, text, all_finders):
    """Builds and runs the whole suite, until one finds the plant or to the end."""
    learn_suite(rig, found.plant, text)
    rig.build_suite()
    for test in suite_order(rig, found.plant):
        is_new = all_finders or test not in found.plant.finders
        if is_new and try_test(rig, found, test) and not all_finders:
            return


def plant_and_try(rig, plant, all_finders):
    """Plants one fault, looks who finds it, and takes it out again."""
    found = Found(plant)
    text = rig.read(plant.file)
    try:
        rig.write(plant.file, plant.applied_to(text))
        if not all_finders:
            try_hints(rig, found)
        if not found.tests:
            found.is_hinted = all_finders
            try_suite(rig, found, text, all_finders)
    finally:
        rig.write(plant.file, text)
    return found


def learn_suite(rig, plant, text):
    """Runs the whole suite once without a plant."""
    tests = rig.programs + rig.scripts
    if all(test in rig.expected for test in tests):
        return
    planted = rig.read(plant.file)
    rig.write(plant.file, text)
    rig.build_suite()
    rig.learn(tests, is_built=True)
    rig.write(plant.file, planted)


def report(found, all_finders):
    print(found.line(), flush=True)
    if all_finders:
        for test, outcome, seconds in found.tests[1:]:
            note = ' (hangs)' if outcome == process.HUNG else ''
            print(f'{"":42} {test + note:56} {seconds:7.2f}', flush=True)


def plant_all(rig, plants, all_finders):
    """Plants each fault in turn. Returns whether all were found."""
    rig.prepare()
    rig.learn(dict.fromkeys(test for plant in plants for test in plant.finders))
    print(f'{"planted fault":42} {"found by":56} {"CPU s":>7}')
    missed, broken = [], []
    for plant in plants:
        try:
            found = plant_and_try(rig, plant, all_finders)
        except RigError as error:
            print(f'{plant.name:42} CANNOT BE TRIED: {error}', flush=True)
            broken.append(plant.name)
            continue
        report(found, all_finders)
        if not found.tests:
            missed.append(plant.name)
    found_count = len(plants) - len(missed) - len(broken)
    print(f'{found_count} of {len(plants)} planted faults found')
    for what, names in (('no test finds', missed), ('these cannot be tried:', broken)):
        if names:
            print(what, ', '.join(names))
    return not missed and not broken


def work(plants, options):
    folder = options.get('--work') or tempfile.mkdtemp(prefix='clpool-plants-')
    leaves = '--keep' in options or '--work' in options
    source = options['--source']
    try:
        rig = Rig(source, os.path.abspath(folder), int(options.get('--jobs', 2)))
        return plant_all(rig, plants, '--all-finders' in options)
    finally:
        if leaves:
            print(f'left as it is: {folder}')
        else:
            shutil.rmtree(folder, ignore_errors=True)


def list_plants(plants):
    for plant in plants:
        print(f'{plant.name:42} {plant.kind:24} {plant.file}\n    {plant.notice}')


def main(arguments):
    try:
        given, names = getopt.gnu_getopt(arguments, '', OPTIONS)
        options = {'--source': os.path.dirname(os.path.dirname(HERE)), '--seed': ''} | dict(given)
        count = int(options['--count']) if '--count' in options else None
    except (getopt.GetoptError, ValueError) as error:
        print(f'check-plants.py: {error}', file=sys.stderr)
        return 2
    if '--help' in options:
        print(__doc__)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # cleans up
    try:
        plants = table.read_all(options['--source'])
        chosen = table.choose(plants, names, count, options['--seed'])
        if '--check' in options:
            print(f'{len(plants)} planted faults apply')
            return 0
        if '--list' in options:
            list_plants(chosen)
            return 0
        return 0 if work(chosen, options) else 1
    except (table.PlantError, RigError) as error:
        print(f'check-plants.py: {error}', file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
