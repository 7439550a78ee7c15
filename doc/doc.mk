# SPDX-License-Identifier: MIT
# Man pages and guides.

if TOOL
dist_man1_MANS = \
	doc/clpool.1 \
	doc/clpool-bench.1 \
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
	doc/clblast.md \
	doc/cplusplus.md \
	doc/cuda.md \
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

# The public headers and the guides as web pages, in doc/html: make doxygen. A warning is an error.
# tests/house/check-doxygen.sh sets some of these.
EXTRA_DIST += doc/Doxyfile doc/anchors.awk doc/reference.awk
DOXYGEN = doxygen
doxygen_folder = doc
doxygen_xml = NO
doxygen_headers = \
	$(clpoolinclude_HEADERS:%=$(top_srcdir)/%) $(nodist_clpoolinclude_HEADERS)
doxygen_guides = $(top_srcdir)/README.md $(guides:%=$(top_srcdir)/%)
doxygen:
	@command -v $(DOXYGEN) >/dev/null || { echo 'make doxygen needs Doxygen' >&2; exit 1; }
	@$(MKDIR_P) '$(doxygen_folder)'
	@PACKAGE_VERSION='$(PACKAGE_VERSION)' top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)' \
	  clp_folder='$(doxygen_folder)' clp_xml='$(doxygen_xml)' \
	  clp_input='$(doxygen_headers) $(doxygen_guides)' \
	  $(DOXYGEN) $(srcdir)/doc/Doxyfile
clean-local: clean-doxygen clean-man3
clean-doxygen:
	rm -rf doc/html
clean-man3:
	rm -rf doc/man3 doc/man3.stamp
.PHONY: doxygen clean-doxygen clean-man3
