/* SPDX-License-Identifier: MIT */
/* Pairs by clpool.hpp and by OpenCL's own C++ header. */
#include "pair_scopes.h"

#define CL_HPP_TARGET_OPENCL_VERSION  120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <clpool/opencl.h>

#include <clpool/clpool.hpp>

bool pair_cl_buffer(cl_context context, clp_pool *, size_t bytes, size_t times)
{
  cl::Context in(context, true);
  cl_int code = CL_SUCCESS;
  for (size_t i = 0; i < times && code == CL_SUCCESS; i++)
    cl::Buffer made(in, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  return code == CL_SUCCESS;
}

template <class Made> static bool make(clp_pool *from, size_t bytes, size_t times)
{
  clpool::pool pool(clp_pool_retain(from));
  try {
    for (size_t i = 0; i < times; i++)
      Made made(pool.allocate(bytes));
  } catch (const clpool::error &) {
    return false;
  }
  return true;
}

bool pair_clpool_buffer(cl_context, clp_pool *pool, size_t bytes, size_t times)
{
  return make<clpool::buffer>(pool, bytes, times);
}

bool pair_clpool_cl_buffer(cl_context, clp_pool *pool, size_t bytes, size_t times)
{
  return make<clpool::cl_buffer>(pool, bytes, times);
}
