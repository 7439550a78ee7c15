# SPDX-License-Identifier: MIT
# Sourced before PoCL runs. Where /sys is not mounted, as in a bare chroot, PoCL cannot find out how
# much memory the machine has and gives up; hwloc, which it asks, believes what it is told here.
# shellcheck shell=sh
if [ ! -d /sys/devices/system/cpu ]; then
  HWLOC_SYNTHETIC="NUMANode:1(memory=4294967296) core:$(nproc 2>/dev/null || echo 1) pu:1"
  HWLOC_THISSYSTEM=1
  export HWLOC_SYNTHETIC HWLOC_THISSYSTEM
fi
