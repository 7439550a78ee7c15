/* SPDX-License-Identifier: MIT */
/* Which device an id names, and which is the usual one. */
#include "../tools/allocators.h"
#include "support/suite.h"

#include <stdio.h>

/* OpenCL devices, with a NULL type where the driver does not tell, and the usual one's id. */
static const struct machine {
  size_t count;
  struct {
    const char *id, *type;
  } devices[4];
  const char *usual;
} machines[] = {
    {0},
    {1, {{"0.0", "CPU"}}, "0.0"},
    {2, {{"1.0", NULL}, {"1.1", "CPU"}}, "1.0"},
    {4, {{"0.0", "CPU"}, {"1.0", "accelerator"}, {"1.1", "GPU"}, {"1.2", "GPU"}}, "1.1"},
    {2, {{"0.0", "GPU"}, {"1.0", "CPU"}}, "0.0"},
};

static clpi_devices list;

static void add(clpi_backend backend, const char *id, const char *type)
{
  clpi_device *device = clpi_devices_add(&list);
  ck_assert_ptr_nonnull(device);
  device->backend = backend;
  device->type = type;
  snprintf(device->id, sizeof(device->id), "%s", id);
}

/* The id of what is found, NULL for none. */
static const char *found(clpi_backend backend, const char *id)
{
  const clpi_device *device = clpi_devices_find(&list, backend, id);
  ck_assert(!device || device->backend == backend);
  return device ? device->id : NULL;
}

START_TEST(the_usual_device_is_a_gpu_if_there_is_one)
{
  const struct machine *machine = &machines[_i];
  list = (clpi_devices){0};
  for (size_t i = 0; i < machine->count; i++)
    add(CLPI_OPENCL, machine->devices[i].id, machine->devices[i].type);
  add(CLPI_CUDA, "0", "GPU");
  ck_assert_pstr_eq(found(CLPI_OPENCL, NULL), machine->usual);
  for (size_t i = 0; i < machine->count; i++)
    ck_assert_pstr_eq(found(CLPI_OPENCL, machine->devices[i].id), machine->devices[i].id);
  ck_assert_pstr_eq(found(CLPI_OPENCL, "9.0"), NULL);
}
END_TEST

START_TEST(a_device_is_one_of_its_backend)
{
  list = (clpi_devices){0};
  add(CLPI_OPENCL, "0.0", "GPU");
  ck_assert_pstr_eq(found(CLPI_CUDA, NULL), NULL);
  add(CLPI_CUDA, "0", NULL);
  add(CLPI_CUDA, "1", NULL);
  ck_assert_pstr_eq(found(CLPI_CUDA, NULL), "0");
  ck_assert_pstr_eq(found(CLPI_CUDA, "1"), "1");
  ck_assert_pstr_eq(found(CLPI_CUDA, "0.0"), NULL);
  ck_assert_pstr_eq(found(CLPI_OPENCL, "0"), NULL);
}
END_TEST

START_TEST(a_list_that_is_full_takes_no_more)
{
  list = (clpi_devices){0};
  for (size_t i = 0; i < CLPI_MOST_DEVICES; i++)
    add(CLPI_CUDA, "0", NULL);
  ck_assert_ptr_null(clpi_devices_add(&list));
  ck_assert_uint_eq(list.count, CLPI_MOST_DEVICES);
}
END_TEST

CLPT_MAIN("devices", clpt_run)
{
  TCase *tests = clpt_case(suite, "devices");
  tcase_add_loop_test(tests, the_usual_device_is_a_gpu_if_there_is_one, 0,
                      (int)(sizeof(machines) / sizeof(machines[0])));
  tcase_add_test(tests, a_device_is_one_of_its_backend);
  tcase_add_test(tests, a_list_that_is_full_takes_no_more);
}
