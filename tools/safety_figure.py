"""Draws docs/safety.svg: why one inflated capsule stands for every path inside a joint box.

Example: python tools/safety_figure.py
"""

from __future__ import annotations

import math
import random
from pathlib import Path

FIGURE = Path(__file__).parent.parent / "docs" / "safety.svg"
UPPER, LOWER, RADIUS, MARGIN = 1.0, 0.8, 0.06, 0.1  # a planar arm of two links, m
MIDDLE, HALF = (0.35, 0.75), (0.06, 0.09)  # of the joint box, rad
# Farthest point of the lower link from either axis, times how far that joint may be off.
GROWTH = (UPPER + LOWER + RADIUS) * HALF[0] + (LOWER + RADIUS) * HALF[1]
BLUE, ORANGE, GREY, RED, INK = "#2b6cb0", "#dd8a1f", "#9aa5b1", "#c0392b", "#22303c"

Point = tuple[float, float]


def elbow_and_tip(q: Point) -> tuple[Point, Point]:
    elbow = UPPER * math.cos(q[0]), UPPER * math.sin(q[0])
    angle = q[0] + q[1]
    return elbow, (elbow[0] + LOWER * math.cos(angle), elbow[1] + LOWER * math.sin(angle))


def to_plane(p: Point) -> Point:
    return 395 + 265 * p[0], 385 - 265 * p[1]


def to_joints(q: Point) -> Point:
    return 165 + 1150 * (q[0] - MIDDLE[0]), 215 - 1150 * (q[1] - MIDDLE[1])


def line(a: Point, b: Point, colour: str, width: float, **more: object) -> str:
    extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
        f'stroke="{colour}" stroke-width="{width:.1f}" stroke-linecap="round"{extra}/>'
    )


def text(at: Point, words: str, colour: str = INK, size: int = 13, anchor: str = "start") -> str:
    return (
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" fill="{colour}" font-size="{size}" '
        f'text-anchor="{anchor}">{words}</text>'
    )


def capsule(q: Point, radius: float, colour: str, opacity: float) -> str:
    elbow, tip = map(to_plane, elbow_and_tip(q))
    return line(elbow, tip, colour, 2 * 265 * radius, opacity=opacity)


def joint_space() -> list[str]:
    low, high = (tuple(m + s * h for m, h in zip(MIDDLE, HALF, strict=True)) for s in (-1, 1))
    (x0, y1), (x1, y0) = to_joints(low), to_joints(high)
    # The second joint hurries ahead of the first: no straight line, but inside the box.
    late = [
        (low[0] + (high[0] - low[0]) * s**3, low[1] + (high[1] - low[1]) * (1 - (1 - s) ** 3))
        for s in (i / 20 for i in range(21))
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(to_joints, late))
    return [
        text((30, 30), "Joint space: one stretch of motion", size=15),
        line((50, 370), (300, 370), INK, 1),
        line((50, 370), (50, 70), INK, 1),
        text((300, 388), "joint 1", anchor="end"),
        text((40, 62), "joint 2"),
        f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" '
        f'fill="{ORANGE}" fill-opacity="0.15" stroke="{ORANGE}" stroke-width="2"/>',
        line(to_joints(low), to_joints(high), BLUE, 2.5),
        f'<polyline points="{path}" fill="none" stroke="{GREY}" stroke-width="2.5"/>',
        f'<circle cx="165" cy="215" r="5" fill="{BLUE}"/>',
        text((to_joints(low)[0], y1 + 18), "row i", BLUE),
        text((to_joints(high)[0], y0 - 8), "row i+1", BLUE, anchor="end"),
        text((175, 232), "middle", BLUE),
        text((50, 410), "blue: as commanded; grey: joints out of step", size=12),
        text((50, 426), "orange: the box; tracking error widens it", size=12),
    ]


def work_space() -> list[str]:
    draw = random.Random(4)
    shoulder = to_plane((0.0, 0.0))
    elbow, tip = elbow_and_tip(MIDDLE)
    along = math.atan2(tip[1] - elbow[1], tip[0] - elbow[0])
    across = math.cos(along - math.pi / 2), math.sin(along - math.pi / 2)
    gap = RADIUS + GROWTH + MARGIN + 0.16
    spot = [(e + 0.7 * (t - e)) + gap * a for e, t, a in zip(elbow, tip, across, strict=True)]
    x, y = to_plane((spot[0], spot[1]))
    reach = to_plane((spot[0] - 0.16 * across[0], spot[1] - 0.16 * across[1]))
    edge = RADIUS + GROWTH
    near = [(e + 0.7 * (t - e)) + edge * a for e, t, a in zip(elbow, tip, across, strict=True)]
    out = [text((380, 30), "The same stretch in space", size=15)]
    out.append(capsule(MIDDLE, RADIUS + GROWTH, ORANGE, 0.3))
    corners = [(MIDDLE[0] + a * HALF[0], MIDDLE[1] + b * HALF[1]) for a in (-1, 1) for b in (-1, 1)]
    inside = [
        (MIDDLE[0] + draw.uniform(-1, 1) * HALF[0], MIDDLE[1] + draw.uniform(-1, 1) * HALF[1])
        for _ in range(14)
    ]
    out += [capsule(q, RADIUS, GREY, 0.28) for q in corners + inside]
    out.append(line(shoulder, to_plane(elbow), INK, 5))
    out.append(capsule(MIDDLE, RADIUS, BLUE, 0.9))
    out.append(f'<circle cx="{shoulder[0]:.1f}" cy="{shoulder[1]:.1f}" r="8" fill="{INK}"/>')
    out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{265 * 0.16:.1f}" fill="{RED}"/>')
    out.append(line(to_plane((near[0], near[1])), reach, RED, 2, stroke_dasharray="1 5"))
    out += [
        text((x, y + 5), "obstacle", "white", anchor="middle"),
        text((x, y + 62), "a margin away, or more", RED, anchor="middle"),
        text((395, 62), "blue: the link at the middle", BLUE),
        text((395, 82), "grey: the link anywhere in the box", "#5d6975"),
        text((395, 102), "orange: blue, grown by the", "#a8640c"),
        text((395, 120), "sum of lever × half width", "#a8640c"),
    ]
    return out


def figure() -> str:
    body = "\n".join([*joint_space(), *work_space()])
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 440" '
        'font-family="sans-serif" role="img">\n'
        "<title>A box of joint values and the inflated capsule that covers it</title>\n"
        f'<rect width="940" height="440" fill="white"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    FIGURE.write_text(figure(), encoding="utf-8")
    print(f"wrote {FIGURE}")
