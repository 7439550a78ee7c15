/* SPDX-License-Identifier: MIT */
/* The heavy side of the asymmetric fence: membarrier. */
#include "core/cache/fence.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As linux/membarrier.h has them, which is not beside every libc's headers. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool clpi_fence_is_asymmetric;

static bool membarrier_call(int command)
{
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void find_out(void)
{
  clpi_fence_is_asymmetric =
      membarrier_call(REGISTER_PRIVATE_EXPEDITED) && membarrier_call(PRIVATE_EXPEDITED);
}

void clpi_fence_init(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_out);
}

/* Registration belongs to the address space; a child of fork may have to ask again. */
void clpi_fence_heavy(void)
{
  if (clpi_fence_is_asymmetric && !membarrier_call(PRIVATE_EXPEDITED)) {
    membarrier_call(REGISTER_PRIVATE_EXPEDITED);
    membarrier_call(PRIVATE_EXPEDITED);
  }
}
