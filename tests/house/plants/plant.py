# SPDX-License-Identifier: MIT
"""The table of planted faults: reads tests/house/plants/*.txt, and applies a fault to a tree."""
import glob
import hashlib
import os
import re

# Each kind of fault has at least one plant, whatever the code looks like.
KINDS = ('age order wrong', 'block in two lanes', 'exact block held', 'figure off', 'fork missed',
         'leak on failure', 'limit off by one', 'lock missing', 'lock order broken', 'lost block',
         'mark lost', 'order broken', 'second release not told', 'wrong status')


class PlantError(Exception):
    """The table, or a plant of it, is wrong."""


class Plant:
    """One fault: `old` text, which a file has exactly once, and the `new` text in its place."""

    def __init__(self, name, where):
        self.name = name
        self.where = where  # file and line of the table
        self.kind = ''
        self.notice = ''    # what a user would notice
        self.file = ''
        self.finders = []   # test programs to try first
        self.old = self.new = ''

    def fail(self, why):
        raise PlantError(f'{self.where}: {self.name}: {why}')

    def applied_to(self, text):
        """The text with the fault in it."""
        count = ('\n' + text).count('\n' + self.old)
        if count != 1:
            found = 'is no longer there' if count == 0 else f'is there {count} times'
            self.fail(f'the old text {found} in {self.file}: plant a fault of this kind '
                      f'({self.kind}) in the new code, or take this one out')
        at = ('\n' + text).index('\n' + self.old)
        return text[:at] + self.new + text[at + len(self.old):]


def finder_exists(source, finder):
    """Whether the tree has a test program or script of this name."""
    names = [finder] if finder.endswith('.sh') else [finder + '.c', finder + '.cc']
    return any(os.path.isfile(os.path.join(source, name)) for name in names)


def check(plant, source):
    """Fails unless the plant is complete and applies to the tree."""
    path = os.path.join(source, plant.file)
    if plant.kind not in KINDS:
        plant.fail(f'"{plant.kind}" is no kind of fault; the kinds are {", ".join(KINDS)}')
    if not plant.notice:
        plant.fail('a sentence must say what a user would notice')
    if not plant.file or not os.path.isfile(path):
        plant.fail(f'there is no file "{plant.file}"')
    if not plant.old or plant.old == plant.new:
        plant.fail('it needs lines that begin with - or +, and must change something')
    for finder in plant.finders:
        if not finder_exists(source, finder):
            plant.fail(f'there is no test {finder}')
    with open(path, encoding='utf-8') as file:
        plant.applied_to(file.read())


def add_line(plant, line, defaults):
    """Adds one line of a plant's entry."""
    word, _, rest = line.partition(' ')
    if line[0] in ' -+':
        plant.old += line[1:] + '\n' if line[0] in ' -' else ''
        plant.new += line[1:] + '\n' if line[0] in ' +' else ''
    elif plant.old or plant.new:
        plant.fail(f'this line begins with none of blank, - and +: {line}')
    elif word == 'kind':
        plant.kind = rest
    elif word == 'in':
        plant.file = rest
    elif word == 'try':
        plant.finders = defaults + [finder for finder in rest.split() if finder not in defaults]
    else:
        plant.notice = (plant.notice + ' ' + line).strip()


def read_table(path):
    """The plants of one file. A line `try` before the first plant is for all of them."""
    plants, defaults = [], []
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        where = f'{os.path.basename(path)}:{number}'
        heading = re.fullmatch(r'\[([a-z0-9-]+)\]', line)
        if heading:
            plants.append(Plant(heading[1], where))
            plants[-1].finders = list(defaults)
        elif not line or line.startswith('#'):
            continue
        elif plants:
            add_line(plants[-1], line, defaults)
        elif line.startswith('try '):
            defaults = line.split()[1:]
        else:
            raise PlantError(f'{where}: expected a plant\'s [name], found: {line}')
    return plants


def read_all(source):
    """All plants of the tree's table, each of which applies."""
    plants = []
    for path in sorted(glob.glob(os.path.join(source, 'tests/house/plants/*.txt'))):
        plants += read_table(path)
    names = set()
    for plant in plants:
        if plant.name in names:
            plant.fail('another plant has this name')
        names.add(plant.name)
        check(plant, source)
    missing = set(KINDS) - {plant.kind for plant in plants}
    if missing:
        raise PlantError(f'no plant is of the kind {", ".join(sorted(missing))}')
    return plants


def choose(plants, names, count, seed):
    """The named plants, or all; of these the `count` that the text `seed` chooses, or all."""
    known = {plant.name for plant in plants}
    for name in names:
        if name not in known:
            raise PlantError(f'there is no plant {name}')
    chosen = [plant for plant in plants if not names or plant.name in names]
    if count is None:
        return chosen
    by_chance = sorted(chosen, key=lambda plant: hashlib.sha256(
        f'{seed} {plant.name}'.encode()).digest())
    return by_chance[:count]
