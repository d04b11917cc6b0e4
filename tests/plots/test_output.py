from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import robx
from plot_cases import asked, changes, costs, figure_of, spread
from robx import plots
from robx.plots.style import INK, PAPER


def test_an_inline_plot_takes_the_colours_and_the_font_of_the_page() -> None:
    text = plots.svg(plots.before_after(changes(4)))
    assert "currentColor" in text
    assert "var(--robx-paper, Canvas)" in text
    colours = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", text)}
    assert colours == {"#0072b2", "#d55e00"}
    assert not colours & {INK, PAPER, "#000000", "#ffffff"}
    texts = re.findall(r"<text [^>]*>", text)
    assert len(texts) > 10
    assert all("fill: currentColor" in one for one in texts)  # black is what is left unsaid
    assert "DejaVu" not in text
    assert "font-family" not in text
    assert "font-size: 9px" in text


def test_an_inline_plot_has_no_ground_and_brings_nothing_that_acts_on_the_page() -> None:
    text = plots.svg(plots.histograms(spread(), 0.5))
    assert text.startswith("<svg ")
    assert text.endswith("</svg>")
    for unwanted in ("<style", "<metadata", "<!--", "<?xml", "<!DOCTYPE", "<script", "http-equiv"):
        assert unwanted not in text
    links = set(re.findall(r'https?://[^"\s<]*', text))
    assert links == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    ground = re.search(r'id="[^"]*-patch_1">\s*<path[^>]*style="([^"]*)"', text)
    assert ground is not None
    assert "fill: none" in ground[1] or "opacity: 0" in ground[1]


def test_an_inline_plot_has_words_for_those_who_do_not_see_it() -> None:
    table = asked(2).assign(feature=["<b> & savings", "amount"])
    text = plots.svg(plots.asked_features(table), title="What is <asked> & of whom")
    assert 'role="img"' in text
    assert ">What is &lt;asked&gt; &amp; of whom</title>" in text
    words = re.search(r"<desc[^>]*>(.*?)</desc>", text)
    assert words is not None
    assert words[1] == (
        "Share of applicants who are asked to change a feature: &lt;b&gt; &amp; savings 75%, "
        "amount 73.8%."
    )
    named = re.search(r'aria-labelledby="(\S+) (\S+)"', text)
    assert named is not None
    assert f'<title id="{named[1]}">' in text
    assert f'<desc id="{named[2]}">' in text


def test_words_that_look_like_style_stay_as_they_are() -> None:
    names = [f"of {INK}", f"or {PAPER}", "font-family: Arial; x", 'id="y" href="#z"', "url(#q)"]
    text = plots.svg(plots.asked_features(asked(5).assign(feature=names)))
    words = re.findall(r"<text [^>]*>([^<]*)</text>", text)
    assert set(names) <= set(words)
    assert "font-family" not in "".join(re.findall(r"<[^>]*>", text))


def test_pictures_have_isolated_texts_where_matplotlib_knows_directions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = "\u05ea\u05dc", "\u05d9\u05e8\u05d5"
    ax = plots.before_after(changes(4)[3:].assign(before=before, after=after))
    assert f">\u2068{before}\u2069 → \u2068{after}\u2069<" in plots.svg(ax)
    (text,) = ax.texts
    isolated = text.get_text()

    def picture(words: str, *, knows: bool) -> bytes:
        monkeypatch.setattr("robx.plots.output.KNOWS_DIRECTIONS", knows)
        text.set_text(words)
        plots.save(ax, tmp_path / "plot.png")
        return (tmp_path / "plot.png").read_bytes()

    bare = f"{before} → {after}"
    assert picture(isolated, knows=False) == picture(bare, knows=True)
    if mpl.__version_info__[:2] >= (3, 11):
        assert picture(isolated, knows=True) != picture(bare, knows=True)


def test_letters_stay_text() -> None:
    assert ">features changed (upper left is better)<" in plots.svg(
        plots.frontier(costs(2).assign(n_changes=[1, 2]), cost="n_changes")
    )


def test_ids_differ_between_plots_and_every_reference_is_met() -> None:
    texts = [
        plots.svg(plots.histograms(spread(), 0.5)),
        plots.svg(plots.asked_features(asked(3))),
        plots.svg(plots.asked_features(asked(3)), title="another"),
    ]
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    assert all(len(own) > 5 for own in ids)
    assert not ids[0] & ids[1]
    assert not ids[1] & ids[2]
    for text, own in zip(texts, ids, strict=True):
        asked_for = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
        assert asked_for
        assert asked_for <= own
        assert len(re.findall(r'\bid="', text)) == len(own)


@pytest.mark.parametrize(
    ("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_a_saved_plot_is_the_same_bytes_each_time(
    ending: str, start: bytes, tmp_path: Path
) -> None:
    files = [tmp_path / f"{k}{ending}" for k in range(2)]
    for file in files:
        plots.save(plots.asked_features(asked(3)), file)
    data = [file.read_bytes() for file in files]
    assert data[0].startswith(start)
    assert data[0] == data[1]
    assert sorted(tmp_path.iterdir()) == files


def test_a_saved_picture_stands_on_white(tmp_path: Path) -> None:
    from PIL import Image

    plots.save(plots.asked_features(asked(3)), tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as image:
        assert image.convert("RGBA").getpixel((1, 1)) == (255, 255, 255, 255)
        assert image.width == round(6.4 * 150)


def test_other_endings_folders_and_things_are_refused(tmp_path: Path) -> None:
    ax = plots.asked_features(asked(1))
    with pytest.raises(
        robx.InvalidInput, match=r"saved as \.png, \.svg, \.pdf\. Got 'plot\.jpg'\. Choose one"
    ):
        plots.save(ax, tmp_path / "plot.jpg")
    with pytest.raises(robx.InvalidInput, match="There is no folder"):
        plots.save(ax, tmp_path / "nowhere" / "plot.png")
    with pytest.raises(robx.InvalidInput, match="svg takes the Axes that .* Got Figure"):
        plots.svg(figure_of(ax))
    with pytest.raises(robx.InvalidInput, match="save takes Axes of one figure"):
        plots.save([ax, Figure().add_subplot()], tmp_path / "plot.png")
    assert list(tmp_path.iterdir()) == []
