# SPDX-License-Identifier: MIT
"""The text of the tree.

- Sources begin with a licence line, have no code switched off, no notes to oneself, no tabs or
  trailing blanks, and 100 columns.
- An include leads downwards: each layer may include the layers in MAY and no others.
- Each public function has a row in the tables of wrong arguments (tests/api/*.def).
- Each planted fault (tests/house/plants) applies.
- The workflow runs every step of .ci/run, and only those."""
import glob
import os
import re
import subprocess
import sys

os.chdir(os.environ.get('top_srcdir', '.'))
FAILURES = []
FILES = sorted(path for top in 'include lib layer tools python examples bench tests'.split()
               for path in glob.glob(top + '/**', recursive=True)
               if os.path.isfile(path) and not path.startswith('python/build/'))
TEXTS = {}
for name in FILES:
    if name.endswith(tuple('.c .h .cc .hpp .in .cl .sh .awk .mk .md .py .pyi .bash .def'.split())):
        with open(name, encoding='utf-8') as stream:
            TEXTS[name] = stream.read().split('\n')


def complain(where, what):
    FAILURES.append(f'{where}: {what}')


# Spelled so that this file does not find itself.
REJECTED = [
    ('switched off', r'\s*#\s*if\s+0\b', 'c h cc hpp'),
    ('note to oneself', r'.*\b(TO' r'DO|FIX' r'ME|X' r'XX)\b', 'c h cc hpp sh awk mk cl py pyi'),
    ('tab', r'.*\t', 'c h cc hpp cl sh awk py pyi'),
    ('trailing blank', r'.*[ \t]$', 'c h cc hpp in cl sh awk mk md py pyi'),
    ('over 100 columns', r'.{101}', 'c h cc hpp cl sh awk py pyi'),
]


def check_lines():
    for path, lines in TEXTS.items():
        ending = path.rpartition('.')[2]
        for what, pattern, endings in REJECTED:
            if ending in endings.split():
                for number, line in enumerate(lines, 1):
                    if re.match(pattern, line):
                        complain(f'{path}:{number}', what)
        if ending in ('c', 'h', 'cc', 'hpp') and not re.fullmatch(
                r'(//|/\*) SPDX-License-Identifier: MIT( \*/)?', lines[0]):
            complain(path, 'no licence line')


CORE = ' '.join('core/' + room for room in 'base allocator streams store shard hooks pool'.split())
MAY = {room: 'libc api ' + CORE for room in CORE.split()} | {
    'api': 'libc api',
    'api-opencl': 'libc api CL',
    'api-cuda': 'libc api api-cuda',
    'arena': 'libc api arena ' + CORE,
    'hooks': 'libc api hooks libdw ' + CORE,
    'trace': 'libc api trace trace-stacks core/base zlib',
    'trace-allocators': 'libc api trace ' + CORE,
    'trace-stacks': 'libc api trace trace-stacks hooks core/base',
    'host': 'libc api host ' + CORE,
    'opencl': 'libc api opencl api-opencl CL ' + CORE,
    'cuda': 'libc api cuda api-cuda ' + CORE,
    'layer': 'libc api layer hooks opencl api-opencl CL ' + CORE,
    'tools': 'libc api tools trace core/base api-opencl api-cuda CL',
    'examples': 'libc api examples api-opencl api-cuda CL CLBlast',
    'python': 'libc api python Python api-opencl api-cuda CL',
    'bench': 'libc api bench trace api-opencl api-cuda CL',
}
LAYERS = [('include/clpool/opencl.h', 'api-opencl'),
          (r'include/clpool/cuda(_mempool)?\.h', 'api-cuda'),
          ('include/clpool/.*', 'api'), (r'tools/trace/metering_allocator\.c', 'trace-allocators'),
          (r'tools/trace/stacks\.[ch]', 'trace-stacks'), ('tools/trace/.*', 'trace'),
          ('lib/(core/[a-z]*)/.*', None), ('lib/([a-z]*)/.*', None), ('([a-z]*)/.*', None)]
LIBRARIES = [('CL/.*', 'CL'), (r'(Python|structmember)\.h', 'Python'), (r'zlib\.h', 'zlib'),
             (r'clblast_c\.h', 'CLBlast'), (r'cuda\.h', 'CUDA'), (r'elfutils/.*|dwarf\.h', 'libdw'),
             # A header of C or of the system has no folder of its own but sys.
             (r'(sys/)?[a-z]+\.h', 'libc')]


def layer_of(path, table):
    for pattern, layer in table:
        match = re.fullmatch(pattern, path)
        if match:
            return layer or match[1]
    return None


def target_of(path, name, is_quoted):
    """What an include leads to: a layer of this tree, a library, or why it is neither."""
    if name.startswith('clpool/'):
        return layer_of('include/' + name, LAYERS)
    if not is_quoted:
        return layer_of(name, LIBRARIES) or 'a library that no layer uses'
    for target in (os.path.normpath(os.path.join(os.path.dirname(path), name)), 'lib/' + name,
                   'tools/' + name):
        if target in TEXTS:
            return layer_of(target, LAYERS)
    return 'no such file'


def check_includes():
    for path, lines in TEXTS.items():
        if not re.search(r'\.[ch]$', path) or path.startswith('tests/'):
            continue
        layer = layer_of(path, LAYERS)
        for number, line in enumerate(lines, 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]*)', line)
            if include:
                target = target_of(path, include[2], include[1] == '"')
                if target not in MAY[layer].split():
                    complain(f'{path}:{number}',
                             f'{layer} must not include {include[2]} ({target})')


# Take no argument, or any: tests/api/test_status.c has what they answer.
EXEMPT = set('clp_free_all_held clp_last_error clp_set_last_error clp_status_message '
             'clp_status_name clp_version'.split())


def names_in(pattern, paths):
    return {match for path in paths for line in TEXTS[path] for match in re.findall(pattern, line)}


def check_arguments():
    # A declaration begins at the left margin, and its name is right before a parenthesis.
    declared = names_in(r'^[a-z].*[ *](clp_[a-z0-9_]*)\(',
                        [path for path in TEXTS if re.match(r'include/.*\.h(\.in)?$', path)])
    rows = names_in(r'^[A-Z_]*\((?:[0-9A-Z_ +-]*, )?(clp_[a-z0-9_]*),',
                    [path for path in TEXTS if path.endswith('.def')])
    for name in sorted(EXEMPT - declared | EXEMPT & rows):
        complain('EXEMPT', f'{name} is not declared, or has a row')
    for name in sorted(declared - rows - EXEMPT):
        complain('tests/api/*.def', f'{name} has no row')
    print(len(declared), 'public functions have rows in the tables of wrong arguments')


def check_steps():
    with open('.github/workflows/ci.yml', encoding='utf-8') as file:
        steps = re.search(r'step:.*?fromJSON.*?steps:', file.read(), re.S)[0]
    told = subprocess.check_output(['bash', '.ci/run', '--steps'], text=True)
    for step in set(re.findall('"([a-z-]*)"', steps)) ^ set(told.split()):
        complain(step, 'a step of .ci/run or of the workflow alone')


check_lines()
check_includes()
check_arguments()
check_steps()
plants = subprocess.run([sys.executable, 'tests/house/check-plants.py', '--check'], check=False)
sys.exit('\n'.join(FAILURES) if FAILURES else plants.returncode)
