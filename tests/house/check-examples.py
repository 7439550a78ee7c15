# SPDX-License-Identifier: MIT
"""The examples run, and what they print is right as far as it is the same on every machine. What
the guides show of them, and of the program, is what these print here."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get('top_srcdir', '.')).resolve()
BUILD = os.path.abspath(os.environ.get('top_builddir', SOURCE))
FAKE = BUILD + '/tests/fakecuda/.libs/libfakecuda.so'
HAS_TOOL = os.environ.get('clp_tool', 'yes') == 'yes'


def read_expected():
    """examples.txt: {command: [(count, pattern), ...]}, and what is refused."""
    expected, refused = {}, []
    for line in (SOURCE / 'tests/house/examples.txt').read_text().splitlines():
        first, _, rest = line.partition(' ')
        if first == '$':
            rows = expected.setdefault(rest, [])
        elif first == '!':
            refused.append(rest)
        elif first not in ('#', ''):
            rows.append((int(first), rest))
    return expected, refused


def start(command, **environment):
    return subprocess.run(shlex.split(f'{BUILD}/examples/{command}'), capture_output=True,
                          text=True, env=os.environ | environment, check=False)


def run(command, **environment):
    """Runs an example. Returns its output, or None where it has no device."""
    found = start(command, **environment)
    if found.returncode == 77:
        return None
    if found.returncode or found.stderr:
        sys.exit(f'{command}: exit status {found.returncode}\n{found.stdout}{found.stderr}')
    for count, pattern in EXPECTED.get(command, ()):
        lines = len(re.findall(f'^{pattern}$', found.stdout, re.M))
        if lines != count:
            sys.exit(f'{command}: {lines} lines, not {count}, match {pattern}:\n{found.stdout}')
    return found.stdout


def without_times(text):
    return [line for line in text.split('\n')
            if line and ' time per ' not in line and not line.startswith('Device: ')]


def check_commands(guide, verbs):
    """The guide shows what commands print here, in blocks that begin with "$ clpool VERB" or a
    loop, except for lines with a time or a device. The current folder has their files."""
    text = (SOURCE / 'doc' / guide).read_text()
    for block in re.findall(r'^```[^\n]*\n(.*?)^```', text, re.M | re.S):
        if re.match(rf'\$ (clpool ({verbs})|for )', block):
            command = '\n'.join(line[2:] for line in block.split('\n') if line[:2] in ('$ ', '> '))
            shown = '\n'.join(line for line in block.split('\n') if line[:2] not in ('$ ', '> '))
            found = subprocess.run(['sh', '-c', command], stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.STDOUT, check=False)
            if found.returncode or shown and without_times(shown) != without_times(found.stdout):
                sys.exit(f'{guide} shows something else: {command}\n{found.stdout}')


def check_excerpt(guide, begin, output):
    """The guide's block that begins with these words is lines of the output, in its order; "..."
    stands for others."""
    text = (SOURCE / 'doc' / guide).read_text()
    block = re.search(rf'^```\n({begin}.*?)^```', text, re.M | re.S)
    rest = iter(output.split('\n'))
    for line in block[1].splitlines() if block else ['']:
        if line.strip() != '...' and (not line or line not in rest):
            sys.exit(f'{guide} shows {line!r} after "{begin}", not printed here:\n{output}')


def check_stacks(output):
    # A tree that is built with -g, and in place, has the guide's lines of source.
    profile = ['_root'] * ('  examples/where_memory_goes.c:145:main' in output)
    for begin in ['allocations ', ' block bytes ', *profile]:
        check_excerpt('where-memory-goes.md', begin, output)
    folded = pathlib.Path('memory.folded').read_text().splitlines()
    total = sum(int(line.split()[-1]) for line in folded)
    if f'{total / 1048576:.2f}' != '81.82':
        sys.exit(f'the folded stacks sum up to {total}')
    if HAS_TOOL:
        check_commands('where-memory-goes.md', 'replay|report|tune')


def under_layers():
    """The layers' library is named here since it is not installed."""
    if not HAS_TOOL or not os.path.exists(BUILD + '/.libs/libclpool-layer.so'):
        return
    os.symlink(BUILD + '/examples/without_pools', 'without_pools')
    os.mkdir('bin')
    with open('bin/clpool', 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\nlayer=layer\n[ "$1" != record ] || layer=record\n'
                   f'CLPOOL_LAYER_LIBRARY={BUILD}/.libs/libclpool-$layer.so '
                   f'exec {BUILD}/tools/clpool "$@"\n')
    os.chmod('bin/clpool', 0o755)
    check_commands('any-program.md', 'run|record|tune|report')


def check(example):
    """Returns whether it ran."""
    refused = [wrong for wrong in REFUSED if wrong.split()[0] == example]
    if example not in ('first_pool', 'without_pools'):
        told = run(example + ' --help')
        if not re.match(rf'usage: {example}\b', told):
            sys.exit(f'{example} --help: {told}')
        refused += [example + ' --no-such-option', example + ' junk']
    for wrong in refused:
        found = start(wrong)
        if found.returncode != 2 or not found.stderr:
            sys.exit(f'{wrong}: exit status {found.returncode}, not 2, or it says nothing')
    if example.startswith('cuda_'):  # on the fake driver, and on the machine's own
        return any([run(example, CLPOOL_CUDA_LIBRARY=library) is not None
                    for library in [FAKE] * os.path.exists(FAKE) + ['']])
    for command in EXPECTED:
        if command.split()[0] == example:
            environment = {'CLPOOL_TRACE': os.getcwd() + '/stacks.csv', 'CLPOOL_TRACE_STACKS': '1'}
            output = run(command, **environment if example == 'where_memory_goes' else {})
            if output is None:
                return False
            if example == 'where_memory_goes':
                check_stacks(output)
            elif example == 'without_pools':
                under_layers()
            elif example == 'arena':
                for begin in 'the pool is ', '{"segments": ':
                    check_excerpt('arena.md', begin, output)
    return True


EXPECTED, REFUSED = read_expected()
examples = [os.path.basename(path) for path in os.environ['clp_examples'].split()]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ['PATH'] = f'{folder}/bin:{BUILD}/tools:{os.environ["PATH"]}'
    without = [example for example in examples if not check(example)]
    if HAS_TOOL:
        os.symlink(SOURCE / 'examples', 'examples')
        os.symlink('examples/data/rank.0.csv.gz', 'run.0.csv')
        for guide in 'tuning.md', 'many-ranks.md':
            check_commands(guide, 'tune')
        if pathlib.Path('tuning.svg').read_text() != (SOURCE / 'doc/tuning.svg').read_text():
            sys.exit('clpool tune draws another doc/tuning.svg')
    os.chdir('/')
if without:
    print('skipped: no device for', *without)
    sys.exit(77)
