/* SPDX-License-Identifier: MIT */
/* Which device an id names, and which is the usual one: a GPU if there is one. */
#include "../tools/allocators.h"
#include "support/suite.h"

#include <stdio.h>

/* OpenCL devices 0.0, 0.1 and so on by type, "?" where the driver does not tell, before two of
 * CUDA's; and the usual one's id. */
static const struct machine {
  const char *types[4], *usual;
} machines[] = {{{NULL}, NULL},
                {{"CPU"}, "0.0"},
                {{"?", "CPU"}, "0.0"},
                {{"CPU", "accelerator", "GPU", "GPU"}, "0.2"},
                {{"GPU", "CPU"}, "0.0"}};

static clpi_devices list;

static void add(clpi_backend backend, const char *before, size_t number, const char *type)
{
  clpi_device *device = clpi_devices_add(&list);
  ck_assert_ptr_nonnull(device);
  device->backend = backend;
  device->type = type && *type == '?' ? NULL : type;
  snprintf(device->id, sizeof(device->id), "%s%zu", before, number);
}

/* The id of what is found, NULL for none. */
static const char *found(clpi_backend backend, const char *id)
{
  const clpi_device *device = clpi_devices_find(&list, backend, id);
  ck_assert(!device || device->backend == backend);
  return device ? device->id : NULL;
}

START_TEST(a_device_is_one_of_its_backend)
{
  const struct machine *machine = &machines[_i];
  list = (clpi_devices){0};
  for (size_t i = 0; i < 4 && machine->types[i]; i++)
    add(CLPI_OPENCL, "0.", i, machine->types[i]);
  ck_assert_pstr_eq(found(CLPI_CUDA, NULL), NULL);
  add(CLPI_CUDA, "", 0, "GPU");
  add(CLPI_CUDA, "", 1, NULL);
  ck_assert_pstr_eq(found(CLPI_OPENCL, NULL), machine->usual);
  ck_assert_pstr_eq(found(CLPI_OPENCL, "0.0"), machine->usual ? "0.0" : NULL);
  ck_assert_pstr_eq(found(CLPI_OPENCL, "9.0"), NULL);
  ck_assert_pstr_eq(found(CLPI_OPENCL, "0"), NULL);
  ck_assert_pstr_eq(found(CLPI_CUDA, NULL), "0");
  ck_assert_pstr_eq(found(CLPI_CUDA, "1"), "1");
  ck_assert_pstr_eq(found(CLPI_CUDA, "0.0"), NULL);
  while (list.count < CLPI_MOST_DEVICES)
    add(CLPI_CUDA, "", list.count, NULL);
  ck_assert_ptr_null(clpi_devices_add(&list));
}
END_TEST

CLPT_MAIN("devices", clpt_run)
{
  TCase *tests = clpt_case(suite, "devices");
  tcase_add_loop_test(tests, a_device_is_one_of_its_backend, 0,
                      (int)(sizeof(machines) / sizeof(machines[0])));
}
