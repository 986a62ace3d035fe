"""Makes tests/images/golden with Pillow: small images in every format, and what Pillow reads and resizes them to, as PPM.

    /usr/bin/python3 tools/make_image_golden.py

Needs Debian's python3-pil and python3-numpy. The files are committed; run it again only to add cases.
"""
import pathlib

import numpy as np
from PIL import Image, ImageOps

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "images" / "golden"
WIDTH, HEIGHT = 37, 29
SIZES = [(37, 29), (16, 16), (64, 50), (5, 29), (37, 7), (1, 1), (36, 30), (224, 3)]
ORIENTATION_TAG = 0x0112


def picture():
    """Smooth colours, an edge and some noise: what resampling and chroma subsampling get wrong."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    red = 255 * x / (WIDTH - 1)
    green = 127 + 120 * np.sin(y / 3.0)
    blue = np.where((x - 18) ** 2 + (y - 14) ** 2 < 64, 230, 20)
    pixels = np.stack([red, green, blue], axis=2) + random.normal(0, 12, (HEIGHT, WIDTH, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def write_ppm(name, image):
    image.convert("RGB").save(FOLDER / f"{name}.ppm")


def stored(name, image, **options):
    """Writes a file, and beside it what Pillow reads from it."""
    image.save(FOLDER / name, **options)
    with Image.open(FOLDER / name) as read:
        write_ppm(name, read)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    rgb = picture()
    alpha = Image.fromarray(np.tile(np.linspace(0, 255, WIDTH).astype(np.uint8), (HEIGHT, 1)))
    rgba = rgb.copy()
    rgba.putalpha(alpha)

    stored("420.jpg", rgb, quality=85)
    stored("444.jpg", rgb, quality=95, subsampling=0)
    stored("progressive.jpg", rgb, quality=80, progressive=True)
    stored("grey.jpg", rgb.convert("L"), quality=85)
    stored("cmyk.jpg", rgb.convert("CMYK"), quality=95)
    stored("rgb.png", rgb)
    stored("rgba.png", rgba)
    stored("grey.png", rgb.convert("L"))
    stored("grey_alpha.png", rgba.convert("LA"))
    stored("palette.png", rgb.quantize(23))
    stored("one_bit.png", rgb.convert("1"))
    stored("lossless.webp", rgb, lossless=True)
    stored("lossy.webp", rgb, quality=80)
    stored("alpha.webp", rgba, lossless=True)

    # 16 bits: Pillow clips such files when it makes RGB of them, which nobody wants. The high byte is the answer.
    deep = np.arange(WIDTH * HEIGHT, dtype=np.uint16).reshape(HEIGHT, WIDTH) * 61
    Image.fromarray(deep).save(FOLDER / "deep.png")
    write_ppm("deep.png", Image.fromarray((deep >> 8).astype(np.uint8)))

    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION_TAG] = orientation
        name = f"orientation_{orientation}.jpg"
        rgb.save(FOLDER / name, quality=90, exif=exif)
        with Image.open(FOLDER / name) as read:
            write_ppm(name, ImageOps.exif_transpose(read))
    for name in ("orientation_6.png", "orientation_6.webp"):
        exif = Image.Exif()
        exif[ORIENTATION_TAG] = 6
        rgb.save(FOLDER / name, exif=exif, lossless=True)
        with Image.open(FOLDER / name) as read:
            write_ppm(name, ImageOps.exif_transpose(read))

    for width, height in SIZES:
        write_ppm(f"resized_{width}x{height}", rgb.resize((width, height), Image.BILINEAR))


if __name__ == "__main__":
    main()
