"""Makes tests/images/golden with Pillow: small images in every format, and the pixels that Pillow reads and resizes, as PPM.

    /usr/bin/python3 tools/make_image_golden.py

Needs Debian's python3-pil, python3-numpy and, for HEIC and AVIF, libheif-examples. The files are committed; run it again only to add cases.
"""
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageOps

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "images" / "golden"
WIDTH, HEIGHT = 37, 29
SIZES = [(37, 29), (16, 16), (64, 50), (5, 29), (37, 7), (1, 1), (36, 30), (224, 3)]
ORIENTATION_TAG = 0x0112


def picture():
    """Smooth colours, an edge and some noise: content where errors of resampling and chroma subsampling show."""
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
    """Writes a file, and beside it the pixels that Pillow reads from it."""
    image.save(FOLDER / name, **options)
    with Image.open(FOLDER / name) as read:
        write_ppm(name, read)


def make_bmp(rgb):
    stored("rgb.bmp", rgb)
    stored("grey.bmp", rgb.convert("L"))
    stored("palette.bmp", rgb.quantize(23))
    stored("one_bit.bmp", rgb.convert("1"))
    # What Pillow reads but does not write.
    pixels = np.asarray(rgb).astype(np.uint32)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    padding = np.zeros((HEIGHT, -WIDTH % 2), np.uint16)
    fifteen = (red >> 3 << 10 | green >> 3 << 5 | blue >> 3).astype("<u2")
    write_bmp("bits_15.bmp", 16, 0, b"", np.hstack([fifteen, padding])[::-1].astype("<u2").tobytes())
    sixteen = (red >> 3 << 11 | green >> 2 << 5 | blue >> 3).astype("<u2")
    masks = struct.pack("<3I", 0xf800, 0x07e0, 0x001f)
    write_bmp("bits_565.bmp", 16, 3, masks, np.hstack([sixteen, padding])[::-1].astype("<u2").tobytes())
    full = (red << 16 | green << 8 | blue).astype("<u4")
    write_bmp("from_top.bmp", 32, 0, b"", full.tobytes(), from_top=True)
    # Runs: as a picture of few colours, each with runs, single pixels and one move.
    colours = rgb.quantize(13)
    indices = np.asarray(colours)
    palette = np.zeros((256, 4), np.uint8)
    palette[:13, 2::-1] = np.array(colours.getpalette()[:39], np.uint8).reshape(13, 3)
    write_bmp("runs.bmp", 8, 1, palette.tobytes(), run_lengths(indices), colours=256)
    write_bmp("runs_4.bmp", 4, 2, palette[:16].tobytes(), run_lengths(indices, four_bits=True), colours=16,
              expected=colours)


def write_bmp(name, bits, compression, extra, pixels, from_top=False, colours=0, expected=None):
    header = struct.pack("<IiiHHIIiiII", 40, WIDTH, -HEIGHT if from_top else HEIGHT, 1, bits, compression, len(pixels),
                         2835, 2835, colours, 0)
    start = 14 + len(header) + len(extra)
    (FOLDER / name).write_bytes(b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + extra + pixels)
    if expected is None:
        expected = Image.open(FOLDER / name)
    write_ppm(name, expected)


def run_lengths(indices, four_bits=False):
    """A run where three or more pixels are equal; else a count of single ones, padded to pairs of bytes."""
    data = b""
    for row in indices[::-1]:
        x = 0
        while x < len(row):
            length = 1
            while x + length < len(row) and row[x + length] == row[x]:
                length += 1
            if length >= 3:
                data += bytes([length, row[x] * 17 if four_bits else row[x]])
                x += length
                continue
            single = [int(value) for value in row[x:x + 7]]
            if len(single) < 3:
                data += bytes([1, single[0] * 17 if four_bits else single[0]])
                x += 1
                continue
            x += len(single)
            data += bytes([0, len(single)])
            if four_bits:
                single += [0] * (len(single) % 2)
                single = [a << 4 | b for a, b in zip(single[::2], single[1::2])]
            data += bytes(single) + b"\0" * (len(single) % 2)
        data += b"\0\0"
    return data + b"\0\1"


def make_gif(rgb):
    stored("palette.gif", rgb.quantize(200))
    stored("interlaced.gif", rgb.quantize(23), interlace=1)
    stored("straight.gif", rgb.quantize(7), interlace=0)
    stored("grey.gif", rgb.convert("L"))
    transparent = rgb.quantize(31)
    transparent.info["transparency"] = 3
    stored("transparent.gif", transparent, transparency=3)
    turned = rgb.transpose(Image.ROTATE_180).quantize(11)
    stored("animated.gif", rgb.quantize(40), save_all=True, append_images=[turned], duration=100)
    # A frame that is smaller than the screen: the same file with a larger one.
    small = bytearray((FOLDER / "straight.gif").read_bytes())
    small[6:10] = struct.pack("<HH", WIDTH + 9, HEIGHT + 4)
    at = small.index(b"," + struct.pack("<4H", 0, 0, WIDTH, HEIGHT))
    small[at + 1:at + 5] = struct.pack("<HH", 6, 3)
    (FOLDER / "small_frame.gif").write_bytes(small)
    write_ppm("small_frame.gif", Image.open(FOLDER / "small_frame.gif"))


def make_tiff(rgb, rgba):
    stored("rgb.tif", rgb)
    stored("deflate.tif", rgb, compression="tiff_adobe_deflate")
    stored("lzw.tif", rgb, compression="tiff_lzw")
    stored("packbits.tif", rgb, compression="packbits")
    stored("jpeg.tif", rgb, compression="jpeg", quality=95)
    stored("rgba.tif", rgba)
    stored("grey.tif", rgb.convert("L"))
    stored("palette.tif", rgb.quantize(23))
    stored("one_bit.tif", rgb.convert("1"), compression="group4")
    stored("cmyk.tif", rgb.convert("CMYK"))
    stored("pages.tif", rgb, save_all=True, append_images=[rgb.transpose(Image.ROTATE_180)])
    deep = np.arange(WIDTH * HEIGHT, dtype=np.uint16).reshape(HEIGHT, WIDTH) * 61
    Image.fromarray(deep).save(FOLDER / "deep.tif")
    write_ppm("deep.tif", Image.fromarray((deep >> 8).astype(np.uint8)))
    # Pillow turns such files as it opens them; here they are made of the picture itself.
    for orientation, method in {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 6: Image.ROTATE_270,
                                7: Image.TRANSVERSE}.items():
        name = f"orientation_{orientation}.tif"
        rgb.save(FOLDER / name, tiffinfo={ORIENTATION_TAG: orientation})
        write_ppm(name, rgb.transpose(method))


def make_heif(rgb):
    """Without loss the pixels are the picture's own: no other decoder is needed to know them."""
    with tempfile.TemporaryDirectory() as folder:
        png = pathlib.Path(folder) / "rgb.png"
        rgb.save(png)
        exact = ["-L", "-p", "chroma=444", "--matrix_coefficients=0", "--full_range_flag=1"]
        for name, options in {"lossless.heic": exact, "lossless.avif": ["-A", *exact], "lossy.heic": ["-q", "90"],
                              "lossy.avif": ["-A", "-q", "90"]}.items():
            subprocess.run(["heif-enc", *options, str(png), "-o", str(FOLDER / name)], check=True, stdout=subprocess.DEVNULL)
            write_ppm(name, rgb)
    turn_heic(FOLDER / "lossless.heic", FOLDER / "turned.heic")
    write_ppm("turned.heic", rgb.transpose(Image.ROTATE_270))


def turn_heic(source, target):
    """Adds the property that turns the primary picture by 270 degrees against the clock, to a file as heif-enc writes it."""
    data = bytearray(source.read_bytes())

    def grow(at, more):
        data[at:at + 4] = struct.pack(">I", struct.unpack(">I", data[at:at + 4])[0] + more)

    def box(kind):
        return data.index(kind) - 4

    turn = struct.pack(">I4sB", 9, b"irot", 3)
    association = box(b"ipma") + struct.unpack(">I", data[box(b"ipma"):box(b"ipma") + 4])[0]  # the primary's is the last
    assert data[association - 5:association] == bytes([0, 2, 2, 3, 0x84]), "another layout: write the box by hand"
    data[association - 3] = 3
    data[association:association] = b"\x85"
    data[box(b"ipma"):box(b"ipma")] = turn
    for kind, more in {b"ipma": 1, b"ipco": 9, b"iprp": 10, b"meta": 10}.items():
        grow(box(kind), more)
    grow(box(b"iloc") + 22, 10)  # where the pixels of the first item begin
    target.write_bytes(data)


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

    # 16 bits: Pillow clips such files when it converts them to RGB, which is not useful. The expected value is the high byte.
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

    make_bmp(rgb)
    make_gif(rgb)
    make_tiff(rgb, rgba)
    make_heif(rgb)

    for width, height in SIZES:
        write_ppm(f"resized_{width}x{height}", rgb.resize((width, height), Image.BILINEAR))
        write_ppm(f"bicubic_{width}x{height}", rgb.resize((width, height), Image.BICUBIC))


if __name__ == "__main__":
    main()
