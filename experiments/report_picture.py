"""Make the pictures of a report that the pages and the README show, in light and dark.

    python -m experiments.report_picture

A real report of the README's example is opened in Chromium, which must be installed; shown are its
headline and its first applicants. Run it again when the report looks different, and look at what
came of it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from xgboost import XGBClassifier

import robx

__all__ = ["main"]

STATIC = Path(__file__).parents[1] / "docs" / "_static"
#: What the window shows, in CSS pixels, and how many pixels of the picture one of them is.
SIZE, SCALE = (1000, 1180), 1.5
#: What a picture has no room for: the parts between headline and applicants, and notes on figures.
LEFT_OUT = (
    "<style>nav, footer, main > section:not(#applicants), #applicants > p {display: none}</style>"
)
#: Few colours make a small file: the report has few.
COLOURS = 64
#: What Blink calls the colours that a reader prefers.
SCHEMES = {"dark": 0, "light": 1}


def make_report(file: Path) -> None:
    """Write the report of the README's example."""
    X, y, schema = robx.datasets.load_german()
    train, labels, applicants = X[:700], y[:700], X[700:]
    model = XGBClassifier(n_estimators=80, max_depth=3, learning_rate=0.1).fit(train, labels)
    schema = schema.override(checking={"change": "increase"})
    answer = robx.Explainer(model, train, labels, schema=schema, keep=0.75).explain(applicants)
    robx.report(answer).save(file)


def shorten(file: Path) -> None:
    """Leave parts out of a report; its policy allows no other styles than its own."""
    text = file.read_text(encoding="utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    file.write_text(text.replace("</head>", f"{LEFT_OUT}</head>"), encoding="utf-8")


def photograph(page: Path, scheme: str, folder: Path) -> Image.Image:
    """Take a screenshot of a page."""
    chromium = shutil.which("chromium") or shutil.which("chrome") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("The pictures need Chromium: install Debian's package 'chromium', or Chrome.")
    shot = folder / f"{scheme}.png"
    flags = [
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
        f"--user-data-dir={folder / scheme}",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        f"--force-device-scale-factor={SCALE}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        f"--screenshot={shot}",
    ]
    command = [chromium, *flags, page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603
    with Image.open(shot) as image:
        return image.convert("RGB")


def main() -> None:
    """Make the pictures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        page = Path(made) / "report.html"
        make_report(page)
        shorten(page)
        for scheme in SCHEMES:
            image = photograph(page, scheme, Path(made))
            target = STATIC / f"report-{scheme}.png"
            image.quantize(COLOURS).save(target, optimize=True)
            print(f"Wrote {target.name}: {image.width} x {image.height}, {target.stat().st_size} B")


if __name__ == "__main__":
    main()
