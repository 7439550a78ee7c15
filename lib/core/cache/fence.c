/* SPDX-License-Identifier: MIT */
/* The heavy side of the asymmetric fence: membarrier. */
#include "core/cache/fence.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

bool clpi_fence_is_asymmetric;

static bool membarrier_call(int command)
{
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void find_out(void)
{
  clpi_fence_is_asymmetric = membarrier_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                             membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void clpi_fence_init(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_out);
}

/* Registration belongs to the address space; a child of fork may have to ask again. */
void clpi_fence_heavy(void)
{
  if (clpi_fence_is_asymmetric && !membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
    membarrier_call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    membarrier_call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
}
