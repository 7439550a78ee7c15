/* SPDX-License-Identifier: MIT */
/* clpool run: runs a program under the layer that pools its buffers. Its options set the layer's
 * variables. */
#include "layers.h"
#include "options.h"

static int run(clpi_arguments *arguments)
{
  int code = clpi_layers_set("libclpool-layer.so", "pools");
  return code ? code : clpi_layers_run(arguments->traces, "nothing is pooled");
}

const clpi_command clpi_run_command = {
    .bit = CLPI_RUN,
    .name = "run",
    .operands = CLPI_PROGRAM,
    .summary = "run an OpenCL program that does not use clpool, with buffers from pools",
    .usage = "[OPTION]... PROGRAM [ARGUMENT]...",
    .about = "Runs an OpenCL program as it is, with its buffers and images from pools. The exit "
             "code is the\nprogram's.\n",
    .examples = "  clpool run --report ./program --size 512\n",
    .run = run,
};
