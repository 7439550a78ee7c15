# SPDX-License-Identifier: MIT
# Man pages and guides.

if TOOL
dist_man1_MANS = \
	doc/clpool.1 \
	doc/clpool-bench.1 \
	doc/clpool-check.1 \
	doc/clpool-info.1 \
	doc/clpool-record.1 \
	doc/clpool-replay.1 \
	doc/clpool-report.1 \
	doc/clpool-run.1 \
	doc/clpool-tune.1
dist_man5_MANS = doc/clpool-traces.5
endif

# The headers as pages of section 3. What they are called is in the headers, so they are installed as
# they come.
EXTRA_DIST += doc/man3.awk
man3_headers = $(clpoolinclude_HEADERS:%.hpp=) $(nodist_clpoolinclude_HEADERS)
doc/man3.stamp: $(man3_headers) doc/man3.awk CITATION.cff
	@rm -rf doc/man3 && $(MKDIR_P) doc/man3
	$(AM_V_GEN)$(AWK) -v folder=doc/man3 -v version='$(PACKAGE_VERSION)' \
	  -v date="`sed -n 's/^date-released: //p' '$(srcdir)/CITATION.cff'`" \
	  -f $(srcdir)/doc/man3.awk `for header in $(man3_headers); do \
	    test -e "$$header" && echo "$$header" || echo "$(srcdir)/$$header"; done`
	@touch $@
all-local: doc/man3.stamp
man3: doc/man3.stamp
man3dir = $(mandir)/man3
install-data-hook uninstall-hook: doc/man3.stamp
install-data-hook:
	$(MKDIR_P) '$(DESTDIR)$(man3dir)'
	for page in doc/man3/*.3; do \
	  $(INSTALL_DATA) "$$page" '$(DESTDIR)$(man3dir)' || exit 1; done
uninstall-hook:
	for page in doc/man3/*.3; do rm -f '$(DESTDIR)$(man3dir)'/"$${page##*/}"; done
.PHONY: man3

# The guides are installed with their pictures, in a folder beside the examples, as in the tree. What
# is about the tree itself is only in it.
guidesdir = $(docdir)/doc
guides = \
	doc/any-program-figures.md \
	doc/any-program.md \
	doc/arena.md \
	doc/check.md \
	doc/clblast.md \
	doc/cplusplus.md \
	doc/cuda.md \
	doc/environment.md \
	doc/figures.md \
	doc/from-cuda.md \
	doc/from-cupy-and-rmm.md \
	doc/from-pyopencl.md \
	doc/getting-started.md \
	doc/glossary.md \
	doc/many-ranks.md \
	doc/python.md \
	doc/queues-and-order.md \
	doc/tuning.md \
	doc/where-memory-goes.md
dist_guides_DATA = $(guides)
EXTRA_DIST += doc/internals.md

# The code in the guides is that of the examples, and so are the lines that they name; their pictures
# and what they link are there.

# Pictures of the guides. They are in the tree, so that only who changes one needs Graphviz or
# gnuplot: then make pictures.
pictures = \
	doc/order-ahead.svg \
	doc/order-one-queue.svg \
	doc/order-reuse.svg \
	doc/order-streams.svg \
	doc/order-uses.svg
plots = doc/arena-frontier.svg
dist_guides_DATA += $(pictures) $(plots)
EXTRA_DIST += $(pictures:.svg=.dot) $(plots:.svg=.gp) $(plots:.svg=.dat)

# And those that clpool tune draws, and that were taken of what browsers show, as
# doc/where-memory-goes.md makes it.
dist_guides_DATA += doc/tuning.svg doc/memory-report.png
EXTRA_DIST += doc/report-before-after.png # of README.md: clpool report, without and with --arena

# Dark on a white ground, so that they can be read on a dark page, too.
DOT = dot
DOT_STYLE = -Gbgcolor=white -Gpad=0.25 \
	-Gfontname=Helvetica,Arial,sans-serif -Gfontsize=13 -Gfontcolor=gray10 \
	-Nfontname=Helvetica,Arial,sans-serif -Nfontsize=13 -Nfontcolor=gray10 \
	-Efontname=Helvetica,Arial,sans-serif -Efontsize=12 -Efontcolor=gray10 \
	-Nshape=box -Nstyle=rounded,filled -Nfillcolor=white -Ncolor=slategray \
	-Nheight=0.4 -Nmargin=0.15,0.08 -Ecolor=slategray -Earrowsize=0.8
GNUPLOT = gnuplot
pictures: tools/clpool$(EXEEXT)
	@command -v $(GNUPLOT) >/dev/null || { echo 'make pictures needs gnuplot' >&2; exit 1; }
	@command -v $(DOT) >/dev/null || { echo 'make pictures needs Graphviz' >&2; exit 1; }
	@for picture in $(pictures:.svg=); do \
	  $(DOT) $(DOT_STYLE) -Tsvg -o $(srcdir)/$$picture.svg $(srcdir)/$$picture.dot || exit 1; \
	done
	@cd $(srcdir) && for plot in $(plots:.svg=); do \
	  $(GNUPLOT) $$plot.gp >$$plot.svg || exit 1; \
	done
	tools/clpool$(EXEEXT) tune $(srcdir)/examples/data/resnet50_train.csv.gz \
	  -o $(srcdir)/doc/tuning.svg >/dev/null
.PHONY: pictures

# What the public headers say, as XML in doc/xml, for the site: make doxygen. A warning is an error.
EXTRA_DIST += doc/Doxyfile doc/statuses.awk
DOXYGEN = doxygen
doxygen_folder = doc
doxygen_headers = \
	$(clpoolinclude_HEADERS:%=$(top_srcdir)/%) $(nodist_clpoolinclude_HEADERS)
doxygen:
	@command -v $(DOXYGEN) >/dev/null || { echo 'make doxygen needs Doxygen' >&2; exit 1; }
	@$(MKDIR_P) '$(doxygen_folder)'
	@PACKAGE_VERSION='$(PACKAGE_VERSION)' top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)' \
	  clp_folder='$(doxygen_folder)' clp_input='$(doxygen_headers)' \
	  $(DOXYGEN) $(srcdir)/doc/Doxyfile

# The documentation site, in site/html: make site. The package registry is needed once, for Sphinx and
# PyOpenCL. The Python package is compiled without optimization: its documentation is all that counts.
# A warning of Sphinx is an error.
EXTRA_DIST += doc/site/conf.py doc/site/contents.md doc/site/requirements.txt doc/site/site.css
site/venv/made: $(srcdir)/doc/site/requirements.txt \
		$(wildcard $(srcdir)/python/clpool/*.py $(srcdir)/python/src/*)
	@rm -rf site/venv site/package && $(MKDIR_P) site
	$(AM_V_GEN)$(PYTHON3) -m venv site/venv
	@site/venv/bin/pip install -q -r $(srcdir)/doc/site/requirements.txt
	@cp -RL $(srcdir)/python site/package
	@cp -R $(srcdir)/lib $(srcdir)/include site/package && chmod -R u+w site/package
	@PKG_CONFIG=false CFLAGS=-O0 \
	  site/venv/bin/pip install -q --no-build-isolation --no-deps ./site/package
	@touch $@
site: site/venv/made
	@command -v mandoc >/dev/null || { echo 'make site needs mandoc' >&2; exit 1; }
	@rm -rf site/pages site/html && $(MKDIR_P) site/pages
	@$(MAKE) $(AM_MAKEFLAGS) doxygen doxygen_folder=site
	@PACKAGE_VERSION='$(PACKAGE_VERSION)' PYTHONDONTWRITEBYTECODE=1 \
	  top_srcdir='$(abs_top_srcdir)' clp_site='$(abs_top_builddir)/site' site/venv/bin/python \
	  -m sphinx -q -E -W --keep-going -j auto -d site/doctrees -c $(srcdir)/doc/site \
	  site/pages site/html
	@echo 'The site begins at site/html/index.html'

clean-local: clean-doc
clean-doc:
	rm -rf doc/xml doc/man3 doc/man3.stamp site/doctrees site/html site/pages site/xml
distclean-local:
	rm -rf site
.PHONY: clean-doc doxygen site
