"""Images of prompts: every way to give one, and every way in which one can be broken."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from evaluation.pattern_eval.images import ImageProblem, load_image, thumbnail


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 20)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind)
    return out.getvalue()


def opened(url: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif")])
def test_known_kinds_go_as_they_are(kind: str, mime: str, tmp_path: Path):
    (tmp_path / "a").write_bytes(picture(kind))
    shown = load_image("a", tmp_path, 0)
    assert shown.url == f"data:image/{mime};base64,{base64.b64encode(picture(kind)).decode()}"
    assert load_image(picture(kind), tmp_path, 0) == shown


def test_other_kinds_become_png(tmp_path: Path):
    shown = load_image(picture("BMP"), tmp_path, 0)
    assert shown.url.startswith("data:image/png;") and opened(shown.url).size == (40, 20)


@pytest.mark.parametrize("url", ["https://host/a.png", "http://host/a.png", "data:image/png;base64,AAAA"])
def test_addresses_are_for_the_server(url: str):
    assert load_image(url, Path("nowhere"), 1).url == url


def test_a_large_image_is_made_smaller(tmp_path: Path):
    shown = load_image(picture(size=(400, 100)), tmp_path, 10_000)
    assert shown.scaled_from == (400, 100)
    assert opened(shown.url).size == (200, 50)
    assert load_image(picture(size=(400, 100)), tmp_path, 40_000).scaled_from is None


def test_a_50_megapixel_image_can_be_shown(tmp_path: Path):
    shown = load_image(picture("JPEG", (10_000, 5_000)), tmp_path, 1_000_000)
    assert opened(shown.url).width * opened(shown.url).height <= 1_000_000


def bomb(width: int, height: int) -> bytes:
    """A PNG whose header alone says that it is enormous."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no image", "image_unreadable"),
        (b"", "image_unreadable"),
        (picture("JPEG", (300, 300))[:900], "image_corrupt"),
        (bomb(100_000, 100_000), "image_too_large"),
    ],
)
def test_a_broken_image_is_named(content: bytes, reason: str, tmp_path: Path):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(ImageProblem, match=r"a\.png") as caught:
        load_image("a.png", tmp_path, 0)
    assert caught.value.reason == reason


def test_a_missing_image_is_named(tmp_path: Path):
    with pytest.raises(ImageProblem, match=r"nothing\.png: No such file") as caught:
        load_image("nothing.png", tmp_path, 0)
    assert caught.value.reason == "image_missing"


def test_thumbnails():
    url = load_image(picture(size=(800, 400)), Path(), 0).url
    assert opened(thumbnail(url)).size == (240, 120)
    assert thumbnail("https://host/a.png") == ""
