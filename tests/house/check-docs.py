# SPDX-License-Identifier: MIT
"""The guides and man pages.

- Guides: their C and C++ code is that of the examples, line for line but for the indentation, so it
  compiles and runs; what they link is there, headings and pictures too; and README.md links them
  all. What examples print is check-examples.py's.
- doc/environment.md: its variables of clpool are those that the code names.
- Man pages: each command has one, and the same options in its help, its page and the completion;
  all are of the release's date, without warnings of groff, and refer to pages that are there."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

BUILD = os.path.abspath(os.environ.get('top_builddir', '.'))
os.chdir(os.environ.get('top_srcdir', '.'))
FAILURES = []


def read(name):
    return pathlib.Path(name).read_text('utf-8')


# --- Guides ---------------------------------------------------------------------------------------

FENCE = re.compile(r'^```.*?^```', re.M | re.S)


def flat(code):
    """Code without its indentation."""
    return '\n' + '\n'.join(line.strip() for line in code.split('\n'))


EXAMPLES = [flat(read(name)) for name in glob.glob('examples/*.[ch]*')]


def anchors_of(name):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r'^#+ (.*)', FENCE.sub('', read(name)), re.M)
    return [re.sub(r'[^\w -]', '', heading.lower()).replace(' ', '-') for heading in headings]


def links_of(name):
    text = re.sub('`[^`\n]*`', '', FENCE.sub('', read(name)))
    return [link for link in re.findall(r'\]\(([^)\s]*)\)', text) if not re.match('https?:', link)]


def check_links(name):
    for link in links_of(name):
        path, _, anchor = link.partition('#')
        target = os.path.join(os.path.dirname(name), path) if path else name
        if not os.path.exists(target):
            FAILURES.append(f'{name}: links {link}, which is not there')
        elif anchor and anchor not in anchors_of(target):
            FAILURES.append(f'{name}: links {link}, but there is no such heading')


def check_guides():
    for page in ['README.md', 'HACKING.md'] + glob.glob('doc/*.md'):
        check_links(page)
    for guide in glob.glob('doc/*.md'):
        # What is about the tree itself is HACKING.md's.
        top = 'HACKING.md' if guide == 'doc/internals.md' else 'README.md'
        if guide not in links_of(top):
            FAILURES.append(f'{top} does not link {guide}')
        for code in re.findall(r'^ *```c(?:pp)?\n(.*?)^ *```', read(guide), re.M | re.S):
            if not any(flat(code) in example for example in EXAMPLES):
                FAILURES.append(f'{guide}: this code is in no example:\n{code}')


def check_variables():
    files = [name for top in ('lib', 'tools', 'layer', 'examples', 'python/src', 'python/clpool')
             for name in glob.glob(top + '/**/*.*', recursive=True)
             if re.search(r'\.(c|h|py)$', name)]
    read_ones = {name for file in files for name in re.findall('"(CLPOOL_[A-Z_]+)"', read(file))}
    told = set(re.findall('^\\| `(CLPOOL_[A-Z_]+)`', read('doc/environment.md'), re.M))
    for name in read_ones ^ told:
        FAILURES.append(f'{name} is not in both the code and doc/environment.md')


# --- Man pages ------------------------------------------------------------------------------------

def run(*arguments):
    return subprocess.check_output([BUILD + '/tools/clpool', *arguments], text=True)


def check_options(page, *command):
    """Its help, its page below OPTIONS, and the completion have the same; "=": with a value."""
    told = run(*command, '--help').partition('\nOptions:')[2]
    helped = ' '.join(re.findall(r'^  ((?:-[a-z-]*, )*--[a-z-]*=?)', told, re.M))
    section = re.search(r'^\.SH OPTIONS\n(.*?)(?=^\.SH|\Z)', read(page), re.M | re.S)
    tags = ' '.join(re.findall(r'^\.TP\n(.*)', section[1], re.M)).replace('\\-', '-')
    options, shown, completed = (set(re.findall('--[a-z][a-z-]*=?', text)) for text in (
        helped, tags, run('--complete', *command, '--')))
    for option in options ^ shown | options ^ completed | {'--help'} - options:
        FAILURES.append(f'{page}: {option} is not in all of help, page and completion')


def check_pages():
    date = re.search('^date-released: (.*)', read('CITATION.cff'), re.M)[1]
    for page in glob.glob('doc/clpool*.[15]') + glob.glob(BUILD + '/doc/man3/*.3'):
        text = read(page)
        if not re.search(rf'^\.TH \S+ [135] "?{date}"? ', text, re.M):
            FAILURES.append(f'{page} is not of {date}')
        if shutil.which('groff'):
            told = subprocess.run(['groff', '-man', '-ww', '-z', '-Tutf8', page], check=False,
                                  stderr=subprocess.PIPE, text=True).stderr
            FAILURES.extend(filter(None, [told]))
        for name, section in re.findall(r'^\.BR (clpool[a-z\\-]*) \(([15])\)', text, re.M):
            other = 'doc/' + name.replace('\\', '') + '.' + section
            if not os.path.exists(other):
                FAILURES.append(f'{page} refers to {other}, which is missing')


check_guides()
check_variables()
if os.environ.get('clp_tool', 'yes') == 'yes':
    check_options('doc/clpool.1')
    commands = re.findall(r'^  (?!help)([a-z]+) ', run('--help').split('\n\nOptions')[0], re.M)
    for name in commands:
        check_options(f'doc/clpool-{name}.1', name)
    check_pages()
    print(*commands)
sys.exit('\n'.join(FAILURES) or 0)
