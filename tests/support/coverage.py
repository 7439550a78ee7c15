# SPDX-License-Identifier: MIT
"""Prints the share of executed lines of each folder, from the counters that a build with
--enable-coverage left in the current one, and the lines of the library and the layers that nothing
executed. Fails if coverage.txt does not explain one of those."""
import collections
import json
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(os.environ['top_srcdir']).resolve()
calls, functions = collections.Counter(), {}
for counters in pathlib.Path().rglob('*.gcda'):
    if counters.parts[0] in ('lib', 'layer', 'tools'):
        told = subprocess.check_output([os.environ['GCOV'], '--json-format', '--stdout', counters])
        for file in json.loads(told)['files']:
            path = os.path.relpath(file['file'], SOURCE)
            for line in file['lines'] * (path[0] != '.'):  # not those of the system's headers
                calls[path, line['line_number']] += line['count']
                functions[path, line['line_number']] = line.get('function_name')

shares = collections.defaultdict(list)
for (path, _), count in calls.items():
    shares[os.path.dirname(path)].append(count > 0)
for folder, executed in sorted(shares.items()):
    print(f'{100 * sum(executed) / len(executed):6.2f} % of {len(executed):5} lines, '
          f'{executed.count(False):3} not executed: {folder}')

# An entry: a file, a function, and how lines of it begin.
entries = [line for line in (SOURCE / 'tests/support/coverage.txt').read_text().split('\n')
           if line and line[0] != '#']
stale = set(entries)
failed = not calls
for (path, number), count in sorted(calls.items()):
    text = (SOURCE / path).read_text().split('\n')[number - 1].strip()
    line = f'{path} {functions[path, number]} {text}'
    explained = [entry for entry in entries if line.startswith(entry)]
    stale -= set(explained)
    if count == 0 and not path.startswith('tools/'):
        print('explained:' if explained else 'not in coverage.txt:', number, line)
        failed |= not explained
print(*(f'NO SUCH LINE: {entry}\n' for entry in sorted(stale)), sep='')
sys.exit(failed or bool(stale))
