# SPDX-License-Identifier: MIT
# The program clpool.

bin_PROGRAMS += tools/clpool
tools_clpool_SOURCES = \
	tools/allocators.c tools/allocators.h \
	tools/arguments.c tools/arguments.h \
	tools/cuda_allocator.c \
	tools/cuda_devices.c tools/cuda_devices.h \
	tools/devices.h \
	tools/info.c \
	tools/json.c tools/json.h \
	tools/main.c \
	tools/program.c tools/program.h \
	tools/progress.c tools/progress.h \
	tools/quantities.c tools/quantities.h \
	tools/replay.c \
	tools/replay_arguments.c tools/replay_arguments.h \
	tools/replay_report.c tools/replay_report.h \
	tools/replay_setup.c tools/replay_setup.h \
	tools/report.c tools/report.h \
	tools/report_arguments.c tools/report_arguments.h \
	tools/report_assets.h \
	tools/report_bins.c \
	tools/report_figures.c tools/report_figures.h \
	tools/report_file.c tools/report_file.h \
	tools/report_hit_rate.c \
	tools/report_json.c \
	tools/report_largest.c \
	tools/report_page.c \
	tools/report_perfetto.c tools/report_perfetto.h \
	tools/report_plot.c tools/report_plot.h \
	tools/report_text.c tools/report_text.h \
	tools/report_timeline.c \
	tools/utf8.c tools/utf8.h
nodist_tools_clpool_SOURCES = tools/report_assets.c
tools_clpool_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tools $(OPENCL_CFLAGS)
tools_clpool_LDADD = libclpool-trace.la libclpool-internal.la -lm

if HAVE_OPENCL
tools_clpool_SOURCES += \
	tools/opencl_allocators.c \
	tools/opencl_devices.c \
	tools/opencl_query.c tools/opencl_query.h
tools_clpool_LDADD += $(OPENCL_LIBS)
else
tools_clpool_SOURCES += tools/no_opencl.c
endif

# The page of clpool report: its style and script become C, a string a line.
EXTRA_DIST += tools/report.css tools/report.js
CLEANFILES += tools/report_assets.c
tools/report_assets.c: tools/report.css tools/report.js tools/tools.mk
	$(AM_V_GEN)$(MKDIR_P) tools && { \
	  echo '/* SPDX-License-Identifier: MIT */'; \
	  echo '/* Made from report.css and report.js. */'; \
	  echo '/* clang-format off */'; \
	  echo '#include "report_assets.h"'; \
	  for file in style:css script:js; do \
	    echo "const char clpi_report_$${file%:*}[] ="; \
	    sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' \
	      $(srcdir)/tools/report.$${file#*:}; \
	    echo '  ;'; \
	  done; } >$@-part && mv $@-part $@
