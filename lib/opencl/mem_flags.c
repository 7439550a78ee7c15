/* SPDX-License-Identifier: MIT */
/* The check of cl_mem_flags, before a driver sees them. */
#include "opencl/mem_flags.h"

#include "core/error.h"

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

/* Of each group, a buffer has one flag at most. */
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

clp_status clpi_cl_mem_flags_check(cl_mem_flags flags)
{
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
    if (flags & refused[i].flag.flag)
      return clpi_error(CLP_INVALID_ARGUMENT, CL_INVALID_VALUE, "%s %s: an allocator cannot use it",
                        refused[i].flag.name, refused[i].why);
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < sizeof(exclusive) / sizeof(exclusive[0]) && !status; i++)
    status = check_group(flags, exclusive[i]);
  return status;
}
