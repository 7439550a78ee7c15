/* SPDX-License-Identifier: MIT */
/* The layer's settings, from the environment. */
#ifndef CLPOOL_LAYER_SETTINGS_H
#define CLPOOL_LAYER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_layer_settings {
  unsigned leading_bits; /* CLPOOL_LAYER_LEADING_BITS */
  bool reports;          /* CLPOOL_LAYER_REPORT: write a report at the end */
  char *limit, *hold;    /* CLPOOL_LAYER_LIMIT and _HOLD: sizes; NULL: not set */
} clpi_layer_settings;

/* Set once, before anything is pooled. */
extern clpi_layer_settings clpi_settings;

/* Reads the environment. False, after a message: a setting is wrong. */
bool clpi_settings_read(void);

/* Returns the bytes of a size; a percentage is of device_bytes. SIZE_MAX: it is not set. */
size_t clpi_setting_bytes(const char *size, size_t device_bytes);

#endif
