# SPDX-License-Identifier: MIT
# A trace of 1 million events for clpool tune: random sizes up to 1 GiB, small ones as often as
# large ones on a scale of logarithms, about 500 blocks live.
#   awk -f random-trace.awk | clpool tune - --cost=nvidia-h200
BEGIN {
  srand(1)
  print "Thread,Time,Action,Pointer,Size,Stream"
  for (i = 0; i < 1000000; i++) {
    p = int(1000 * rand()) + 1
    action = size[p] ? "free" : "allocate"
    if (!size[p])
      size[p] = int(exp(20.8 * rand()))
    printf "1,00:00:00.0,%s,0x%x,%d,0\n", action, p, size[p]
    if (action == "free")
      size[p] = 0
  }
}
