"""The results, one class per question, with the names that the command uses."""

from __future__ import annotations

from ._numerical import NumericalDimension
from ._parameters import Saved
from ._result import Result
from ._results.linear import LinearPoints, Moved, Strata, Stratum
from ._results.measures import Conservation, Dimension, Dynamics, FoldMatch, Folds, Info, Membership, Regions, Volume
from ._results.networks import Aligned, Bounds, Construction, Extraction, Trained
from ._results.pages import LeakReport, ReportPage, Reproduction, TourPage
from ._results.proof import Certificate, Checked, Difference, Equivalence, SameClass, Witness
from .network import Canonical, Fiber, HiddenSymmetries, HiddenSymmetry, Points, Reduced

__all__ = [
    "Aligned", "Bounds", "Canonical", "Certificate", "Checked", "Conservation", "Construction", "Difference", "Dimension",
    "Dynamics", "Equivalence",
    "Extraction", "Fiber", "FoldMatch", "Folds", "HiddenSymmetries", "HiddenSymmetry", "Info", "LeakReport", "LinearPoints", "Membership", "Moved", "NumericalDimension", "Points",
    "Reduced", "Regions", "ReportPage", "Reproduction", "Result", "SameClass", "Saved", "Strata", "Stratum", "TourPage", "Trained",
    "Volume", "Witness",
]  # fmt: skip
