/* SPDX-License-Identifier: MIT */
/* Programs that run under a layer of the OpenCL loader. */
#ifndef CLPOOL_TOOLS_LAYERS_H
#define CLPOOL_TOOLS_LAYERS_H

/* Sets the environment of programs. The layer that is installed as `file`, or the one of
 * CLPOOL_LAYER_LIBRARY, comes before those of OPENCL_LAYERS. Programs whose loader has no layers
 * get one that has: that of CLPOOL_LOADER, the one beside the layer, or the one of this machine. An
 * exit code, after a complaint if the layer cannot be used; `does` says in it what the layer does.
 */
int clpi_layers_set(const char *file, const char *does);

/* Sets a variable for the program. Ends this one after a complaint if that fails. */
void clpi_layers_set_variable(const char *variable, const char *value);

/* Runs a program in that environment, and ends as it does: returns its exit code, or ends by its
 * signal. If the layer was of no use by then, complains in one line, which ends in `loss`: what the
 * user misses. */
int clpi_layers_run(char **program, const char *loss);

#endif
