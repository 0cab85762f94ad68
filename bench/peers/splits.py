"""Compares networks with what the program ReluSplitter made of them, as VNN-COMP has them (2025 and 2026, benchmark relusplitter).

Usage: splits.py FIBERSCOPE FOLDER [SECONDS] [CSV]

`fiberscope equiv A B --box 0,1 --time-limit SECONDS` (60) is run on every pair of FOLDER: NAME.onnx and
NAME_RSPLITTER_PROPERTY.onnx. Every "equivalent up to rounding" has a certified bound whose certificate was checked by
the command, which stands beside the largest difference that it saw. A line for each network goes to standard output,
a line for each pair to CSV.
"""

import collections
import csv
import json
import resource
import subprocess
import sys
from pathlib import Path


def compare(program, a, b, seconds):
    """The verdict, the bound, the largest difference seen, the size of the outputs, and seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    words = ["equiv", a, b, "--box", "0,1", "--time-limit", str(seconds), "--json", "--quiet"]
    done = subprocess.run([program, *words], capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    found = json.loads(done.stdout) if done.stdout else {"verdict": done.stderr.decode().strip()}
    return found, used


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    table = open(sys.argv[4], "w", newline="") if len(sys.argv) > 4 else None
    writer = csv.writer(table) if table else None
    pairs = collections.defaultdict(list)
    for b in sorted(folder.glob("*_RSPLITTER_*.onnx")):
        a = folder / f"{b.name.partition('_RSPLITTER_')[0]}.onnx"
        if a.exists():
            pairs[a].append(b)
    print("| network | pairs | verdicts | bounds | largest difference seen | an output has | seconds |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for a, others in pairs.items():
        rows = []
        for b in others:
            found, used = compare(program, a, b, seconds)
            row = [found.get(key) for key in ("verdict", "bound", "difference", "size")]
            rows.append([*row, used])
            if writer:
                writer.writerow([a.name, b.name, *rows[-1]])
                table.flush()
        verdicts = collections.Counter(row[0] for row in rows)
        words = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())

        def span(at, rows=rows):
            values = sorted(float(row[at]) for row in rows if row[at] is not None)
            return f"{values[0]:.2g} to {values[-1]:.2g}" if values else "–"

        print(f"| {a.stem} | {len(rows)} | {words} | {span(1)} | {span(2)} | {span(3)} | {span(4)} |", flush=True)


if __name__ == "__main__":
    main()
