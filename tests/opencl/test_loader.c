/* SPDX-License-Identifier: MIT */
/* Without a device: loading OpenCL, where each test has a process of its own, in which nothing is
 * loaded yet, and says itself what dlsym finds; the names of errors. */
#include "opencl/cl_error.h"
#include "opencl/loader.h"

#include "support/pools.h"
#include "support/suite.h"

#include <clpool/opencl.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "CLPOOL_OPENCL_LIBRARY", no_such[] = "/no/such/opencl.so";

/* Has the program linked with OpenCL, as those are that use it. */
static cl_int (*const volatile linked)(cl_command_queue) = clFinish;

static const char *lacking; /* a function that no library has */
static bool hides_global;   /* the program has not linked OpenCL */
static const char *loaded;  /* what the process has loaded, without its global scope */
static const char *opened;

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
  opened = name;
  return __real_dlopen(flags & RTLD_NOLOAD ? "libOpenCL.so.1" : name, flags);
}

typedef int visitor(struct dl_phdr_info *info, size_t size, void *user_data);

int __wrap_dl_iterate_phdr(visitor *visit, void *user_data);
int __wrap_dl_iterate_phdr(visitor *visit, void *user_data)
{
  struct dl_phdr_info info = {.dlpi_name = loaded};
  return loaded ? visit(&info, sizeof(info), user_data) : 0;
}

void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol)
{
  if ((lacking && strcmp(symbol, lacking) == 0) || (library == RTLD_DEFAULT && hides_global))
    return NULL;
  return __real_dlsym(library, symbol);
}

static const struct {
  const char *chosen; /* NULL: the variable is not set */
  bool hides_global;
  const char *loaded, *lacking; /* NULL: none */
  const char *opens, *message;  /* NULL: it opens none; it succeeds */
} places[] = {
    {NULL, false, NULL, NULL, NULL, NULL},
    {"", false, NULL, NULL, NULL, NULL},
    {NULL, true, NULL, NULL, "libOpenCL.so.1", NULL},
    {NULL, true, "/a/libOpenCL-1a2b.so.1.0.0", NULL, "/a/libOpenCL-1a2b.so.1.0.0", NULL},
    {NULL, true, "libOpenCL.so", NULL, "libOpenCL.so", NULL},
    {NULL, true, "/libOpenCL.so/libOpenCLother.so", NULL, "libOpenCL.so.1", NULL},
    {"libOpenCL.so.1", true, "/b/libOpenCL.so.1", NULL, "libOpenCL.so.1", NULL},
    {no_such, false, NULL, NULL, no_such, "there is no OpenCL loader: /no/such/opencl.so: "},
    {"libm.so.6", false, NULL, NULL, "libm.so.6", "libm.so.6 lacks the function clCreateBuffer"},
    {NULL, false, NULL, "clSVMFree", "libOpenCL.so.1",
     "libOpenCL.so.1 lacks the function clSVMFree"},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

/* What failed is tried again. */
START_TEST(where_it_is_found)
{
  if (places[_i].chosen)
    setenv(variable, places[_i].chosen, 1);
  hides_global = places[_i].hides_global;
  loaded = places[_i].loaded;
  lacking = places[_i].lacking;
  if (places[_i].message) {
    clpt_fails(CLP_NOT_SUPPORTED, clpi_cl_load());
    clpt_message_has(places[_i].message);
    ck_assert_int_eq(clp_last_error()->native_code, 0);
  } else {
    clpt_ok(clpi_cl_load());
  }
  if (places[_i].opens)
    ck_assert_str_eq(opened, places[_i].opens);
  else
    ck_assert_ptr_null(opened);
  lacking = NULL;
  unsetenv(variable);
  clpt_ok(clpi_cl_load());
  ck_assert(clpi_cl.clFinish == linked); /* the loader that the program has linked */
}
END_TEST

START_TEST(without_it_every_call_that_needs_it_says_so)
{
  const clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  cl_mem mem;
  clpt_rig rig;
  cl_context context = (cl_context)&rig; /* never looked at */
  cl_command_queue queue = (cl_command_queue)&rig;
  setenv(variable, no_such, 1);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cl_deferred_allocator_create(context, 0, &allocator));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cl_immediate_allocator_create(queue, 0, &allocator));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cl_svm_allocator_create(context, &options, &allocator));
  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000); /* whose kind is taken at the user's word */
  ck_assert_ptr_eq(clp_buffer_cl_mem(buffer), (void *)clp_buffer_memory(buffer));
  ck_assert_ptr_eq(clp_buffer_svm_pointer(buffer), (void *)clp_buffer_memory(buffer));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create_cl_mem(rig.pool, 1000, 0, &mem));
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_create_sub_buffer(buffer, 0, 0, 100, &mem));
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* OpenCL 3.0 names -1 to -19 and -30 to -72, each once. */
START_TEST(every_error_has_a_name)
{
  ck_assert_str_eq(clpi_cl_error_name(-4), "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  for (int code = -1; code >= -72; code--) {
    const bool is_named = strncmp(clpi_cl_error_name(code), "CL_", 3) == 0;
    ck_assert_int_eq(is_named, code >= -19 || code <= -30);
    for (int other = -1; other > code && is_named; other--)
      ck_assert_str_ne(clpi_cl_error_name(code), clpi_cl_error_name(other));
  }
}
END_TEST

CLPT_MAIN("loader", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "loader");
  tcase_add_loop_test(tests, where_it_is_found, 0, PLACES);
  tcase_add_test(tests, without_it_every_call_that_needs_it_says_so);
  tcase_add_test(tests, every_error_has_a_name);
}
