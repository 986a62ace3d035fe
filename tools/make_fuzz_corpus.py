"""Makes the seeds of fuzzing in tests/fuzz/corpus, except those that are golden files of other tests.

    /usr/bin/python3 tools/make_fuzz_corpus.py

Needs Debian's python3-numpy. Files that fuzzing found are in the same folders under other names and are not changed.
"""
import io
import json
import pathlib
import pickle
import struct
import zipfile

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
CORPUS = TESTS / "fuzz" / "corpus"


def seed(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def make_npy():
    for name, array in {"float32": np.arange(6, dtype=np.float32).reshape(2, 3), "float16": np.ones(3, np.float16),
                        "int64": np.array(7), "empty": np.zeros((0, 2), np.float32), "double": np.ones(2),
                        "fortran": np.asfortranarray(np.ones((2, 3), np.float32))}.items():
        for version in [(1, 0), (2, 0)]:
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version)
            seed("npy", f"{name}_v{version[0]}.npy", file.getvalue())


def safetensors(header, data=b"\0" * 16):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def make_safetensors():
    def entry(begin, end, shape=(2,), dtype="F32"):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    for name, header in {
            "two": {"a": entry(0, 8), "b": entry(8, 16)},
            "overlap": {"a": entry(0, 8), "b": entry(4, 12)},
            "gap": {"a": entry(0, 8)},
            "huge": {"a": entry(0, 16, [2**32, 2**32])},
            "other_type": {"a": entry(0, 16, [16], "F8_E4M3")},
            "metadata": {"__metadata__": {"format": "pt"}, "a": entry(0, 16, [1, 4, 1]), "b": entry(16, 16, [0])},
            "twice": b'{"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},"a":{}}',
            "deep": b"[" * 100 + b"]" * 100,
    }.items():
        seed("safetensors", name, safetensors(header))


def pth(program, storages=(b"\0" * 16,)):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in [("data.pkl", program), *((f"data/{k}", data) for k, data in enumerate(storages))]:
            archive.writestr(zipfile.ZipInfo(f"a/{name}"), data)
    return file.getvalue()


def tensor(shape, strides, offset=0, count=4):
    """The opcodes of a float32 tensor on storage 0."""
    def numbers(values):
        return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value
    storage = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + b"J"
    storage += struct.pack("<i", count) + b"tQ"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"J" + struct.pack("<i", offset) + numbers(shape) +
            numbers(strides) + b"\x89}tR")


def make_pth():
    def named(value):
        return b"\x80\x02}X\x01\0\0\0w" + value + b"s."

    doubling = b"\x80\x02}q\0" + b"".join(  # each dictionary holds the previous one twice
        b"}q" + bytes([k]) + b"(X\1\0\0\0a" + b"h" + bytes([k - 1]) + b"X\1\0\0\0b" + b"h" + bytes([k - 1]) + b"u"
        for k in range(1, 60)) + b"."
    for name, program in {
            "tensor": named(tensor([2, 2], [2, 1])), "transposed": named(tensor([2, 2], [1, 2])),
            "beyond": named(tensor([2, 2], [2, 1], 1)), "repeated": named(tensor([2**30], [0])),
            "far": named(tensor([2, 2], [2**31 - 1, 2**31 - 1], 2**31 - 1)), "doubling": doubling,
            "circle": b"\x80\x02]q\0h\0a.", "reduce": b"\x80\x02cos\nsystem\nX\2\0\0\0ls\x85R.",
            "stack_global": b"\x80\x04\x8c\2os\x8c\6system\x93\x8c\2ls\x85R.",
            "scalars": pickle.dumps({"a": [1, 2.5, 2**70, None, True, "x"], "b": {1, 2}, "c": (1, (2,))}, 4),
    }.items():
        seed("pth", name, pth(program))


def make_tfjs():
    def joined(model, shards):
        return struct.pack("<H", len(model)) + model + shards

    folder = TESTS / "weights" / "golden" / "tfjs"
    count = len(list(folder.glob("*.bin")))
    shards = b"".join((folder / f"group1-shard{k}of{count}.bin").read_bytes() for k in range(1, count + 1))
    seed("tfjs", "golden", joined((folder / "model.json").read_bytes(), shards))
    for name, weight in {"small": {"name": "a", "shape": [2], "dtype": "float32"},
                         "quantised": {"name": "a", "shape": [8], "dtype": "float32", "quantization": {"dtype": "uint8"}},
                         "huge": {"name": "a", "shape": [2**40, 2**40], "dtype": "uint8"}}.items():
        model = {"weightsManifest": [{"paths": ["s"], "weights": [weight]}]}
        seed("tfjs", name, joined(json.dumps(model).encode(), b"\0" * 8))


def make_image():
    seed("image", "two_bytes", b"\xff\xd8")
    seed("image", "huge.png", b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", 2**31 - 1, 2**31 - 1, 8, 2, 0,
                                                               0, 0, 0))
    # Sizes that no memory holds, of every format that has its own reader here.
    seed("image", "huge.bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54, 0, 0, 54, 40, 2**31 - 1, -2**31, 1, 24, 0, 0, 0, 0, 0,
                                                  0))
    seed("image", "huge.gif", b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + b"," +
         struct.pack("<4HBB", 65535, 65535, 65535, 65535, 0, 8))
    entries = [(256, 4, 2**32 - 1), (257, 4, 2**32 - 1), (258, 3, 8), (262, 3, 1), (273, 4, 8), (277, 3, 65535), (279, 4, 8)]
    seed("image", "huge.tif", b"II*\0" + struct.pack("<IH", 8, len(entries)) +
         b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries) + b"\0\0\0\0")
    # A tile far larger than its picture.
    entries = [(256, 4, 3), (257, 4, 2), (258, 3, 8), (262, 3, 1), (322, 4, 2**20), (323, 4, 2**20), (324, 4, 8), (325, 4, 8)]
    seed("image", "huge_tile.tif", b"II*\0" + struct.pack("<IH", 8, len(entries)) +
         b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries) + b"\0\0\0\0")
    golden = TESTS / "images" / "golden"
    for name in ("runs_4.bmp", "interlaced.gif", "lzw.tif", "lossy.heic", "lossy.avif"):
        seed("image", name, (golden / name).read_bytes())


if __name__ == "__main__":
    make_image()
    make_npy()
    make_safetensors()
    make_pth()
    make_tfjs()
