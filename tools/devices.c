/* SPDX-License-Identifier: MIT */
/* Choosing among the devices of this machine. */
#include "devices.h"

#include <string.h>

static bool is_gpu(const clpi_device *device)
{
  return device->type && strcmp(device->type, "GPU") == 0;
}

clpi_device_id clpi_usual_device(const clpi_platforms *platforms)
{
  clpi_device_id first = {0};
  bool has_first = false;
  for (unsigned i = 0; i < platforms->count; i++)
    for (unsigned j = 0; j < platforms->platforms[i].device_count; j++) {
      clpi_device_id id = {.platform = i, .device = j};
      if (is_gpu(&platforms->platforms[i].devices[j]))
        return id;
      first = has_first ? first : id;
      has_first = true;
    }
  return first;
}

const clpi_device *clpi_find_device(const clpi_platforms *platforms, clpi_device_id id)
{
  if (!id.is_given)
    id = clpi_usual_device(platforms);
  if (id.platform >= platforms->count)
    return NULL;
  const clpi_platform *platform = &platforms->platforms[id.platform];
  return id.device < platform->device_count ? &platform->devices[id.device] : NULL;
}
