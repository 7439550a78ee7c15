/* SPDX-License-Identifier: MIT */
/* More of the order of queues than the table of order_suite.h has: which calls it costs, and what
 * comes of it in PoCL's queues that are out of order. */
#ifndef CLPT_OPENCL_QUEUES_H
#define CLPT_OPENCL_QUEUES_H

#include <check.h>

void clpt_add_queue_tests(Suite *suite);

#endif
