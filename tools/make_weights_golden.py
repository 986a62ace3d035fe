"""Makes tests/weights/golden: small weight files as torch and others write them, and the arrays in them as text.

    /usr/bin/python3 tools/make_weights_golden.py

Needs Debian's python3-torch and python3-numpy. The files are committed; run it again only to add cases. NAME.txt lists what a
reader must find in NAME: a line per tensor with name, type, shape ("-" for a scalar) and values as exact hexadecimal floats.
"""
import json
import os
import pathlib
import shutil
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "weights" / "golden"
SAFETENSORS_TYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int64": "I64",
                     "int32": "I32", "uint8": "U8"}
SHARDS = 11


def type_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def write_expected(name, tensors):
    lines = []
    for key, tensor in sorted(tensors.items()):
        shape = ",".join(str(extent) for extent in tensor.shape) or "-"
        values = " ".join(float(value).hex() for value in tensor.detach().double().reshape(-1))
        lines.append(f"{key} {type_name(tensor)} {shape} {values}".rstrip() + "\n")
    (FOLDER / f"{name}.txt").write_text("".join(lines))


def saved(name, value, expected):
    """A file written by torch.save, and its contents; torch reads the file back first, so that the expected values are torch's."""
    torch.save(value, FOLDER / name)
    torch.load(FOLDER / name)
    write_expected(name, expected)


def typed_tensors():
    values = torch.tensor([[0.0, -1.5, 3.14159], [65504.0, 6e-8, -0.1]])
    return {
        "float32": values,
        "float16": values.half(),
        "bfloat16": values.bfloat16(),
        "float64": values.double() / 3,
        "int64": torch.tensor([-(2**40), 0, 2**40 + 1]),
        "int32": torch.tensor([-(2**31), 7], dtype=torch.int32),
        "uint8": torch.tensor([0, 128, 255], dtype=torch.uint8),
        "scalar": torch.tensor(12, dtype=torch.int64),
        "empty": torch.zeros(0, 3),
    }


def raw_bytes(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def safetensors_bytes(tensors, metadata):
    """Written by the format's specification; data in the order of the dictionary, which is not the order that diml writes."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        raw = raw_bytes(tensor)
        header[name] = {"dtype": SAFETENSORS_TYPES[type_name(tensor)], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


class Malicious:
    def __reduce__(self):
        return os.system, ("echo this must never be run",)


def zip64_bytes(files):
    """Every size and offset in its zip64 field, as for archives above 4 GB."""
    body, directory = b"", b""
    for name, data in files:
        name = name.encode()
        offset = len(body)
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(data))
        body += struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0, 0, 0xffffffff, 0xffffffff, len(name), len(extra))
        body += name + extra + data
        extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), offset)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0, 0, 0xffffffff, 0xffffffff,
                                 len(name), len(extra), 0, 0, 0, 0, 0xffffffff) + name + extra
    end64 = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, len(files), len(files), len(directory), len(body))
    locator = struct.pack("<IIQI", 0x07064b50, 0, len(body) + len(directory), 1)
    end = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
    return body + directory + end64 + locator + end


def repack(source, target, compression=zipfile.ZIP_STORED, **more):
    with zipfile.ZipFile(FOLDER / source) as old, zipfile.ZipFile(FOLDER / target, "w", compression) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name), compression)
        prefix = old.namelist()[0].split("/")[0]
        for name, data in more.items():
            new.writestr(zipfile.ZipInfo(f"{prefix}/{name}"), data)


def make_pth():
    model = torch.nn.Sequential(OrderedDict(conv=torch.nn.Conv2d(2, 3, 3), norm=torch.nn.BatchNorm2d(3)))
    state = model.state_dict()
    before = {key: value.clone() for key, value in state.items()}
    saved("plain.pth", state, before)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.randn(1, 2, 5, 5)).sum().backward()
    optimiser.step()
    moments = {f"optimizer.state.{key}.momentum_buffer": value["momentum_buffer"]
               for key, value in optimiser.state_dict()["state"].items()}
    saved("nested.pth",
          {"state_dict": state, "epoch": 3, "best": 0.75, "big": 2**80, "done": False, "note": None,
           "args": {"name": "d\u00edml", "sizes": [1, 2, (3, -4)], "shape": torch.Size([2, 3])},
           "list": [state["conv.bias"].clone()], "optimizer": optimiser.state_dict()},
          {**{f"state_dict.{key}": value for key, value in state.items()}, "list.0": state["conv.bias"], **moments})
    saved("types.pth", typed_tensors(), typed_tensors())

    base = torch.arange(24.0).reshape(2, 3, 4)
    strided = {"transposed": base.permute(2, 0, 1), "step": base[:, ::2, 1:3], "row": base[1, 2], "column": base[:, 1, 3],
               "last": base[1, 2, 3]}
    saved("strided.pth", strided, strided)
    shared = {"encoder": base[0], "whole": base, "tied": base}
    saved("shared.pth", shared, shared)
    parameters = {"weight": torch.nn.Parameter(base[0].clone()), "bias": torch.nn.Parameter(torch.ones(2).half())}
    saved("parameter.pth", parameters, parameters)
    torch.save({"a": base[0, 0].clone()}, FOLDER / "protocol4.pth", pickle_protocol=4)
    write_expected("protocol4.pth", {"a": base[0, 0]})

    with zipfile.ZipFile(FOLDER / "plain.pth") as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    (FOLDER / "zip64.pth").write_bytes(zip64_bytes(files))
    write_expected("zip64.pth", before)

    # Files that must be refused.
    small = {"a": base[0, 0].clone()}
    torch.save({**small, "b": Malicious()}, FOLDER / "malicious.pth")
    torch.save({**small, "b": torch.tensor([True])}, FOLDER / "boolean.pth")
    torch.save({**small, "b": torch.zeros(1).expand(1000)}, FOLDER / "expanded.pth")
    torch.save(small, FOLDER / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(base[0, 0], FOLDER / "nameless.pth")
    torch.save({"epoch": 3}, FOLDER / "tensorless.pth")
    torch.save(small, FOLDER / "little.pth")
    repack("little.pth", "big_endian.pth", byteorder=b"big")
    repack("little.pth", "compressed.pth", zipfile.ZIP_DEFLATED)
    repack("little.pth", "little.pth.new", byteorder=b"little")
    (FOLDER / "little.pth.new").rename(FOLDER / "little.pth")
    write_expected("little.pth", small)
    torch.jit.script(torch.nn.ReLU()).save(str(FOLDER / "script.pt"))


def make_safetensors():
    tensors = typed_tensors()
    (FOLDER / "types.safetensors").write_bytes(safetensors_bytes(tensors, {"made by": "hand", "note": "d\u00edml"}))
    write_expected("types.safetensors", tensors)


def make_tfjs():
    folder = FOLDER / "tfjs"
    folder.mkdir()
    tensors = OrderedDict([("conv/kernel", torch.randn(3, 3, 2, 1)), ("conv/bias", torch.tensor([0.5])),
                           ("steps", torch.tensor([7, -7], dtype=torch.int32)),
                           ("table", torch.tensor([[1, 2], [3, 255]], dtype=torch.uint8)), ("scale", torch.tensor(2.5))])
    data = b"".join(raw_bytes(tensor) for tensor in tensors.values())
    step = -(-len(data) // SHARDS)
    names = [f"group1-shard{k + 1}of{SHARDS}.bin" for k in range(SHARDS)]
    for k, name in enumerate(names):
        (folder / name).write_bytes(data[k * step:(k + 1) * step])
    weights = [{"name": name, "shape": list(tensor.shape), "dtype": type_name(tensor)} for name, tensor in tensors.items()]
    model = {"format": "layers-model", "modelTopology": {"class_name": "Model", "config": {"layers": []}},
             # Sorted by name, as some tools do: 10 before 2.
             "weightsManifest": [{"paths": sorted(names), "weights": weights}]}
    (folder / "model.json").write_text(json.dumps(model, indent=1) + "\n")
    write_expected("tfjs", tensors)


def main():
    torch.manual_seed(7)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    make_pth()
    make_safetensors()
    make_tfjs()


if __name__ == "__main__":
    main()
