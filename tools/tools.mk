# SPDX-License-Identifier: MIT
# The program clpool; without it (--disable-tool), the library is built alone.

# Traces: read, replayed, surveyed and tuned. The tests use it, too.
if TOOL
noinst_LTLIBRARIES += libclpool-trace.la
bin_PROGRAMS += tools/clpool
endif
libclpool_trace_la_SOURCES = \
	tools/trace/batch.c tools/trace/batch.h \
	tools/trace/bin_census.c tools/trace/bin_census.h \
	tools/trace/costs.c tools/trace/costs.h \
	tools/trace/error.c tools/trace/error.h \
	tools/trace/event.c tools/trace/event.h \
	tools/trace/largest.c tools/trace/largest.h \
	tools/trace/layer_pools.c tools/trace/layer_pools.h \
	tools/trace/lines.c tools/trace/lines.h \
	tools/trace/live_blocks.c tools/trace/live_blocks.h \
	tools/trace/metering_allocator.c tools/trace/metering_allocator.h \
	tools/trace/player.c tools/trace/player.h \
	tools/trace/reader.c tools/trace/reader.h \
	tools/trace/replay.c tools/trace/replay.h \
	tools/trace/stacks.c tools/trace/stacks.h \
	tools/trace/survey.c tools/trace/survey.h \
	tools/trace/timeline.c tools/trace/timeline.h \
	tools/trace/tune.c tools/trace/tune.h
libclpool_trace_la_LIBADD = $(ZLIB_LIBS) -lm

tools_clpool_SOURCES = \
	tools/allocators.c tools/allocators.h \
	tools/bench.c \
	tools/completion.c \
	tools/cost_source.c tools/cost_source.h \
	tools/devices.c \
	tools/figures.c tools/figures.h \
	tools/info.c \
	tools/json.c tools/json.h \
	tools/layers.c tools/layers.h \
	tools/main.c \
	tools/measure.c \
	tools/options.c tools/options.h \
	tools/output_file.c tools/output_file.h \
	tools/program.c tools/program.h \
	tools/progress.c tools/progress.h \
	tools/record.c \
	tools/replay.c \
	tools/replay_report.c tools/replay_report.h \
	tools/report.c tools/report.h \
	tools/report_page.c \
	tools/report_perfetto.c \
	tools/report_stacks.c \
	tools/report_tables.c \
	tools/report_timeline.c \
	tools/tune.c \
	tools/tune_plot.c \
	tools/tune_report.c tools/tune_report.h
# Where the layers are is compiled in.
tools/clpool-layers.$(OBJEXT): config.status
nodist_tools_clpool_SOURCES = tools/known_costs.c tools/report_assets.c
tools_clpool_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCL_CFLAGS) -DCLPI_LAYER_FOLDER='"$(pkglibdir)"' \
	-DCLPI_LOADER='"$(OPENCL_LOADER)"'
if LAYER
tools_clpool_CPPFLAGS += -DCLPI_HAS_LAYER=1
else
tools_clpool_CPPFLAGS += -DCLPI_HAS_LAYER=0
endif
tools_clpool_LDADD = libclpool-trace.la libclpool-internal.la -lm

if HAVE_OPENCL
tools_clpool_SOURCES += tools/opencl.c
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
	  echo 'extern const char clpi_report_style[], clpi_report_script[];'; \
	  for file in style:css script:js; do \
	    echo "const char clpi_report_$${file%:*}[] ="; \
	    sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' \
	      $(srcdir)/tools/report.$${file#*:}; \
	    echo '  ;'; \
	  done; } >$@-part && mv $@-part $@

# The machines that were measured, files of clpool bench: their figures become C, too.
known_costs = \
	tools/costs/nvidia-h200.csv \
	tools/costs/pocl-cpu.csv
EXTRA_DIST += $(known_costs)
CLEANFILES += tools/known_costs.c
tools/known_costs.c: $(known_costs) tools/tools.mk
	$(AM_V_GEN)$(MKDIR_P) tools && { \
	  echo '/* SPDX-License-Identifier: MIT */'; \
	  echo '/* Made from costs/. */'; \
	  echo '/* clang-format off */'; \
	  echo '#include "cost_source.h"'; \
	  echo 'const clpi_known_cost clpi_known_costs[] = {'; \
	  for file in $(known_costs); do \
	    $(AWK) -F, -v machine="$$(basename $$file .csv)" ' \
	      /^# device: / { device = substr($$0, 11) } \
	      /^#/ || $$1 == "Allocator" { next } \
	      { gsub("-", "_", $$2); \
	        printf "{\"%s\", \"%s\", \"%s\",\n TRACE_COST_%s, %s, %s},\n", \
	          machine, device, $$1, toupper($$2), $$3, $$4 }' $(srcdir)/$$file; \
	  done; \
	  echo '{0}};'; \
	  echo 'const char *const clpi_known_machines[] = {'; \
	  for file in $(known_costs); do echo "\"$$(basename $$file .csv)\","; done; \
	  echo 'NULL};'; \
	  } >$@-part && mv $@-part $@

# Each shell looks for the completion of a command in a file of a name of its own.
EXTRA_DIST += tools/clpool.bash tools/clpool.fish tools/clpool.zsh
if TOOL
completions = \
	bash:bash-completion/completions/clpool \
	fish:fish/vendor_completions.d/clpool.fish \
	zsh:zsh/site-functions/_clpool
install-data-local:
	for pair in $(completions); do \
	  file='$(DESTDIR)$(datadir)'/$${pair#*:}; \
	  $(MKDIR_P) "$${file%/*}" && \
	    $(INSTALL_DATA) $(srcdir)/tools/clpool.$${pair%%:*} "$$file" || exit; \
	done
uninstall-local:
	for pair in $(completions); do rm -f '$(DESTDIR)$(datadir)'/$${pair#*:}; done
endif
