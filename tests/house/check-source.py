# SPDX-License-Identifier: MIT
"""The text of the tree.

- Sources begin with a licence line, have no code switched off, no notes to oneself, no tabs or
  trailing blanks, and 100 columns.
- An include leads downwards: a file includes what MAY lists for its folder, and nothing else.
- Each planted fault (tests/house/plants) applies.
- The workflow runs every step of .ci/run, and only those."""
import glob
import os
import pathlib
import re
import subprocess
import sys

os.chdir(os.environ.get('top_srcdir', '.'))
FAILURES = []
ENDINGS = tuple('.c .h .cc .hpp .in .cl .sh .awk .mk .md .py .pyi'.split())
TEXTS = {path: pathlib.Path(path).read_text('utf-8').split('\n')
         for top in 'include lib layer tools python examples bench tests'.split()
         for path in sorted(glob.glob(top + '/**', recursive=True))
         if path.endswith(ENDINGS) and not path.startswith('python/build/')}


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
                        FAILURES.append(f'{path}:{number}: {what}')
        if ending in ('c', 'h', 'cc', 'hpp') and not re.fullmatch(
                r'(//|/\*) SPDX-License-Identifier: MIT( \*/)?', lines[0]):
            FAILURES.append(f'{path}: no licence line')
        if path.startswith('include/') and '/** @file' not in lines:
            FAILURES.append(f'{path}: no comment of @file')


# How a path begins, and how what its file may include begins, beyond COMMON: the headers of C and
# of the system, and clpool's own that need no other library.
COMMON = r'(sys/)?(?!cuda|dwarf|structmember|zlib)[a-z]+\.h$|include/clpool/(?!opencl|cuda)'
MAY = [
    ('include/clpool/opencl', 'CL/'),
    ('include/clpool/cuda', 'include/clpool/cuda'),
    ('include/', COMMON),
    ('lib/core/', 'lib/core/'),
    ('lib/arena/', 'lib/(core|arena)/'),
    ('lib/host/', 'lib/(core|host)/'),
    ('lib/hooks/', r'lib/(core|hooks)/|elfutils/|dwarf\.h'),
    ('lib/opencl/', 'lib/(core|opencl)/|include/clpool/opencl|CL/'),
    ('lib/cuda/', 'lib/(core|cuda)/|include/clpool/cuda'),
    ('layer/', 'layer/|lib/(core|hooks|opencl)/|include/clpool/opencl|CL/'),
    ('tools/trace/metering_allocator', 'tools/trace/|lib/core/'),
    ('tools/trace/stacks', 'tools/trace/|lib/(core/base|hooks)/'),
    ('tools/trace/', r'tools/trace/|lib/core/base/|zlib\.h'),
    ('tools/', 'tools/|lib/core/base/|include/|CL/'),
    ('bench/', 'bench/|tools/trace/|include/|CL/'),
    ('examples/', r'examples/|include/|CL/|clblast_c\.h'),
    ('python/', r'python/|include/|CL/|(Python|structmember)\.h'),
]


def target_of(path, name, is_quoted):
    """What an include leads to: a file of this tree, or a name of the system's."""
    if name.startswith('clpool/'):
        return 'include/' + name
    places = (os.path.normpath(os.path.join(os.path.dirname(path), name)), 'lib/' + name,
              'tools/' + name)
    return next(filter(TEXTS.get, places), 'no such file') if is_quoted else name


def check_includes():
    for path in TEXTS:
        if not re.search(r'\.[ch]$', path) or path.startswith('tests/'):
            continue
        may = next(targets for begin, targets in MAY if path.startswith(begin))
        for number, line in enumerate(TEXTS[path], 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]*)', line)
            if include:
                target = target_of(path, include[2], include[1] == '"')
                if not re.match(f'{COMMON}|{may}', target):
                    FAILURES.append(f'{path}:{number}: must not include {include[2]} ({target})')


def check_steps():
    workflow = pathlib.Path('.github/workflows/ci.yml').read_text('utf-8')
    steps = re.search(r'step:.*?fromJSON.*?steps:', workflow, re.S)[0]
    told = subprocess.check_output(['bash', '.ci/run', '--steps'], text=True)
    for step in set(re.findall('"([a-z-]*)"', steps)) ^ set(told.split()):
        FAILURES.append(f'{step}: a step of .ci/run or of the workflow alone')


check_lines()
check_includes()
check_steps()
plants = subprocess.run([sys.executable, 'tests/house/check-plants.py', '--check'], check=False)
sys.exit('\n'.join(FAILURES) if FAILURES else plants.returncode)
