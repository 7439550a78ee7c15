/* SPDX-License-Identifier: MIT */
/* Which device is the usual one. */
#include "../tools/devices.h"
#include "support/suite.h"

static clpi_device cpu = {.type = "CPU"}, unknown = {.type = NULL},
                   gpus[] = {{.type = "accelerator"}, {.type = "GPU"}, {.type = "GPU"}};

static const struct machine {
  clpi_platform platforms[3];
  size_t count;
  clpi_device_id usual;
} machines[] = {
    {.count = 0},
    {.platforms = {{.device_count = 0}}, .count = 1},
    {{{.devices = &cpu, .device_count = 1}}, 1, {.platform = 0}},
    {{{.device_count = 0}, {.devices = &unknown, .device_count = 1}}, 2, {.platform = 1}},
    {{{.devices = &cpu, .device_count = 1}, {.devices = gpus, .device_count = 3}},
     2,
     {.platform = 1, .device = 1}},
    {{{.devices = gpus, .device_count = 1}, {.devices = &cpu, .device_count = 1}}, 2, {0}},
};

START_TEST(the_usual_device_is_a_gpu_if_there_is_one)
{
  struct machine machine = machines[_i];
  clpi_platforms platforms = {machine.platforms, machine.count};
  clpi_device_id usual = clpi_usual_device(&platforms), first = {.is_given = true};
  ck_assert_uint_eq(usual.platform, machine.usual.platform);
  ck_assert_uint_eq(usual.device, machine.usual.device);
  usual.is_given = true;
  ck_assert_ptr_eq(clpi_find_device(&platforms, (clpi_device_id){0}),
                   clpi_find_device(&platforms, usual));
  bool has_first = machine.count > 0 && machine.platforms[0].device_count > 0;
  ck_assert_ptr_eq(clpi_find_device(&platforms, first),
                   has_first ? machine.platforms[0].devices : NULL);
}
END_TEST

CLPT_MAIN("devices", clpt_run)
{
  TCase *tests = clpt_case(suite, "devices");
  tcase_add_loop_test(tests, the_usual_device_is_a_gpu_if_there_is_one, 0,
                      (int)(sizeof(machines) / sizeof(machines[0])));
}
