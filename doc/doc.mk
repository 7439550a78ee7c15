# SPDX-License-Identifier: MIT
# Man pages and guides.

dist_man1_MANS = doc/clpool.1

# The guides are installed with their pictures, in a folder beside the examples, as in the tree. What
# is about the tree itself is only in it.
guidesdir = $(docdir)/doc
dist_guides_DATA = doc/arena.md doc/cuda.md doc/queues-and-order.md doc/where-memory-goes.md
EXTRA_DIST += doc/thread-cache.md

# The code in the guides is that of the examples, and so are the lines that they name; their pictures
# are there.
dist_check_SCRIPTS += tests/check-guides.sh
TESTS += tests/check-guides.sh

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

# And those that were taken of what browsers show, as doc/where-memory-goes.md makes it.
dist_guides_DATA += doc/memory-flames.png doc/memory-report.png

# Dark on a white ground, so that they can be read on a dark page, too.
DOT = dot
DOT_STYLE = -Gbgcolor=white -Gpad=0.25 \
	-Gfontname=Helvetica,Arial,sans-serif -Gfontsize=13 -Gfontcolor=gray10 \
	-Nfontname=Helvetica,Arial,sans-serif -Nfontsize=13 -Nfontcolor=gray10 \
	-Efontname=Helvetica,Arial,sans-serif -Efontsize=12 -Efontcolor=gray10 \
	-Nshape=box -Nstyle=rounded,filled -Nfillcolor=white -Ncolor=slategray \
	-Nheight=0.4 -Nmargin=0.15,0.08 -Ecolor=slategray -Earrowsize=0.8
GNUPLOT = gnuplot
pictures:
	@command -v $(GNUPLOT) >/dev/null || { echo 'make pictures needs gnuplot' >&2; exit 1; }
	@command -v $(DOT) >/dev/null || { echo 'make pictures needs Graphviz' >&2; exit 1; }
	@for picture in $(pictures:.svg=); do \
	  $(DOT) $(DOT_STYLE) -Tsvg -o $(srcdir)/$$picture.svg $(srcdir)/$$picture.dot || exit 1; \
	done
	@cd $(srcdir) && for plot in $(plots:.svg=); do \
	  $(GNUPLOT) $$plot.gp >$$plot.svg || exit 1; \
	done
.PHONY: pictures

# The public headers as web pages, in doc/html: make doxygen. A warning is an error.
EXTRA_DIST += doc/Doxyfile
DOXYGEN = doxygen
doxygen:
	@command -v $(DOXYGEN) >/dev/null || { echo 'make doxygen needs Doxygen' >&2; exit 1; }
	@$(MKDIR_P) doc
	@PACKAGE_VERSION='$(PACKAGE_VERSION)' top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)' \
	  clp_headers='$(clpoolinclude_HEADERS:%=$(top_srcdir)/%) $(nodist_clpoolinclude_HEADERS)' \
	  $(DOXYGEN) $(srcdir)/doc/Doxyfile
clean-local: clean-doxygen
clean-doxygen:
	rm -rf doc/html
.PHONY: doxygen clean-doxygen
