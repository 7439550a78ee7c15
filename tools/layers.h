/* SPDX-License-Identifier: MIT */
/* Layers of the OpenCL loader, for the programs that this one runs. */
#ifndef CLPOOL_TOOLS_LAYERS_H
#define CLPOOL_TOOLS_LAYERS_H

/* Puts the layer that is installed as `file`, or the one of CLPOOL_LAYER_LIBRARY, before those of
 * OPENCL_LAYERS. An exit code, after a complaint if that cannot be. */
int clpi_layers_add(const char *file);

#endif
