# SPDX-License-Identifier: MIT
"""The examples run, and what they print is right as far as it is the same on every machine. What
the guides show of them, and of the program, is what these print here."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get('top_srcdir', '.'))
BUILD = os.path.abspath(os.environ.get('top_builddir', SOURCE))
FAKE = BUILD + '/tests/fakecuda/.libs/libfakecuda.so'
HAS_TOOL = os.environ.get('clp_tool', 'yes') == 'yes'
ROW = r'( +[0-9.]+ \( *[0-9.]+ x\)){3} +[0-9.]+ \( 1\.00 x\)'
TIMES = r'( +[0-9]+ \([0-9. ]+ x\)){3} +[0-9.]+ +[0-9.]+'

# How an example is run: how many lines match which patterns, whole.
# - two_queues: every frame is as it was drawn, and blocks are used again. Only the memory of a
#   plain cl_mem may come back late, with some drivers.
# - array_expressions: a row has elements, KiB, and four times with their ratios, the last of which
#   is to itself. For each of 3 sizes: 2 arguments, 3 temporaries up to the root, which is compared
#   element by element, and 5 of each of 3 sums, one compared and two timed. Of these, 4 of each
#   size are alive at once; the last two temporaries are of the same sizes always.
# - clblast_chain: small products need nothing of CLBlast's; in larger ones, what it needs is from
#   the pool, too, so that it gets more than the two links of each of 3 chains.
EXPECTED = {
    'first_pool': {'allocations: +100': 1, 'device allocations: +1': 1},
    'pooled_buffers': {'allocations: +100': 1, 'hits: +99': 1, 'device allocations: +1': 1},
    'pooled_buffers_cpp': {
        'allocations: +102': 1, 'hits: +101': 1, 'device allocations: +1': 1,
        'over the limit: +CLP_LIMIT_EXCEEDED': 1,
        "without exceptions: the pool's memory limit is exceeded": 1},
    'two_queues': {
        '(on one queue|from queue to queue|on both queues|bound) +16 frames, blocks: +1, '
        'wrong words: 0': 4,
        'one frame ahead +16 frames, blocks: +2, wrong words: 0': 1,
        'as plain cl_mem +16 frames, blocks: +[0-9]+, wrong words: 0': 1},
    'array_expressions --repeat=2': {
        ' +(1024 +4|65536 +256|4194304 +16384)' + ROW: 3,
        "All results agree with the host's\\.": 1,
        'pool on (deferred|immediate): 60 arrays, 14 device allocations': 2},
    'array_expressions --elements=1001 --repeat=1': {
        ' +1001 +3' + ROW: 1, "All results agree with the host's\\.": 1},
    'clblast_chain --rows=64 --repeat=2': {
        ' +64' + TIMES: 1, "All results agree with the host's\\.": 1,
        'all pooled: 24 buffers, [1-5] device allocations': 1},
    'clblast_chain --rows=1000 --links=2 --repeat=2': {
        ' +1000' + TIMES: 1, "All results agree with the host's\\.": 1,
        'all pooled: ([7-9]|1[0-2]) buffers, [3-4] device allocations': 1},
    'where_memory_goes memory.csv memory.folded': {
        r'_root \(81\.82MB, 20\.45MB\)': 1, r'_root \(3\.12MB\)': 1,
        r'peak managed +21446883 bytes': 1},
    'tune_bins': {' +[0-8] +[0-9.]+ % +[0-9]+ +[0-9.]+ % +[0-9.]+ MiB +[0-9.]+ MiB +[0-9.]+': 9},
    'arena': {r'on (the device|an arena) +156\.1 MiB .*': 2},
    'without_pools': {'1000 steps, 2000 buffers, 0 wrong words': 1},
    'cuda_async': {'frames: +64': 1, 'wrong bytes: +0': 1, 'device allocations: +2': 1},
    'cuda_share': {'the second process found what the first wrote': 1,
                   'the first process found what the second wrote': 1},
}
REFUSED = ['array_expressions --elements=0', 'array_expressions --repeat=many',
           'clblast_chain --rows=0', 'clblast_chain --links=65', 'where_memory_goes memory.csv']
WITHOUT_OPTIONS = 'first_pool', 'without_pools'


def fail(why):
    sys.exit(f'check-examples: {why}')


def read(name):
    with open(name, encoding='utf-8') as file:
        return file.read()


def start(command, **environment):
    return subprocess.run(shlex.split(f'{BUILD}/examples/{command}'), capture_output=True,
                          text=True, env=os.environ | environment, check=False)


def run(command, **environment):
    """Runs an example. Returns its output, or None where it has no device."""
    found = start(command, **environment)
    if found.returncode == 77:
        return None
    if found.returncode or found.stderr:
        fail(f'{command}: exit status {found.returncode}\n{found.stdout}{found.stderr}')
    return found.stdout


def refuse(command):
    """It says what is wrong, and exits with 2."""
    found = start(command)
    if found.returncode != 2 or not found.stderr:
        fail(f'{command}: exit status {found.returncode}, not 2, or it does not say what is wrong')


def expect(command, **environment):
    output = run(command, **environment)
    for pattern, count in EXPECTED[command].items() if output is not None else ():
        found = len(re.findall(f'^{pattern}$', output, re.M))
        if found != count:
            fail(f'{command}: {found} lines, not {count}, match {pattern}:\n{output}')
    return output


def without_times(text):
    return [line for line in text.split('\n')
            if line and ' time per ' not in line and not line.startswith('Device: ')]


def check_commands(guide, verbs):
    """The guide shows what commands print here, in blocks that begin with "$ clpool VERB" or a
    loop, except for lines with a time or a device. The current folder has their files."""
    for block in re.findall(r'^```.*\n(.*?)^```', read(f'{SOURCE}/doc/{guide}'), re.M | re.S):
        if re.match(rf'\$ (clpool ({verbs})|for )', block):
            command = '\n'.join(line[2:] for line in block.split('\n') if line[:2] in ('$ ', '> '))
            shown = '\n'.join(line for line in block.split('\n') if line[:2] not in ('$ ', '> '))
            found = subprocess.run(['sh', '-c', command], stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.STDOUT, check=False)
            if found.returncode or without_times(shown) != without_times(found.stdout):
                fail(f'{guide} shows something else: {command}\n{found.stdout}')


def check_lines(guide, shown):
    """The guide shows these lines."""
    missing = set(shown.split('\n')) - set(read(f'{SOURCE}/doc/{guide}').split('\n'))
    if missing:
        fail(f'{guide} does not show: {missing}')


def check_excerpt(guide, begin, output):
    """The guide's block that begins with these words is lines of the output, in its order; "..."
    stands for others."""
    block = re.search(rf'^```\n({begin}.*?)^```', read(f'{SOURCE}/doc/{guide}'), re.M | re.S)
    rest = iter(output.split('\n'))
    for line in block[1].splitlines() if block else ['']:
        if line.strip() != '...' and (not line or line not in rest):
            fail(f'{guide} shows {line!r} after "{begin}", which is not printed there:\n{output}')


def where_memory_goes(command):
    output = expect(command, CLPOOL_TRACE=os.getcwd() + '/stacks.csv', CLPOOL_TRACE_STACKS='1')
    # A tree that is built with -g, and in place, has the guide's lines of source.
    profile = ['_root'] * ('  examples/where_memory_goes.c:145:main' in output)
    for begin in ['allocations ', ' block bytes ', *profile]:
        check_excerpt('where-memory-goes.md', begin, output)
    total = sum(int(line.split()[-1]) for line in read('memory.folded').split('\n') if line)
    if f'{total / 1048576:.2f}' != '81.82':
        fail(f'the folded stacks sum up to {total}')
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


def check_padding(output):
    """Padding falls from row to row, and is little at the end; the device is asked more often."""
    rows = [line.split() for line in output.split('\n') if re.match(' +[0-8] ', line)]
    for before, row in zip(rows, rows[1:]):
        if float(row[4]) >= float(before[4]) or int(row[3]) < int(before[3]):
            fail(f'tune_bins: padding must fall, device allocations grow:\n{output}')
    if float(rows[-1][4]) > 1 or len({row[8] for row in rows}) > 1:
        fail(f'tune_bins: padding is little at the end, active bytes are the same:\n{output}')


def check(example):
    """Returns whether it ran."""
    if example not in WITHOUT_OPTIONS:
        told = run(example + ' --help')
        if not re.match(rf'usage: {example}\b', told):
            fail(f'{example} --help: {told}')
        for wrong in ['--no-such-option', 'junk']:
            refuse(f'{example} {wrong}')
    for wrong in REFUSED:
        if wrong.startswith(example + ' '):
            refuse(wrong)
    if example.startswith('cuda_'):  # on the fake driver, and on the machine's own
        ran = [expect(example, CLPOOL_CUDA_LIBRARY=library) is not None
               for library in [FAKE] * os.path.exists(FAKE) + ['']]
        return any(ran)
    for command in EXPECTED:
        if command.split()[0] == example:
            if example == 'where_memory_goes':
                where_memory_goes(command)
                continue
            output = expect(command)
            if output is None:
                return False
            if example == 'tune_bins':
                check_padding(output)
            elif example == 'arena':
                check_lines('arena.md', output)
            elif example == 'without_pools':
                under_layers()
    return True


examples = [os.path.basename(path) for path in os.environ['clp_examples'].split()]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ['PATH'] = f'{folder}/bin:{BUILD}/tools:{os.environ["PATH"]}'
    without = [example for example in examples if not check(example)]
    os.chdir('/')
if without:
    print('skipped: no device for', *without)
    sys.exit(77)
