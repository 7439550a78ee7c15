/* SPDX-License-Identifier: MIT */
#include "mem.h"

#include "dispatch.h"
#include "handles.h"
#include "references.h"

#include <stdlib.h>
#include <string.h>

static clpi_handles mems = CLPI_HANDLES_INIT;

clpi_mem *clpi_mem_find(cl_mem handle)
{
  return clpi_handles_find(&mems, handle);
}

clpi_mem *clpi_mem_add(cl_mem handle)
{
  clpi_mem *made = aligned_alloc(alignof(clpi_mem), clpi_mem_size);
  if (!made)
    return NULL;
  memset(made, 0, clpi_mem_size);
  made->handle = handle;
  if (clpi_handles_put(&mems, handle, made))
    return made;
  free(made);
  return NULL;
}

clpi_mem *clpi_mem_take(cl_mem handle)
{
  return clpi_handles_take(&mems, handle);
}

cl_int clpi_mem_retain(clpi_mem *mem)
{
  if (!clpi_references_add(&mem->references))
    return CL_INVALID_MEM_OBJECT;
  return mem->whole ? clpi_target->clRetainMemObject(mem->handle) : CL_SUCCESS;
}

cl_int CL_API_CALL clpi_mem_watch(cl_mem handle, void(CL_CALLBACK *notify)(cl_mem, void *),
                                  void *user_data)
{
  cl_int code = clpi_target->clSetMemObjectDestructorCallback(handle, notify, user_data);
  for (clpi_mem *it = code ? NULL : clpi_mem_find(handle); it; it = it->whole)
    it->is_watched = true;
  return code;
}

cl_uint clpi_mem_references(const clpi_mem *mem)
{
  cl_uint count = 1;
  clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
  return count + (cl_uint)((mem->whole ? 0 : mem->references - 1) - mem->parts - mem->held_parts);
}

/* Without host memory the whole stays, since nobody sees the part's end. A whole that is a part has
 * the driver's references, too, since clpi_mem_release drops both. */
void clpi_mem_add_part(clpi_mem *of, cl_mem part, size_t origin)
{
  clpi_mem *made = clpi_mem_add(part);
  (void)clpi_mem_retain(of);
  of->parts++;
  if (!made)
    return;
  made->references = 1;
  made->whole = of;
  made->origin = origin;
}
