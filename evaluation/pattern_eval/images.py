"""Images of a prompt: from a file, bytes, a URL or a data URL, to what a request may carry.

A file is opened and checked here, so that a broken one is named before a server sees it. A URL goes to the server as it
is: who runs the server decides whether it may fetch.
"""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, UnidentifiedImageError

_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
REFUSED_PIXELS = 300_000_000
"""More than any camera: a file that says so is a decompression bomb or a mistake."""


class ImageProblem(ValueError):
    """An image that cannot be shown; `reason` is a short code, the text says what to do."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image as a request carries it.

    Attributes:
        url: data URL, or the URL as it was given.
        scaled_from: width and height before it was made smaller; None when it went as it is.
    """

    url: str
    scaled_from: tuple[int, int] | None = None


def load_image(given: str | bytes, root: Path, max_pixels: int) -> ShownImage:
    """One image of a prompt.

    Args:
        given: bytes of a file, an http(s) or data URL, or a path relative to `root`.
        max_pixels: a larger image is made smaller with the same aspect ratio and sent as PNG; 0 sends any size.

    Raises:
        ImageProblem: missing, no image, cut, or too large to open.
    """
    if isinstance(given, str) and given.startswith(("http://", "https://", "data:image/")):
        return ShownImage(given)
    if isinstance(given, str):
        path = root / given
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ImageProblem("image_missing", f"{path}: {error.strerror or error}; put the file there") from error
        name = str(path)
    else:
        content, name = given, f"{len(given):,} bytes"
    image = _open(content, name)
    kind = _MIME.get(image.format or "")
    pixels = image.width * image.height
    if kind is not None and not (max_pixels and pixels > max_pixels):
        return ShownImage(_data_url(content, kind))
    scaled_from = None
    if max_pixels and pixels > max_pixels:
        scaled_from = image.size
        share = (max_pixels / pixels) ** 0.5
        image = image.resize(
            (max(1, int(image.width * share)), max(1, int(image.height * share))), Image.Resampling.LANCZOS
        )
    out = io.BytesIO()
    image.convert("RGB").save(out, "PNG")
    return ShownImage(_data_url(out.getvalue(), "image/png"), scaled_from)


def thumbnail(url: str, side: int = 240) -> str:
    """A small JPEG of a data URL as a data URL; empty for an image that only a server can fetch."""
    if not url.startswith("data:image/"):
        return ""
    image = _open(base64.b64decode(url.partition(",")[2]), "an image of an example").convert("RGB")
    image.thumbnail((side, side))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=85)
    return _data_url(out.getvalue(), "image/jpeg")


def _open(content: bytes, name: str) -> Image.Image:
    try:
        with warnings.catch_warnings():
            # Pillow warns from 90 megapixels on; the size is checked here, before any pixel is decoded.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(content))
            if image.width * image.height > REFUSED_PIXELS:
                raise Image.DecompressionBombError
            image.load()
    except UnidentifiedImageError as error:
        raise ImageProblem("image_unreadable", f"{name} is no image that Pillow knows; convert it to PNG") from error
    except Image.DecompressionBombError as error:
        raise ImageProblem("image_too_large", f"{name} has more pixels than can be opened; make it smaller") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ImageProblem("image_corrupt", f"{name} is cut or corrupt ({error}); fetch it again") from error
    return image


def _data_url(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
