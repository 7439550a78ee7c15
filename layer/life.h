/* SPDX-License-Identifier: MIT */
/* The ends of contexts and of pooling, which concern their queues and order, too. Any thread. */
#ifndef CLPOOL_LAYER_LIFE_H
#define CLPOOL_LAYER_LIFE_H

/* Ends closed contexts that have no users. Under no lock, and outside of the pools. */
void clpi_contexts_sweep(void);

/* From now on nothing is pooled, since the program may do what the layer cannot see. */
void clpi_contexts_stop(void);

#endif
