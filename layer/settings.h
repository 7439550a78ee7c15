/* SPDX-License-Identifier: MIT */
/* What the environment asks of the layer. */
#ifndef CLPOOL_LAYER_SETTINGS_H
#define CLPOOL_LAYER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_layer_settings {
  unsigned leading_bits; /* CLPOOL_LAYER_LEADING_BITS */
  bool reports;          /* CLPOOL_LAYER_REPORT: tells at the end what was pooled */
  char *limit, *hold;    /* CLPOOL_LAYER_LIMIT and _HOLD: sizes; NULL: not set */
} clpi_layer_settings;

/* Set once, before anything is pooled. */
extern clpi_layer_settings clpi_settings;

/* Reads the environment. False, after a complaint: a setting is wrong. */
bool clpi_settings_read(void);

/* The bytes of a size, of which a percentage is a part of the device's; SIZE_MAX: it is not set. */
size_t clpi_setting_bytes(const char *size, size_t device_bytes);

#endif
