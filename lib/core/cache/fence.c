/* SPDX-License-Identifier: MIT */
/* The heavy side of the asymmetric fence: membarrier. */
#include "core/cache/fence.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/membarrier.h, which not every libc's headers come with. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool clpi_fence_is_asymmetric;

static bool membarrier_call(int command)
{
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void probe_kernel(void)
{
  clpi_fence_is_asymmetric =
      membarrier_call(REGISTER_PRIVATE_EXPEDITED) && membarrier_call(PRIVATE_EXPEDITED);
}

void clpi_fence_init(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, probe_kernel);
}

/* Registration belongs to the address space, so the child of a fork may have to register anew. */
void clpi_fence_heavy(void)
{
  CLPI_STEP();
  if (clpi_fence_is_asymmetric && !membarrier_call(PRIVATE_EXPEDITED)) {
    membarrier_call(REGISTER_PRIVATE_EXPEDITED);
    membarrier_call(PRIVATE_EXPEDITED);
  }
  CLPI_STEP();
}
