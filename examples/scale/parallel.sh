#!/bin/sh
# A count of regions with GNU parallel: one task at a time for each core, and again what failed.
#
#   examples/scale/parallel.sh model.onnx -1,1 count
set -eu

model=${1:?usage: parallel.sh MODEL BOX FOLDER}
box=${2:?usage: parallel.sh MODEL BOX FOLDER}
folder=${3:?usage: parallel.sh MODEL BOX FOLDER}

fiberscope plan regions "$model" --box "$box" --count-only --tasks 32 -o "$folder"
tasks=$(find "$folder/tasks" -type f ! -name turn | wc -l)
seq "$tasks" | parallel --retries 3 fiberscope work "$folder" --task {} --threads 1 --quiet ">" /dev/null
fiberscope merge "$folder"
