# SPDX-License-Identifier: MIT
# A trace of 10 million events for clpool tune: 5000 sizes again and again, 100 blocks live.
#   awk -f even-trace.awk | clpool tune - --cost=nvidia-h200
BEGIN {
  print "Thread,Time,Action,Pointer,Size,Stream"
  for (i = 0; i < 5000000; i++) {
    printf "1,00:00:00.0,allocate,0x%x,%d,0\n", i + 1, 1000 + i % 5000
    if (i >= 100)
      printf "1,00:00:00.0,free,0x%x,%d,0\n", i - 99, 1000 + (i - 100) % 5000
  }
}
