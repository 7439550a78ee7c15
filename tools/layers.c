/* SPDX-License-Identifier: MIT */
#include "layers.h"

#include "allocators.h"
#include "child.h"
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char unused_variable[] = "CLPOOL_LAYER_UNUSED";

int clpi_layers_set_variable(const char *variable, const char *value)
{
  return setenv(variable, value, 1) ? clpi_misuse("no host memory to set %s", variable)
                                    : CLPI_EXIT_SUCCESS;
}

/* Puts a file's name before those of a list, with a colon between them. */
static int put_before(const char *variable, const char *file)
{
  const char *others = getenv(variable);
  bool has_others = others && *others;
  char *list;
  if (asprintf(&list, "%s%s%s", file, has_others ? ":" : "", has_others ? others : "") < 0)
    return clpi_misuse("no host memory to set %s", variable);
  int code = clpi_layers_set_variable(variable, list);
  free(list);
  return code;
}

/* --- the layer --- */

/* Opens it as the OpenCL loader does, which says nothing where that fails. */
static int check_layer(const char *library, const char *advice)
{
  if (strchr(library, ':'))
    return clpi_misuse("the layer %s: OpenCL's loader takes no name with a colon", library);
  void *layer = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!layer)
    return clpi_misuse("cannot load the layer: %s%s", dlerror(), advice);
  bool is_layer = dlsym(layer, "clGetLayerInfo") && dlsym(layer, "clInitLayer");
  dlclose(layer);
  return is_layer ? CLPI_EXIT_SUCCESS : clpi_misuse("%s is no layer of the OpenCL loader", library);
}

/* --- the loader --- */

static bool has_layers(const char *loader)
{
  enum { MOST_BYTES = 16 << 20 }; /* of a loader, at most; a driver may be named as one */
  struct stat found;
  if (stat(loader, &found) || !S_ISREG(found.st_mode) || found.st_size > MOST_BYTES)
    return false;
  FILE *file = fopen(loader, "re");
  char *text = NULL;
  size_t room = 0;
  bool has = false;
  while (file && !has && getdelim(&text, &room, '\0', file) > 0)
    has = strstr(text, "OPENCL_LAYERS");
  free(text);
  if (file)
    fclose(file);
  return has;
}

/* The loader for programs whose own has no layers, and the auditor beside the layer that gives it
 * to them. Without either, programs keep their own. The program may change its working directory.
 * Under an auditor, glibc has less room for libraries' thread-local variables: jemalloc's need
 * more. */
static int set_loader(const char *library)
{
  const char *named = secure_getenv("CLPOOL_LOADER");
  const int folder = (int)(strrchr(library, '/') - library);
  char file[PATH_MAX], loader[PATH_MAX], auditor[PATH_MAX];
  snprintf(file, sizeof(file), "%.*s/libOpenCL.so.1", folder, library);
  const char *found = named ? named : access(file, F_OK) ? CLPI_LOADER : file;
  int code = clpi_layers_set_variable("CLPOOL_LOADER", realpath(found, loader) ? loader : found);
  if (code || !has_layers(found))
    return code;
  snprintf(file, sizeof(file), "%.*s/libclpool-audit.so", folder, library);
  if (!realpath(file, auditor) || strchr(auditor, ':'))
    return code;
  code = put_before("LD_AUDIT", auditor);
  return code ? code : put_before("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=4096");
}

int clpi_layers_set(const char *file)
{
  char installed[PATH_MAX], path[PATH_MAX];
  snprintf(installed, sizeof(installed), "%s/%s", CLPI_LAYER_FOLDER, file);
  const char *named = secure_getenv("CLPOOL_LAYER_LIBRARY");
  const char *library = named ? named : installed;
  /* The program may change its working directory. */
  const char *whole = strchr(library, '/') && realpath(library, path) ? path : library;
  int code = check_layer(whole, named ? "" : " ('make install' puts it there)");
  if (!code)
    code = put_before("OPENCL_LAYERS", whole);
  return code ? code : set_loader(strchr(library, '/') ? library : installed);
}

/* --- the program --- */

/* Names a file that the layer removes when it is of use (layer/dispatch.c); "" without one. */
static int set_unused(char path[PATH_MAX])
{
  const char *named = secure_getenv("TMPDIR");
  const char *folder = named && *named == '/' ? named : P_tmpdir;
  snprintf(path, PATH_MAX, "%s/clpool-XXXXXX", folder);
  int file = mkstemp(path);
  if (file >= 0) {
    close(file);
    return clpi_layers_set_variable(unused_variable, path);
  }
  clpi_complain("cannot see whether the layer is used, by a file in %s: %s", folder,
                strerror(errno));
  *path = '\0';
  return CLPI_EXIT_SUCCESS;
}

static void tell_why_unused(const char *program, const char *loss)
{
  const char *loader = getenv("CLPOOL_LOADER");
  clpi_devices found = {0};
  (void)unsetenv("OPENCL_LAYERS"); /* this process needs none */
  clpi_list_opencl(&found);
  if (found.platform_count == 0)
    clpi_complain("there is no OpenCL driver here (see clpool info): %s", loss);
  else if (!*loader || has_layers(loader))
    clpi_complain("%s used no OpenCL, or its OpenCL loader cannot be replaced: %s", program, loss);
  else
    clpi_complain("%s used no OpenCL, or its OpenCL loader cannot be replaced: %s. %s %s: install "
                  "ocl-icd-libopencl1 (2.3 or later)",
                  program, loss, loader, access(loader, F_OK) ? "is missing" : "has no layers");
}

int clpi_layers_run(char **program, const char *loss)
{
  const char *outer = secure_getenv(unused_variable); /* of a clpool that runs this one */
  char unused[PATH_MAX];
  int status, code = set_unused(unused);
  if (!code)
    code = clpi_child_run(program, &status);
  struct stat found;
  bool is_used = stat(unused, &found) != 0;
  if (is_used && *unused && outer)
    (void)unlink(outer);
  if (!code && !is_used && found.st_size > 0)
    clpi_complain("%s allocated nothing by OpenCL: %s", program[0], loss);
  else if (!code && !is_used)
    tell_why_unused(program[0], loss);
  (void)unlink(unused);
  return code ? code : clpi_child_end_likewise(status);
}
