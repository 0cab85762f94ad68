"""The local learning coefficient (LLC) that devinterp estimates, beside what Fiberscope proves.

    pip install devinterp==1.3.2        # in an environment of its own, with torch and fiberscope
    python bench/peers/llc.py

A small network is its own teacher: the targets are its outputs, so that its loss is 0 at its parameters. Let r be the rank of the Jacobian of
the outputs on the samples. The loss is a sum of squares whose second derivative has rank r, so the learning coefficient is at least r / 2.
If the parameters with loss 0 form, near these, a manifold of dimension d, it is at most (parameters - d) / 2; d is at least the dimension of
the symmetries that `info` reads off the numbers. Where both are the same, the coefficient is known. devinterp samples the parameters by
stochastic gradient Langevin dynamics (SGLD) and gives an estimate, one for each chain. What tells whether it has converged stands beside: the
mean over the first and over the second half of the draws, and a second run at half the rate with twice as many steps.
"""

from __future__ import annotations

import argparse
import logging
import math
import time
import warnings

import numpy as np
import torch
from devinterp.optim import SGLD
from devinterp.slt.sampler import estimate_learning_coeff_with_summary
from torch.nn.functional import mse_loss

import fiberscope as fs

SAMPLES = 1000
BOX = 2.0

# Among a few thousand random ones, those whose second derivatives differ least in size: the most is some 125 times the
# least that is not zero, so that steps that are short enough for the one are not too short for the other.
FIRST = [[1.0, -0.25], [-0.25, -0.375], [-0.5, 0.75]]
BIAS = [-0.125, 0.0, -0.625]
LAST = [[1.0, -1.0, 0.875]]


def networks() -> dict[str, fs.Network]:
    """The same network, with a neuron that no sample switches on, and with two neurons on one hyperplane."""
    dead, doubled = list(BIAS), [list(row) for row in FIRST]
    dead[2] = -8.0
    doubled[2] = [2 * x for x in doubled[0]]
    same_line = [*BIAS[:2], 2 * BIAS[0]]
    made = {
        "nothing special": (FIRST, BIAS),
        "a dead neuron": (FIRST, dead),
        "two neurons on one line": (doubled, same_line),
    }
    return {
        name: fs.Network([np.array(rows), np.array(LAST)], [np.array(bias), np.array([0.5])])
        for name, (rows, bias) in made.items()
    }


def traces(network: fs.Network, inputs: np.ndarray, given: argparse.Namespace, halved: int) -> np.ndarray:
    """The loss, times `nbeta`, at every draw of every chain, with the rate halved so often and the steps doubled."""
    module = network.to_torch().to(torch.float32)
    x = torch.tensor(inputs, dtype=torch.float32)
    with torch.no_grad():
        y = module(x).clone()
    # All samples are one batch, which is not put together anew at every step.
    loader = torch.utils.data.DataLoader([(x, y)], batch_size=1, collate_fn=lambda batches: batches[0])
    found = estimate_learning_coeff_with_summary(
        module,
        loader,
        evaluate=lambda model, data: (mse_loss(model(data[0]), data[1]), {}),
        sampling_method=SGLD,
        optimizer_kwargs={"lr": given.rate / 2**halved, "localization": given.localization, "nbeta": given.nbeta},
        num_chains=given.chains,
        num_draws=given.draws * 2**halved,
        num_burnin_steps=given.burnin * 2**halved,
        init_loss=1e-12,  # 0, which would be taken for "not given"
        seed=0,
        verbose=False,
    )
    return given.nbeta * np.asarray(found["loss/trace"])


def main() -> None:
    """One row per network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--burnin", type=int, default=800)
    parser.add_argument("--rate", type=float, default=8e-7)
    parser.add_argument("--nbeta", type=float, default=100_000.0)
    parser.add_argument("--localization", type=float, default=1.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    inputs = np.random.default_rng(0).uniform(-BOX, BOX, (SAMPLES, 2))
    settings = ", ".join(f"{name} {value:g}" for name, value in vars(given).items())
    print(f"{SAMPLES} samples of [-{BOX:g}, {BOX:g}]^2; SGLD with {settings}; torch {torch.__version__}\n")
    print("| 2-3-1 with | parameters | rank r, exact | local identifiability | learning coefficient, known | rate | devinterp, chains | halves | mean | CPU, s |")
    print("|---|---:|---:|---|---:|---:|---|---|---:|---:|")
    for name, network in networks().items():
        parameters = sum(w.size for w in network.weights) + sum(b.size for b in network.biases)
        rank = network.functional_dimension(inputs).rank
        info = network.info(box=(-BOX, BOX))
        low, high = rank / 2, (parameters - info.local_dimension["lower"]) / 2
        known = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        local = "proved" if info.locally_identifiable else f"dimension {info.local_dimension['lower']} to {info.local_dimension['upper']}"
        facts = f"| {name} | {parameters} | {rank} | {local} | {known}"
        for halved in range(2):
            start = time.process_time()
            trace = traces(network, inputs, given, halved)
            spent = time.process_time() - start
            chains, half = trace.mean(axis=1), trace.shape[1] // 2
            shown = ", ".join(f"{each:.2f}" for each in chains)
            halves = f"{trace[:, :half].mean():.2f}, {trace[:, half:].mean():.2f}"
            error = chains.std(ddof=1) / math.sqrt(len(chains))
            row = f"{facts} | {given.rate / 2**halved:g} | {shown} | {halves} | {chains.mean():.2f} ± {error:.2f} | {spent:.0f} |"
            print(row, flush=True)
            facts = "| | | | |"


if __name__ == "__main__":
    main()
