#!/bin/sh
# A count of regions as a Slurm array: 64 elements share one folder.
#
#   fiberscope plan regions model.onnx --box -1,1 --count-only --tasks 1000 -o count
#   sbatch examples/scale/slurm.sh count
#   fiberscope merge count
#
#SBATCH --job-name=fiberscope
#SBATCH --array=1-64
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --requeue
# A minute before the end Slurm says so with this signal; the worker stops, and its task is free again.
#SBATCH --signal=INT@60
set -eu

folder=${1:?usage: sbatch slurm.sh FOLDER}

# Every element takes free tasks until none is left; elements that start later, or again, help.
exec fiberscope work "$folder" --threads "${SLURM_CPUS_PER_TASK:-1}" --slice 60
