/* SPDX-License-Identifier: MIT */
/* Checks of memory flags, before a driver sees them. */
#include "opencl/mem_flags.h"

#include "core/base/error.h"

typedef struct named_flag {
  cl_mem_flags flag;
  const char *name;
} named_flag;

typedef struct refused_flag {
  named_flag flag;
  const char *why;
} refused_flag;

#define NAMED(flag)                                                                                \
  {                                                                                                \
    flag, #flag                                                                                    \
  }

static const refused_flag refused[] = {
    {NAMED(CL_MEM_USE_HOST_PTR), "brings its own memory"},
    {NAMED(CL_MEM_COPY_HOST_PTR), "brings its own memory"},
    {NAMED(CL_MEM_SVM_FINE_GRAIN_BUFFER), "is for shared virtual memory"},
    {NAMED(CL_MEM_SVM_ATOMICS), "is for shared virtual memory"},
    {NAMED(CL_MEM_KERNEL_READ_AND_WRITE), "is for images"},
};

enum { FLAGS_IN_GROUP = 3 };

/* A buffer may have at most one flag of each group. */
static const named_flag exclusive[][FLAGS_IN_GROUP] = {
    {NAMED(CL_MEM_READ_WRITE), NAMED(CL_MEM_WRITE_ONLY), NAMED(CL_MEM_READ_ONLY)},
    {NAMED(CL_MEM_HOST_WRITE_ONLY), NAMED(CL_MEM_HOST_READ_ONLY), NAMED(CL_MEM_HOST_NO_ACCESS)},
};

static clp_status check_group(cl_mem_flags flags, const named_flag group[FLAGS_IN_GROUP])
{
  const named_flag *first = NULL;
  for (size_t i = 0; i < FLAGS_IN_GROUP; i++) {
    if (!(flags & group[i].flag))
      continue;
    if (first)
      return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE, "%s and %s exclude each other",
                        first->name, group[i].name);
    first = &group[i];
  }
  return CLP_SUCCESS;
}

static clp_status check_groups(cl_mem_flags flags)
{
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < sizeof(exclusive) / sizeof(exclusive[0]) && !status; i++)
    status = check_group(flags, exclusive[i]);
  return status;
}

clp_status clpi_cl_mem_flags_check(cl_mem_flags flags)
{
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
    if (flags & refused[i].flag.flag)
      return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE, "%s %s: an allocator cannot use it",
                        refused[i].flag.name, refused[i].why);
  return check_groups(flags);
}

static const cl_mem_flags kernel_access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
static const cl_mem_flags host_access =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

static clp_status check_among(cl_mem_flags flags, cl_mem_flags taken, const char *what)
{
  if (flags & ~taken)
    return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE, "%s cannot have the flags 0x%llx",
                      what, (unsigned long long)(flags & ~taken));
  return check_groups(flags);
}

clp_status clpi_cl_access_flags_check(cl_mem_flags flags)
{
  return check_among(flags, kernel_access | host_access, "a cl_mem of a pool");
}

clp_status clpi_cl_svm_flags_check(cl_svm_mem_flags flags)
{
  clp_status status =
      check_among(flags, kernel_access | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
                  "shared virtual memory");
  if (status)
    return status;
  if (flags & CL_MEM_SVM_ATOMICS && !(flags & CL_MEM_SVM_FINE_GRAIN_BUFFER))
    return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE,
                      "CL_MEM_SVM_ATOMICS needs CL_MEM_SVM_FINE_GRAIN_BUFFER");
  return CLP_SUCCESS;
}
