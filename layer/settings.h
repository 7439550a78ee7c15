/* SPDX-License-Identifier: MIT */
/* What the environment asks of the layer. */
#ifndef CLPOOL_LAYER_SETTINGS_H
#define CLPOOL_LAYER_SETTINGS_H

#include <stdbool.h>

typedef struct clpi_layer_settings {
  unsigned leading_bits; /* CLPOOL_LAYER_LEADING_BITS */
  bool reports;          /* CLPOOL_LAYER_REPORT: tells at the end what was pooled */
} clpi_layer_settings;

/* Set once, before anything is pooled. */
extern clpi_layer_settings clpi_settings;

/* Reads the environment. False, after a complaint: a setting is wrong. */
bool clpi_settings_read(void);

#endif
