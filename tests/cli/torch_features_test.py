"""A folder of photos, and the features that PyTorch computes of them, in every layout: diml evaluate gives the same numbers.

torch_features_test.py DIML
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}: apt-get install python3-torch")
    sys.exit(77)

SIDE = 64
MEAN = np.array([123.7, 116.3, 103.5])
STD = np.array([58.4, 57.1, 57.4])
CLASSES, OF_EACH = 6, 7


class Backbone(torch.nn.Module):
    """Maps of 24 channels and 4 x 4 cells, not trained."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 4, stride=4)
        self.second = torch.nn.Conv2d(16, 24, 4, stride=4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def write_bmp(path, pixels):
    """24 bits per pixel, without compression: what is written is what is read."""
    rows = pixels[::-1, :, ::-1].tobytes()
    size = len(rows)
    path.write_bytes(struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + size, 0, 0, 54, 40, pixels.shape[1], pixels.shape[0],
                                 1, 24, 0, size, 2835, 2835, 0, 0) + rows)


def photos(folder, rng):
    """A folder per class; the photos of a class share a pattern, which is shifted. Returns pixels and labels in the order of names."""
    pixels, labels = [], []
    for kind in range(CLASSES):
        label = f"kind {kind}"
        (folder / label).mkdir(parents=True)
        pattern = np.kron(rng.uniform(60, 190, (8, 8, 3)), np.ones((8, 8, 1)))
        for k in range(OF_EACH):
            shifted = np.roll(pattern, rng.integers(0, 24, 2), (0, 1)) + rng.normal(0, 30, (SIDE, SIDE, 3))
            photo = shifted.clip(0, 255).astype(np.uint8)
            write_bmp(folder / label / f"{k}.bmp", photo)
            pixels.append(photo)
            labels.append(label)
    return np.stack(pixels), np.array(labels)


def main(diml):
    torch.manual_seed(3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def results(*arguments):
            done = subprocess.run([diml, "evaluate", *arguments, "--rerank", "0,10,all", "--json", "-"], cwd=folder,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)["results"]

        pixels, labels = photos(folder / "photos", np.random.default_rng(5))
        backbone = Backbone().eval()
        torch.jit.script(backbone).save(str(folder / "backbone.pt"))
        numbers = [",".join(str(value) for value in values) for values in (MEAN, STD)]
        expected = results("--model", "backbone.pt", "--dataset", "folder", "--root", "photos", "--grid", "4",
                           "--resize", str(SIDE), "--crop", str(SIDE), "--mean", numbers[0], "--std", numbers[1])

        # What a user of PyTorch exports.
        with torch.no_grad():
            inputs = torch.from_numpy((pixels - MEAN) / STD).float().permute(0, 3, 1, 2).contiguous()
            maps = backbone(inputs).numpy()
        count, dimensions, rows, cols = maps.shape
        assert dimensions not in (rows, cols)
        channels_last = np.ascontiguousarray(maps.transpose(0, 2, 3, 1))
        layouts = {"nchw": maps, "nhwc": channels_last, "nrd": channels_last.reshape(count, rows * cols, dimensions)}
        np.save(folder / "vectors.npy", maps.mean((2, 3)))
        np.save(folder / "labels.npy", labels)
        for layout, cells in layouts.items():
            np.save(folder / f"{layout}.npy", cells)
            files = ("--cells", f"{layout}.npy", "--globals", "vectors.npy", "--labels", "labels.npy")
            for more in ((), ("--layout", layout)):
                found = results(*files, *more)
                assert found == expected, f"{layout} {more}: {found} is not {expected}"

        ranked = [row["p_at_1"] for row in expected]
        assert len(set(ranked)) > 1 and max(ranked) < 100, f"{ranked}: the test sees too little"


main(sys.argv[1])
