/* SPDX-License-Identifier: MIT */
/* Finding OpenCL's functions. */
#include "opencl/loader.h"

#include "core/base/error.h"
#include "core/base/loading.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct function {
  const char *name;
  size_t member; /* offset in clpi_cl_functions */
} function;

#define FUNCTION_ENTRY(name) {#name, offsetof(clpi_cl_functions, name)},
static const function functions[] = {CLPI_CL_FUNCTIONS(FUNCTION_ENTRY)};
#undef FUNCTION_ENTRY
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

clpi_cl_functions clpi_cl;

/* The name of a function that the library does not have; NULL: it has all. */
static const char *find_lacking(void *library)
{
  for (size_t i = 0; i < FUNCTION_COUNT; i++) {
    void *address = dlsym(library, functions[i].name);
    if (!address)
      return functions[i].name;
    clpi_set_function((char *)&clpi_cl + functions[i].member, address);
  }
  return NULL;
}

static clp_status load_from(const char *name)
{
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return clpi_error(CLP_NOT_SUPPORTED, 0, "there is no OpenCL: %s", dlerror());
  const char *lacking = find_lacking(library);
  if (!lacking)
    return CLP_SUCCESS;
  dlclose(library);
  return clpi_error(CLP_NOT_SUPPORTED, 0, "%s has no %s", name, lacking);
}

static clp_status load(void)
{
  const char *chosen = secure_getenv("CLPOOL_OPENCL_LIBRARY");
  if (chosen && *chosen)
    return load_from(chosen);
  return find_lacking(RTLD_DEFAULT) ? load_from("libOpenCL.so.1") : CLP_SUCCESS;
}

clp_status clpi_cl_load(void)
{
  static atomic_bool is_loaded;
  return clpi_load_once(&is_loaded, load);
}
