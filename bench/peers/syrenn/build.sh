#!/bin/sh
# Usage: build.sh FOLDER, a checkout of SyReNN. Extra flags for the compiler (-I, -L) go into CXXFLAGS.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
g++ -O3 -march=native -std=c++17 -w -I "$here/shim" -I . -I /usr/include/eigen3 $CXXFLAGS \
  "$here/plane.cc" syrenn_server/pwl_transformer.cc syrenn_server/upolytope.cc syrenn_server/affine_transformer.cc \
  syrenn_server/fullyconnected_transformer.cc syrenn_server/transformer.cc \
  -ltbb -o plane
