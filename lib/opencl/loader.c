/* SPDX-License-Identifier: MIT */
/* Finding OpenCL's functions. A process should have one loader, so that layers and interposers see
 * the program's calls and ours. Python's packages bring their own loader, under names such as
 * libOpenCL-1a2b3c4d.so.1.0.0, which the dynamic linker does not find by the usual name. */
#include "opencl/loader.h"

#include "core/base/error.h"
#include "core/base/loading.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct function {
  const char *name;
  size_t member; /* offset in clpi_cl_functions */
} function;

#define FUNCTION_ENTRY(name) {#name, offsetof(clpi_cl_functions, name)},
static const function functions[] = {CLPI_CL_FUNCTIONS(FUNCTION_ENTRY)};
#undef FUNCTION_ENTRY
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

clpi_cl_functions clpi_cl;

/* Returns the name of a function that the library lacks. NULL: it has all. */
static const char *find_lacking(void *library)
{
  for (size_t i = 0; i < FUNCTION_COUNT; i++) {
    void *address = dlsym(library, functions[i].name);
    if (!address)
      return functions[i].name;
    memcpy((char *)&clpi_cl + functions[i].member, &address, sizeof(address)); /* as POSIX allows */
  }
  return NULL;
}

/* For dl_iterate_phdr: copies the path of the first library with a loader's name to `path`, of
 * PATH_MAX bytes. Nothing may be loaded in here. */
static int find_loaded(struct dl_phdr_info *info, size_t size, void *path)
{
  (void)size;
  static const char stem[] = "libOpenCL";
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  size_t length = sizeof(stem) - 1;
  if (strncmp(name, stem, length) != 0 || (name[length] != '.' && name[length] != '-'))
    return 0;
  snprintf(path, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

/* Opens the loader of the process, under any name; otherwise that of the system. `*name` becomes
 * its name. */
static void *open_default(const char **name)
{
  static char path[PATH_MAX]; /* guarded by clpi_load_once */
  *name = path;
  void *library = NULL;
  if (dl_iterate_phdr(find_loaded, path))
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library)
    return library;
  *name = "libOpenCL.so.1";
  return dlopen(*name, RTLD_NOW | RTLD_LOCAL);
}

/* NULL: the default library. */
static clp_status load_from(const char *name)
{
  void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : open_default(&name);
  if (!library)
    return clpi_error(
        CLP_NOT_SUPPORTED, 0,
        "there is no OpenCL loader: %s; install libOpenCL.so.1 (Debian: ocl-icd-libopencl1)",
        dlerror());
  const char *lacking = find_lacking(library);
  if (!lacking)
    return CLP_SUCCESS;
  dlclose(library);
  return clpi_error(CLP_NOT_SUPPORTED, 0, "%s lacks the function %s", name, lacking);
}

static clp_status load(void)
{
  const char *chosen = secure_getenv("CLPOOL_OPENCL_LIBRARY");
  if (chosen && *chosen)
    return load_from(chosen);
  return find_lacking(RTLD_DEFAULT) ? load_from(NULL) : CLP_SUCCESS;
}

static atomic_bool is_loaded;

void clpi_cl_use(const clpi_cl_functions *given)
{
  clpi_cl = *given;
  atomic_store_explicit(&is_loaded, true, memory_order_release); /* as clpi_load_once */
}

clp_status clpi_cl_load(void)
{
  return clpi_load_once(&is_loaded, load);
}
