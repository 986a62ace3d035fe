"""Makes tests/models/golden/script_*.pt: small TorchScript programs, and the output of the first one.

/usr/bin/python3 tools/make_torchscript_golden.py   (python3-torch)
"""

import io
import json
import pathlib
import zipfile

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"


class Map(torch.nn.Module):
    """A map of 5 channels at a sixteenth of the size, from two convolutions with dropout between."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 4, stride=4)
        self.norm = torch.nn.BatchNorm2d(4)
        self.second = torch.nn.Conv2d(4, 5, 4, stride=4)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.second(self.dropout(torch.relu(self.norm(self.first(x)))))


class Vector(torch.nn.Module):
    """Already pooled: not a map."""

    def forward(self, x):
        return x.mean((2, 3))


class Pair(torch.nn.Module):
    """Two outputs."""

    def forward(self, x):
        return x, x


class Four(torch.nn.Module):
    """Expects four channels."""

    def forward(self, x):
        return x * torch.ones(1, 4, 1, 1) if x.size(1) == 4 else x.view(1, 7)


def save(module, name):
    """Without debug information, which contains the path of the source file."""
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    with zipfile.ZipFile(buffer) as whole, zipfile.ZipFile(FOLDER / f"script_{name}.pt", "w") as kept:
        for entry in whole.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                kept.writestr(zipfile.ZipInfo(entry.filename), whole.read(entry))


def main():
    torch.manual_seed(1)
    network = Map()
    network.norm.running_mean.uniform_(-0.2, 0.2)
    network.norm.running_var.uniform_(0.5, 1.5)
    save(network, "map")  # in training mode
    for name, module in (("vector", Vector()), ("pair", Pair()), ("four", Four())):
        save(module, name)
    network.eval()
    # 48 x 32 pixels: [1, 3, 48, 32], value (index % 97) / 97.
    pixels = (numpy.arange(3 * 48 * 32) % 97 / 97).astype(numpy.float32).reshape(1, 3, 48, 32)
    answer = network(torch.from_numpy(pixels)).detach().numpy()
    text = json.dumps({"shape": answer.shape, "values": [round(float(v), 8) for v in answer.ravel()]})
    (FOLDER / "script_map_answer.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
