/* SPDX-License-Identifier: MIT */
/* What the tests on the fake CUDA driver share: it is what the library loads, and everything in it
 * is new for each test, which must leave nothing behind. */
#ifndef CLPT_CUDA_FIXTURE_H
#define CLPT_CUDA_FIXTURE_H

#include "fakecuda/fakecuda.h"
#include "suite.h"

/** The driver's call succeeds; else its code is shown. */
#define clpt_cu_ok(call)                                                                           \
  do {                                                                                             \
    CUresult clpt_code_ = (call);                                                                  \
    ck_assert_msg(clpt_code_ == CLPI_CUDA_SUCCESS, "%s gave %d", #call, clpt_code_);               \
  } while (0)

/** The driver's call fails with that code. */
#define clpt_cu_fails(expected, call)                                                              \
  do {                                                                                             \
    CUresult clpt_code_ = (call);                                                                  \
    ck_assert_msg(clpt_code_ == (expected), "%s gave %d, not %d", #call, clpt_code_, (expected));  \
  } while (0)

/** As clpt_case, with fakecuda_reset before and after each test. */
TCase *clpt_fake_case(Suite *suite, const char *name);

/** As clpt_run, with CLPOOL_CUDA_LIBRARY set to the fake. Check's fork of each test is a process of
 * its own to the fake, too, in which nothing is loaded yet. */
int clpt_fake_run(Suite *suite);

/** The path of the fake. */
const char *clpt_fake_library(void);

/** Retains the device's primary context and makes it current; the other way round. Between them, a
 * test can make streams and use memory. */
CUcontext clpt_fake_open(CUdevice device);
void clpt_fake_close(CUdevice device);

/** A stream of the current context, for cuStreamDestroy. */
CUstream clpt_fake_stream(void);

/** Makes a stream wait for all that another has been given. */
void clpt_fake_order(CUstream earlier, CUstream later);

/** Gives the stream work that fills the memory; waits for nothing. */
void clpt_fake_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** Asserts that it is filled so at the end of what the stream has; waits for the stream. */
void clpt_fake_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** From here on to the test's end, what the caller does wrong is counted, and does not abort. */
void clpt_fake_count_violations(void);
unsigned clpt_fake_violations(void);
const char *clpt_fake_last_violation(void);

#endif
