#!/bin/sh
# Makes kernels_80.ptx and kernels_90.ptx of kernels.cu; needs nvcc of CUDA 12 or 13.
# The oldest version of PTX that knows all instructions is written into them, so that older drivers load them:
# 7.0 (CUDA 11.0) for devices of compute capability 8.x, 7.8 (CUDA 11.8) for 9.0 and later ones.
set -e
cd "$(dirname "$0")"
for pair in 80:7.0 90:7.8; do
    nvcc -O3 -arch=compute_${pair%:*} --ptx kernels.cu -o - |
        sed -e "s/^\.version .*/.version ${pair#*:}/" -e '/^\/\//d' -e '/^$/d' >"kernels_${pair%:*}.ptx"
done
