/* SPDX-License-Identifier: MIT */
/* OpenCL that is watched: the library's calls are noted, fail on purpose, and hear what a test
 * pretends of a device. The test's own calls are not, unless it makes them through `clpi_cl`. Any
 * thread may call. */
#ifndef CLPT_WATCH_OPENCL_H
#define CLPT_WATCH_OPENCL_H

#include "opencl/loader.h"
#include "opencl_fixture.h"

#include <limits.h>

#define CLPT_CL_ENUMERATOR(name) CLPT_##name,
typedef enum clpt_cl_call { CLPI_CL_FUNCTIONS(CLPT_CL_ENUMERATOR) CLPT_CL_CALLS } clpt_cl_call;
enum { CLPT_CL_ANY = CLPT_CL_CALLS }; /* function whose failure somebody is told */

/** Watches from the first time on. Nothing fails, nothing is pretended, no call was noted. What is
 * alive stays counted. */
void clpt_cl_reset(void);

/** As a code: what makes an object gives NULL and leaves the code alone. */
enum { CLPT_CL_SILENT = -123456 };

/** The next `count` calls of a function fail with `code` and do nothing, after `nth` that do as
 * usual. clSVMAlloc fails with NULL, whatever the code. CL_SUCCESS: none fails any more. */
void clpt_cl_fail(unsigned call, unsigned long nth, unsigned long count, cl_int code);
enum { CLPT_CL_ALL = INT_MAX }; /* as `count` */

/** clGetDeviceInfo says these `bytes` of `value` for `what`, of one device or, for NULL, of all,
 * until clpt_cl_reset; the last of two that speak of the same counts. */
void clpt_cl_pretend(cl_device_id device, cl_device_info what, const void *value, size_t bytes);
#define clpt_cl_pretend_text(device, what, text)                                                   \
  clpt_cl_pretend(device, what, text, strlen(text) + 1)

/** The next clGetEventInfo that asks how far an event is says `status`, such as that of failed
 * work: what comes of work that really fails is nothing to rely on (PoCL 3.1 crashes). */
void clpt_cl_pretend_progress(cl_int status);

/** What was called since clpt_cl_reset, failures included. To be read while nobody calls. */
enum { CLPT_CL_MOST_TRACE = 8192 };
extern struct clpt_cl_noted {
  char trace[CLPT_CL_MOST_TRACE]; /**< names, each with a blank behind it, while they fit */
  unsigned long calls[CLPT_CL_CALLS];
  const char *failed;     /**< the last that failed on purpose; NULL: none did */
  cl_mem_flags mem_flags; /**< of the last clCreateBuffer and clSVMAlloc */
  cl_svm_mem_flags svm_flags;
  cl_command_queue svm_free_queue; /**< of the last clEnqueueSVMFree */
} clpt_cl_noted;

/** References that were taken, by create or retain, and not given back; and blocks of shared
 * virtual memory that were not yet freed, or given to a queue to be freed. */
typedef struct clpt_cl_live {
  long contexts, queues, mems, events, svm;
} clpt_cl_live;

clpt_cl_live clpt_cl_live_now(void);

/** Asserts that there is as much as then. A driver may give back a little later, in a thread of its
 * own: it is waited for. */
void clpt_cl_assert_live(const clpt_cl_live *then);

/** As clpt_case. For the case, `cl` is open, with one device; each test starts with clpt_cl_reset
 * and leaves nothing alive, nor user events unset. */
TCase *clpt_cl_case(Suite *suite, const char *name, clpt_cl *cl);

#endif
