/* SPDX-License-Identifier: MIT */
/* Runs programs under a layer of the OpenCL loader. */
#ifndef CLPOOL_TOOLS_LAYERS_H
#define CLPOOL_TOOLS_LAYERS_H

/* Sets the environment of programs. The layer that is installed as `file`, or that of
 * CLPOOL_LAYER_LIBRARY, comes before those of OPENCL_LAYERS. Programs whose loader has no layers
 * get another loader: that of CLPOOL_LOADER, the one beside the layer, or the machine's. Returns an
 * exit code, with a message if the layer cannot be used. */
int clpi_layers_set(const char *file);

/* Sets a variable for the program. If that fails, ends this program with a message. */
void clpi_layers_set_variable(const char *variable, const char *value);

/* Runs a program in that environment. Returns its exit code, or ends this program by its signal. If
 * the layer was of no use, writes a message of one line, which ends in `loss`: what the user
 * misses. If the layer reported errors of the program, `error_exit` replaces an exit code of 0. */
int clpi_layers_run(char **program, const char *loss, int error_exit);

#endif
