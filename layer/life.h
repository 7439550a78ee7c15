/* SPDX-License-Identifier: MIT */
/* Ending contexts, and ending all pooling. Any thread. */
#ifndef CLPOOL_LAYER_LIFE_H
#define CLPOOL_LAYER_LIFE_H

/* Ends closed contexts that have no users. Under no lock, and outside the pools. */
void clpi_contexts_sweep(void);

/* Ends all pooling, because the program may from now on do work that the layer cannot see. */
void clpi_contexts_stop(void);

#endif
