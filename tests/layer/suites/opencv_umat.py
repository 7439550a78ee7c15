# SPDX-License-Identifier: MIT
"""Pictures through OpenCV's UMat, whose buffers are OpenCL's; prints sums of what comes out.

    python opencv_umat.py ROUNDS
"""

import sys

import cv2
import numpy as np

cv2.ocl.setUseOpenCL(True)
if not cv2.ocl.useOpenCL():
    sys.exit("OpenCV has found no OpenCL device")
random = np.random.default_rng(1)
for turn in range(int(sys.argv[1])):
    height, width = (int(n) for n in random.integers(100, 700, 2))
    picture = cv2.UMat(random.integers(0, 256, (height, width, 3), dtype=np.uint8))
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    smooth = cv2.GaussianBlur(grey, (7, 7), 1.5)
    _, black = cv2.threshold(cv2.resize(smooth, (300, 200)), 128, 255, cv2.THRESH_BINARY)
    edges = cv2.morphologyEx(black, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    wide = cv2.multiply(cv2.add(edges, black), edges)
    sums = [int(np.sum(one.get(), dtype=np.uint64)) for one in (smooth, black, edges, wide)]
    print(turn, width, height, *sums)
