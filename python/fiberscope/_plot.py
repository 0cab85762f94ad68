"""Pictures with matplotlib, in the colours of the SVG pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.axes

# Okabe and Ito's colours: told apart with every kind of colour vision.
LAYERS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]


def plot(shown: dict[str, Any], ax: matplotlib.axes.Axes | None, weights: bool) -> matplotlib.axes.Axes:
    """Draws what the native part says is to be seen."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 5.4 if "regions" in shown else 3.8))
    if "regions" in shown:
        _plane(shown, ax, weights)
    else:
        _line(shown, ax)
    ax.set_title(shown["title"], fontsize="medium")
    return ax


def _plane(shown: dict[str, Any], ax: matplotlib.axes.Axes, weights: bool) -> None:
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.lines import Line2D

    regions = PolyCollection(
        [region["corners"] for region in shown["regions"]],
        array=[region["value"] for region in shown["regions"]],
        cmap="Greys", alpha=0.55, edgecolors="none",
    )  # fmt: skip
    ax.add_collection(regions)
    ax.figure.colorbar(regions, ax=ax, label="f at the centre of the region")
    largest = max((fold["weight"] for fold in shown["folds"]), default=0.0) or 1.0
    handles = []
    for layer in range(1, shown["layers"] + 1):
        colour = LAYERS[(layer - 1) % len(LAYERS)]
        for invisible in (False, True):
            own = [f for f in shown["folds"] if f["layer"] == layer and (f["weight"] == 0) == invisible]
            if not own:
                continue
            widths = [0.6 + 3 * f["weight"] / largest if weights else 1.5 for f in own]
            segments = [(f["from"], f["to"]) for f in own]
            style: Any = ":" if invisible else "-"
            ax.add_collection(LineCollection(segments, colors=colour, linewidths=widths, linestyles=style))
            name = f"layer {layer}" + (", invisible" if invisible else "")
            handles.append(Line2D([], [], color=colour, linestyle=style, label=name))
    if handles:
        ax.legend(handles=handles, loc="upper right", fontsize="small")
    (left, right), (low, high) = shown["view"]
    ax.set(xlim=(left, right), ylim=(low, high), xlabel=shown["axes"][0], ylabel=shown["axes"][1])
    ax.set_aspect("equal")


def _line(shown: dict[str, Any], ax: matplotlib.axes.Axes) -> None:
    breaks = 0
    for curve in shown["curves"]:
        if curve["points"]:
            ax.plot(*zip(*curve["points"]), label=curve["name"], color="black" if breaks == 0 else None)
        if curve["breakpoints"]:
            colour = LAYERS[breaks % len(LAYERS)]
            ax.plot(*zip(*curve["breakpoints"]), "o", label=curve["name"], color=colour)
            breaks += 1
    ax.set(xlabel="x", ylabel="f(x)")
    ax.legend(fontsize="small")
