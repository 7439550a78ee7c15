/* SPDX-License-Identifier: MIT */
#include "layers.h"

#include "arguments.h"
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The loader ends the name of a layer at a colon. */
int clpi_layers_add(const char *file)
{
  char installed[PATH_MAX];
  snprintf(installed, sizeof(installed), "%s/%s", CLPI_LAYER_FOLDER, file);
  const char *named = secure_getenv("CLPOOL_LAYER_LIBRARY");
  const char *library = named ? named : installed;
  const char *others = getenv("OPENCL_LAYERS");
  if (access(library, R_OK))
    return clpi_misuse("the layer %s: %s%s", library, strerror(errno),
                       named ? "" : " ('make install' puts it there)");
  if (strchr(library, ':'))
    return clpi_misuse("the layer %s: OpenCL's loader takes no name with a colon", library);
  char *layers;
  bool has_others = others && *others;
  if (asprintf(&layers, "%s%s%s", library, has_others ? ":" : "", has_others ? others : "") < 0)
    return clpi_misuse("no host memory to set OPENCL_LAYERS");
  bool is_set = setenv("OPENCL_LAYERS", layers, 1) == 0;
  free(layers);
  return is_set ? CLPI_EXIT_SUCCESS : clpi_misuse("no host memory to set OPENCL_LAYERS");
}
