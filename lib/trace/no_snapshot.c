/* SPDX-License-Identifier: MIT */
/* A build without yajl, which reads JSON. */
#include "trace/parser.h"

#include "core/error.h"

static clp_status refuse(clpi_input *input, void **self)
{
  (void)self;
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "%s: this clpool was built without yajl, and so reads no "
                    "JSON",
                    clpi_input_name(input));
}

const clpi_trace_parser clpi_snapshot_parser = {.open = refuse};
