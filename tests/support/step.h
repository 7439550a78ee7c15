/* SPDX-License-Identifier: MIT */
/* Included before every file of a core that is built for stepping: other threads get to run between
 * the steps of the cache's protocol, at places by chance. */
#ifndef CLPT_STEP_H
#define CLPT_STEP_H

void clpt_step(void);

#define CLPI_STEP clpt_step

#endif
