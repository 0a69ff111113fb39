"""Draws docs/idea.png, the README's picture, from a finished run: two requests, two splits.

    python scripts/draw_idea.py --config configs/demo.yaml --out docs/idea.png

Of the visual and of the functional requests of the test split it takes the one whose wanted item
is shown and whose ranks in the two indexes lie furthest apart: not typical, but to the point.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.shop import Query, Shop
from adamroute.config import load_config
from adamroute.recommender import Recommendation
from adamroute.run import Run, assemble_run

SHOWN = 6
MAX_CHARACTERS = 90
INK, TEXT, PHOTO, PALE = "#1f2933", "#3b6ea5", "#d9822b", "#eef1f4"
OFFLINE = "offline, the agent (teacher) tests both indexes on pseudo-queries from users' history"
BOXES = (
    ("teacher's loop", "pseudo-queries with\na known answer"),
    ("replay", "two ranks tell the utility\nof every split"),
    ("LoRA student", "query + profile\nto (alpha, K), one pass"),
    ("calibration", "P(regret small), and when\nto ask the teacher"),
    ("Ray Serve", "route, search twice,\nre-rank, answer"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=Path("configs/demo.yaml"))
    parser.add_argument("--out", type=Path, default=Path("docs/idea.png"))
    options = parser.parse_args()
    config = load_config(options.config)
    shop = read_shop(config.shop)
    queries = known_queries(shop, config.stage("ranks"), "test")
    examples = pick(assemble_run(config), queries)
    draw(shop, examples, options.out)


def pick(run: Run, queries: Sequence[Query]) -> list[tuple[Query, Recommendation]]:
    """Of each kind the briefly worded request with the clearest case."""
    clearest = []
    for kind in ("visual", "functional"):
        answered = []
        for query in (q for q in queries if q.kind == kind and len(q.text) < MAX_CHARACTERS):
            answer = run.recommend(
                query=query.text, user_id=query.user_id, policy="student", n=SHOWN
            )
            answered.append((query, answer))
        clearest.append(max(answered, key=lambda pair: gap(*pair)))
    return clearest


def gap(query: Query, answer: Recommendation) -> float:
    """How many times further down the wanted item is in the index that was given less.

    0 where it is not shown; below 1 where the split was a mistake.
    """
    ranks = [(i.text_rank, i.mm_rank) for i in answer.items if i.item_id == query.target_id]
    if not ranks:
        return 0.0
    text, mm = ranks[0]
    return mm / text if answer.theta.alpha > 0.5 else text / mm


def draw(shop: Shop, examples: Sequence[tuple[Query, Recommendation]], out: Path) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(12, 6.6), dpi=120, facecolor="white")
    figure.text(0.03, 0.945, "One recall budget, two indexes, a split for each request",
                fontsize=19, weight="bold", color=INK)  # fmt: skip
    for place, (query, answer) in enumerate(examples):
        _request(figure, shop, query, answer, bottom=0.6 - 0.325 * place)
    _flow(figure)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, facecolor="white")
    plt.close(figure)


def _request(
    figure: Any, shop: Shop, query: Query, answer: Recommendation, *, bottom: float
) -> None:
    text = "\n".join(textwrap.wrap(f"“{query.text}”", 38))
    figure.text(0.03, bottom + 0.27, text, fontsize=12.5, color=INK, va="top", style="italic")
    theta = answer.theta
    n_text, n_mm = theta.split()
    bar = figure.add_axes((0.03, bottom + 0.055, 0.3, 0.05))
    bar.barh([0], [n_text], color=TEXT)
    bar.barh([0], [n_mm], left=[n_text], color=PHOTO)
    bar.set_xlim(0, theta.budget)
    bar.set_axis_off()
    figure.text(0.03, bottom + 0.03, f"{n_text} from the text index", color=TEXT, fontsize=10.5)
    figure.text(0.33, bottom + 0.03, f"{n_mm} from photo + text", color=PHOTO, fontsize=10.5,
                ha="right")  # fmt: skip
    figure.text(0.03, bottom + 0.115, f"alpha {theta.alpha:.1f}, K = {theta.budget}, "
                f"confidence {answer.confidence or 0:.2f}", fontsize=10.5, color=INK)  # fmt: skip
    for place, item in enumerate(answer.items):
        axes = figure.add_axes((0.37 + 0.103 * place, bottom + 0.06, 0.098, 0.2))
        wanted = item.item_id == query.target_id
        _photo(axes, shop.folder / item.image if item.image else None, wanted)
        label = f"text #{item.text_rank}\nphoto #{item.mm_rank}"
        axes.set_xlabel(label, fontsize=9, color=INK, weight="bold" if wanted else "normal")


def _photo(axes: Any, path: Path | None, wanted: bool) -> None:
    from PIL import Image

    if path is not None:
        axes.imshow(Image.open(path))
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color("#2e9e5b" if wanted else "#d5dbe1")
        spine.set_linewidth(3.5 if wanted else 1)


def _flow(figure: Any) -> None:
    """The five parts, in the order of the work."""
    from matplotlib.patches import FancyBboxPatch

    axes = figure.add_axes((0.03, 0.02, 0.94, 0.2))
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 10)
    axes.set_axis_off()
    width, gap = 17.6, 3.0
    for place, (name, what) in enumerate(BOXES):
        left = place * (width + gap)
        axes.add_patch(
            FancyBboxPatch(
                (left + 0.4, 1.5), width - 0.8, 6.4, boxstyle="round,pad=0.2,rounding_size=0.8",
                facecolor=PALE, edgecolor="#c5ced6",
            )
        )  # fmt: skip
        axes.text(left + width / 2, 6.1, name, ha="center", weight="bold", fontsize=11, color=INK)
        axes.text(left + width / 2, 2.1, what, ha="center", fontsize=9, color=INK)
        if place + 1 < len(BOXES):
            arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.4}
            axes.annotate("", (left + width + gap, 4.7), (left + width, 4.7), arrowprops=arrow)
    axes.text(0, 9.4, OFFLINE, fontsize=9.5, color="#52606d")


if __name__ == "__main__":
    main()
