# SPDX-License-Identifier: MIT
"""The documentation site, for Sphinx: make site.

The pages are the tree's own files, at the same places below `site/pages`, so that their links hold.
The other pages are made here: one for each header, example and man page, and for Python."""
import html
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.c import CDomain
from sphinx.domains.cpp import CPPDomain
from sphinx.util import logging

TREE = pathlib.Path(os.environ['top_srcdir'])
SITE = pathlib.Path(os.environ['clp_site'])
LOG = logging.getLogger(__name__)
PAGES = SITE / 'pages'

project = 'clpool'
author = 'The clpool developers'
version = release = os.environ['PACKAGE_VERSION']
extensions = ['breathe', 'myst_parser', 'sphinx.ext.autodoc']
highlight_language = 'text'
smartquotes = False
myst_heading_anchors = 6
breathe_projects = {'clpool': str(SITE / 'xml')}
breathe_default_project = 'clpool'
breathe_domain_by_extension = {'h': 'c', 'hpp': 'cpp'}
breathe_show_enumvalue_initializer = True
autodoc_default_options = {'members': True, 'inherited-members': False}
toc_object_entries_show_parents = 'hide'
html_theme = 'furo'
html_title = f'clpool {version}'
html_copy_source = False
html_show_copyright = False
html_css_files = ['site.css']
html_static_path = ['site.css']


# --- Pages ----------------------------------------------------------------------------------------

def write(page, text):
    path = PAGES / f'{page}.md'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, 'utf-8')


def fence(text, language):
    return f'````{language}\n{text}\n````\n'


def toctree(pages):
    return fence(':hidden:\n\n' + '\n'.join(pages), '{toctree}')


def read(name):
    return (TREE / name).read_text('utf-8')


def write_guides():
    """README.md is the first page. A link to a file that is not Markdown leads to its page."""
    for path in [*TREE.glob('*.md'), *TREE.glob('doc/*.md')]:
        page = path.relative_to(TREE)
        text = re.sub(
            r'\]\(([^)\s]+)\)',
            lambda link: f']({link[1]}.md)'
            if (PAGES / page.parent / f'{link[1]}.md').exists() else link[0],
            path.read_text('utf-8'))
        if page.name == 'README.md':
            text += '\n' + read('doc/site/contents.md')
        write('index' if page.name == 'README.md' else page.with_suffix(''), text)
    for path in [*TREE.glob('doc/*.svg'), *TREE.glob('doc/*.png')]:
        shutil.copyfile(path, PAGES / path.relative_to(TREE))


def write_sources():
    # Headings become those of the page's second level, and what became of options is a table.
    news = re.sub('(?m)^=+$', '---', read('NEWS'))
    news = re.sub(r'(?m)((?:^  [a-z, ]+: --.*\n(?: {20,}.*\n)*)+)', r'\n  ```\n\1  ```\n', news)
    write('NEWS', f'# News\n\n{news}')
    sources = sorted(path.name for path in TREE.glob('examples/*') if path.suffix in ('.c', '.cc'))
    for name in sources:
        write(f'examples/{name}', f'# {name}\n\n' + fence(read(f'examples/{name}'), 'c'))
    listed = re.sub(r'(?m)^(\w+\.cc?)  +', r'- `examples/\1`: ', read('examples/README'))
    write('examples', '# Examples\n\n' + re.sub(r'\n {9,}', ' ', listed) + '\n'
          + toctree(f'examples/{name}' for name in sources))
    write('COPYING', '# Licence\n\n' + fence(read('COPYING'), 'text'))
    write('CITATION.cff', '# Citation\n\n' + fence(read('CITATION.cff'), 'yaml'))


def write_interfaces():
    sections = ('briefdescription detaileddescription innernamespace func user-defined typedef enum'
                ' public-attrib innerclass define')
    for path in [*TREE.glob('include/clpool/*.h'), TREE / 'include/clpool/version.h']:
        page = 'include/clpool' if path.name == 'clpool.h' else f'include/clpool/{path.name}'
        write(page, f'# clpool/{path.name}\n\n' + fence('', '{highlight} c')
              + fence(f':sections: {sections}', f'{{doxygenfile}} {path.name}'))
    headers = sorted(path.name for path in PAGES.glob('include/clpool/*.h.md'))
    with (PAGES / 'include/clpool.md').open('a') as page:
        page.write(toctree(f'clpool/{name[:-3]}' for name in headers))
    write('include/clpool/clpool.hpp', '# C++: clpool/clpool.hpp\n\n' + fence('', '{highlight} cpp')
          + fence('', '{doxygenfile} clpool.hpp'))
    write('python/clpool', '# Python: clpool\n\n' + fence('.. automodule:: clpool', '{eval-rst}'))


def write_man_pages():
    pages = [TREE / 'doc/clpool.1', *sorted(TREE.glob('doc/clpool-*.[15]'))]
    for path in pages:
        text = subprocess.check_output(['mandoc', '-T', 'html', '-O', 'fragment', path], text=True)
        text = re.search(r'<div class="manual-text">(.*)</div>', text, re.S)[1]
        text = re.sub('</?section.*?>', '', text)
        text = re.sub(r'<b>(clpool[\w-]*)</b>\(([15])\)', r'<a href="\1.\2.html">\1(\2)</a>', text)
        text = re.sub(r'<i>doc/([\w-]+)\.md</i>', r'<a href="\1.html">doc/\1.md</a>', text)
        parts = re.split(r'<h([12]).*?><a.*?>(.*?)</a></h.>', text, flags=re.S)
        page = f'# {path.stem}({path.suffix[1:]})\n'
        for level, heading, body in zip(parts[1::3], parts[2::3], parts[3::3]):
            heading = '#' * int(level) + '# ' + ' '.join(heading.split())
            page += f'\n{heading}\n\n' + fence(body, '{raw} html')
        write(f'doc/{path.name}', page)
    with (PAGES / 'doc/clpool.1.md').open('a') as page:
        page.write(toctree(path.name for path in pages[1:]))


for make_pages in (write_sources, write_interfaces, write_man_pages, write_guides):
    make_pages()


# --- Docstrings -----------------------------------------------------------------------------------

def mark_up(_app, _what, _name, _object, _options, lines):
    """As reStructuredText: an indented paragraph is code; "name: text" in a list begins an item."""
    text = re.sub(r'(?m)((?:\A|[^:\n])\n\n)(?= +\S)', r'\1::\n\n', '\n'.join(lines))
    lines.clear()
    in_item = False
    for line in text.split('\n'):
        may_begin = in_item or not lines or re.search(r'^$|[.:]$', lines[-1])
        item = may_begin and re.fullmatch(r'(\w+(?:\([\w, ]+\))?|"\w+"): (.*)', line)
        if in_item and line and not item and not lines[-1].endswith('.'):
            lines.append('  ' + line)
            continue
        if item or in_item:
            lines.append('')
        lines.append(f'* ``{item[1]}``: {item[2]}' if item else line)
        in_item = bool(item)


def skip_others(_app, _what, _name, member, _skip, _options):
    """PyOpenCL's own methods, and fields whose text says no more than their number."""
    is_other = getattr(member, '__module__', None) == 'pyopencl._monkeypatch'
    return is_other or str(member.__doc__).startswith('Alias for field') or None


# --- Links ----------------------------------------------------------------------------------------

UNLINKED = (nodes.reference, nodes.title, nodes.FixedTextElement, nodes.raw,
            addnodes.desc_signature, addnodes.toctree)


def names_of(env):
    """What has a page or a place on one: interfaces, files, variables of the environment."""
    names = {}
    for domain in ('c', 'cpp', 'py'):
        for name, _, _, page, anchor, _ in env.domains[domain].get_objects():
            name = re.sub('^@[0-9]+[.]', '', name)  # of an enum without a name
            if re.match('clp_|CLP_|clpool[.:]', name):
                names[name] = page, anchor
    for page in env.found_docs:
        name = page.replace('include/', '') + '.md' * page.startswith('doc/')
        if '/' in name and '.' in name:
            names[name] = page, ''
    names['clpool/clpool.h'] = 'include/clpool', ''
    for name in re.findall('`(CLPOOL_[A-Z_]+)`', (PAGES / 'doc/environment.md').read_text()):
        names[name] = 'doc/environment', ''
    return names


def link_names(app, doctree, page):
    """Where a text names one of these, it links it, except in its own description."""
    names = names_of(app.env)
    for text in list(doctree.findall(nodes.Text)):
        own, parent = [], text.parent
        while parent and not isinstance(parent, UNLINKED):
            if isinstance(parent, addnodes.desc):
                own += parent[0]['ids']
            parent = parent.parent
        if parent:
            continue
        if text == ' -- ':  # between a status and its cause
            has_cause = text.parent[-1].astext() not in ('', text)
            text.parent.replace(text, nodes.Text(': ' if has_cause else ''))
            continue
        linked = []
        for part in re.split(r'([\w./:-]*\w)', text):
            target = names.get(part)
            if not target or target[1] in own or target == (page, ''):
                linked.append(nodes.Text(part))
                continue
            uri = app.builder.get_relative_uri(page, target[0]) + '#' + target[1]
            linked.append(nodes.reference('', part, refuri=uri.rstrip('#'), internal=True))
        text.parent.replace(text, linked)


def check_links(app, failure):
    """All links of the pages lead to pages and anchors that are there."""
    if failure:
        return
    pages = {path: path.read_text('utf-8') for path in pathlib.Path(app.outdir).rglob('*.html')}
    anchors = {path: set(map(html.unescape, re.findall(r'\bid="(.*?)"', text)))
               for path, text in pages.items()}
    for path, text in pages.items():
        for link in set(re.findall(r'\b(?:href|src)="(?!https?:|data:|mailto:)(.*?)"', text)):
            name, _, anchor = html.unescape(urllib.parse.unquote(link)).partition('#')
            target = (path.parent / name.partition('?')[0]).resolve() if name else path
            if not target.exists() or anchor and anchor not in anchors.get(target, ()):
                LOG.warning('%s: links %s, which is not there', path, link)


def without_parameters(domain):
    """The search lists the functions of a name, not their parameters of that name."""
    get_objects = domain.get_objects
    domain.get_objects = lambda self: (
        entry for entry in get_objects(self) if entry[2] not in ('functionParam', 'templateParam'))


def name_enums(_app, env):
    """Enums without a name have one in the list of a page's contents."""
    for contents in env.tocs.values():
        for text in contents.findall(nodes.Text):
            if re.fullmatch('@[0-9]+', text):
                text.parent.replace(text, nodes.Text('enum'))


def setup(app):
    without_parameters(CDomain)
    without_parameters(CPPDomain)
    app.connect('autodoc-skip-member', skip_others)
    app.connect('autodoc-process-docstring', mark_up)
    app.connect('doctree-resolved', link_names)
    app.connect('env-updated', name_enums)
    app.connect('build-finished', check_links)
