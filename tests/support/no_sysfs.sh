# SPDX-License-Identifier: MIT
# Sourced before PoCL runs. Where /sys is not mounted, as in a bare chroot, PoCL cannot find out how
# much memory the machine has and gives up; hwloc, which it asks, believes what it is told here.
# shellcheck shell=sh
if [ ! -d /sys/devices/system/cpu ]; then
  export HWLOC_SYNTHETIC="NUMANode:1(memory=4294967296) core:2 pu:1" HWLOC_THISSYSTEM=1
fi
