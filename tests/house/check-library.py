# SPDX-License-Identifier: MIT
"""The built library.

- libclpool.so exports the functions that the installed headers declare, all of them, and no more.
  Each has a row in the tables of wrong arguments, and a man page.
- It starts on any machine: drivers' libraries are loaded when they are first used, so it names
  none.
- It takes little static TLS, of which dlopen has about 1.6 kB for all that it loads: a process may
  have several copies of the library, in plug-ins that bring their own.
- Calls lead downwards: a file belongs to a room by its folder, rooms of lib/core stand on one
  another in the order of ROOMS, and arena, hooks, host, opencl and cuda on lib/core, not on each
  other. What a lower room needs of a higher one comes as a table of functions, which is data. No
  two files of lib/core, lib/arena or layer lead to each other by calls."""
import graphlib
import os
import pathlib
import re
import shlex
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get('top_srcdir', '.')).resolve()
BUILD = pathlib.Path(os.environ.get('top_builddir', SOURCE)).resolve()
LIBRARY = BUILD / '.libs/libclpool.so'
MOST_TLS = 128
ROOMS = 'base allocator streams store shard hooks pool'.split()
FAILURES = []


def words(variable, default=''):
    return shlex.split(os.environ.get(variable) or default)


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


# Take no argument, or any: tests/api/test_status.c has what they answer.
EXEMPT = set('clp_free_all_held clp_last_error clp_set_last_error clp_status_message '
             'clp_status_name clp_version'.split())


def names_in(pattern, *names):
    paths = [next(filter(pathlib.Path.exists, (SOURCE / name, BUILD / name))) for name in names]
    return {name for path in paths for name in re.findall(pattern, path.read_text('utf-8'), re.M)}


def check_exports():
    # A declaration begins at the left margin, and its name is right before a parenthesis.
    declared = names_in(r'^(?!static)[a-z].*[ *](clp_[a-z0-9_]*)\(', *(
        name for name in words('clp_headers') if not name.endswith('.hpp')))
    rows = names_in(r'^[A-Z_]*\((?:[0-9A-Z_ +-]*, )?(clp_[a-z0-9_]*),',
                    *SOURCE.glob('tests/api/*.def'))
    symbols = output(*words('NM', 'nm'), '-D', '--defined-only', LIBRARY).splitlines()
    # "A" is the version node itself.
    exported = {re.sub('@.*', '', line.split()[2]) for line in symbols if line.split()[1] != 'A'}
    for name in sorted(declared ^ exported):
        FAILURES.append(name + (': not exported' if name in declared else ': not declared'))
    FAILURES.extend(f'tests/api/*.def: {name} has no row' for name in declared - rows - EXEMPT)
    FAILURES.extend(f'{name} has no man page' for name in declared
                    if not (BUILD / f'doc/man3/{name}.3').exists())
    print(len(exported), 'public functions are exported')


def check_needed():
    needed = re.findall(r'\(NEEDED\).*\[(.*)\]', output('readelf', '-dW', LIBRARY))
    print('it needs', *needed)
    FAILURES.extend(name for name in needed if re.search('opencl|cuda|pocl', name, re.I))
    segments = output('readelf', '-lW', LIBRARY)
    tls = int(re.search(r'^ *TLS( +0x\w+){4} +(0x\w+)', segments, re.M)[2], 16)
    print(tls, 'bytes of TLS')
    if tls > MOST_TLS:
        FAILURES.append(f'{tls} bytes of TLS, more than {MOST_TLS}')


def floor(room):
    """A room calls those of lower floors, and itself."""
    name = room.rpartition('/')[2]
    return ROOMS.index(name) if room.startswith('core/') else len(ROOMS) + (name == 'layer')


def room_of(file):
    return re.match(r'(?:lib/)?(core/[a-z]*|[a-z]*)', file)[1]


def read_references(objects):
    """What each file defines, and what it needs: {symbol: (file, is data)}, {file: symbols}."""
    home, needed = {}, {}
    for line in output(*words('NM', 'nm'), '-A', '-P', *objects, cwd=BUILD).splitlines():
        file, symbol, kind = line.split()[:3]
        file = re.sub(r'/\.libs/libclpool_[a-z]*_la-(.*)\.o:', r'/\1.c', file)
        if kind == 'U':
            needed.setdefault(file, []).append(symbol)
        elif kind in 'ABCDGRSTVWuw':
            home[symbol] = file, kind in 'BDRSV'
    return home, needed


def check_calls():
    objects = [str(path.relative_to(BUILD)) for top in ('lib', 'layer')
               for path in BUILD.glob(top + '/**/.libs/libclpool_*_la-*.o')
               if re.match('libclpool_(internal|layer)_la-', path.name)]
    home, needed = read_references(objects)
    calls = {}
    for file, symbols in needed.items():
        for symbol in symbols:
            to, is_data = home.get(symbol, (file, True))
            if to == file or is_data:
                continue
            calls.setdefault(file, set()).add(to)
            if room_of(to) != room_of(file) and floor(room_of(to)) >= floor(room_of(file)):
                FAILURES.append(f'{file} must not call {symbol} of {to}')
    if not calls:
        print('skipped: the objects have no symbols of their own: built for the linker to optimize')
        sys.exit('\n'.join(FAILURES) or 77)
    try:
        graphlib.TopologicalSorter({
            file: calls[file] for file in calls
            if not re.match('lib/(hooks|host|opencl|cuda)/', file)}).prepare()
    except graphlib.CycleError as error:
        FAILURES.append(f'files call each other: {" ".join(error.args[1])}')
    print(sum(map(len, calls.values())), 'references between files')


check_exports()
check_needed()
check_calls()
sys.exit('\n'.join(FAILURES) or 0)
