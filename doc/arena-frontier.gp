# SPDX-License-Identifier: MIT
# Footprint against calls of the device, along the slack: doc/arena-frontier.dat, which
# bench/frontier.sh prints.
set terminal svg size 860,520 font "Helvetica,Arial,sans-serif,14" background "white" rounded noenhanced
set datafile separator whitespace
set border 3 lc rgb "#4a4a4a"
set tics nomirror textcolor rgb "#1a1a1a"
set grid lc rgb "#e4e7ec"
set logscale x
set xrange [3:60000]
set yrange [1:1.7]
set xlabel "allocations of the program for each segment taken from the device, first pass"
set ylabel "peak memory taken / peak memory in use"
set key top left reverse Left width -6

series = 3
array color[series] = ["#b3401f", "#1f5fb3", "#2c8a4b"]
data = "doc/arena-frontier.dat"

# Only the last curve says which slack a point is, and only in part.
slack(column) = (strstrt(" 0 0.001 0.004 0.016 0.06 0.1 0.25 1 ", " ".strcol(column)." ") ? \
                 strcol(column) : "")
plot for [i=1:series] data index i-1 using 7:2 with linespoints lw 2 pt 7 ps 0.5 \
       lc rgb color[i] title columnheader(1), \
     for [i=1:series] data index i-1 using 7:($8 == 1 ? $2 : NaN) with points pt 6 ps 1.6 lw 2 \
       lc rgb color[i] title (i == series ? "the default, a slack of 0.016" : ""), \
     data index series-1 using 7:2:(slack(1)) with labels offset -1.2,0.8 tc rgb color[series] notitle
