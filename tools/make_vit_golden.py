"""Makes tests/models/golden/vit_*.json: activations of small vision transformers, by torch in float64.

    /usr/bin/python3 tools/make_vit_golden.py [--only NAME]

Needs Debian's python3-torch. The files are committed; run it again only to add cases. The forward pass is written here from the
papers' formulas, with torch's own operations (softmax, layer_norm, gelu, bicubic interpolation with antialias, as timm has it).

Numbers and taps are those of make_network_golden.py. Beside its kernels and biases:

    *.weight of linear layers       (2 u - 1) * sqrt(3 / inputs)
    norm*.weight, *.gamma           0.5 + u
    cls_token, reg_token, pos_embed, attn_pool.latent   u - 0.5
    input, [2, 3, height, width]    2 u - 1, the name hashed is "input"

Tokens are taps of shape [N, C, 1, places], the class token and registers first.
"""
import argparse
import json
import math

import numpy as np
import torch
import torch.nn.functional as functional

from make_network_golden import FOLDER, tap_entry, uniform

IMAGES = 2
DEFAULTS = {"heads": 3, "patch": 8, "pixels": 48, "depth": 2, "width": 48, "hidden": None, "registers": 0, "class_token": True,
            "positions_of_all": True, "pre_norm": False, "layer_scale": False, "swiglu": False, "activation": "gelu",
            "pool": "token", "epsilon": 1e-6}
# The sizes of photos: that of the position embedding, and one that is wider and lower.
SIZES = ((48, 48), (32, 80))
VARIANTS = {
    "plain": {"depth": 3, "width": 128, "heads": 2},
    "mean": {"pool": "mean"},
    "deit3": {"positions_of_all": False, "layer_scale": True},
    "dinov2": {"layer_scale": True},
    "registers": {"layer_scale": True, "registers": 4, "positions_of_all": False, "swiglu": True, "hidden": 40},
    "placed_registers": {"registers": 2},
    "clip": {"pre_norm": True, "activation": "quick_gelu", "epsilon": 1e-5},
    "siglip": {"class_token": False, "pool": "attention", "activation": "gelu_tanh", "hidden": 100},
}
ACTIVATIONS = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


def generated(name, shape):
    u = uniform(name, shape)
    if name in ("cls_token", "reg_token", "pos_embed", "attn_pool.latent"):
        values = u - 0.5
    elif len(shape) == 4:
        values = (2 * u - 1) * math.sqrt(6 / math.prod(shape[1:]))
    elif len(shape) == 2:
        values = (2 * u - 1) * math.sqrt(6 / shape[1]) / math.sqrt(2)
    elif name.endswith(".bias"):
        values = 0.2 * (u - 0.5)
    else:
        values = 0.5 + u
    return torch.from_numpy(values.astype(np.float32).astype(np.float64))


class Transformer:
    def __init__(self, variant):
        for name, value in {**DEFAULTS, **variant}.items():
            setattr(self, name, value)
        self.hidden = self.hidden or 4 * self.width
        self.side = self.pixels // self.patch

    def linear(self, x, name, outputs):
        return functional.linear(x, generated(name + ".weight", (outputs, x.shape[-1])), generated(name + ".bias", (outputs,)))

    def norm(self, x, name):
        width = (self.width,)
        return functional.layer_norm(x, width, generated(name + ".weight", width), generated(name + ".bias", width), self.epsilon)

    def positions(self, rows, columns):
        prefix = (1 if self.class_token else 0) + self.registers
        own = prefix if self.positions_of_all else 0
        table = generated("pos_embed", (1, own + self.side * self.side, self.width))
        before, places = table[:, :own], table[:, own:]
        places = places.reshape(1, self.side, self.side, self.width).permute(0, 3, 1, 2)
        if (rows, columns) != (self.side, self.side):
            places = functional.interpolate(places, size=(rows, columns), mode="bicubic", antialias=True, align_corners=False)
        return before, places.permute(0, 2, 3, 1).reshape(1, rows * columns, self.width)

    def tokens(self, images):
        bias = None if self.pre_norm else generated("patch_embed.proj.bias", (self.width,))
        kernel = generated("patch_embed.proj.weight", (self.width, 3, self.patch, self.patch))
        x = functional.conv2d(images, kernel, bias, stride=self.patch)
        before, places = self.positions(x.shape[2], x.shape[3])
        x = x.flatten(2).transpose(1, 2) + places
        prefix = []
        if self.class_token:
            prefix.append(generated("cls_token", (1, 1, self.width)))
        if self.registers:
            prefix.append(generated("reg_token", (1, self.registers, self.width)))
        if prefix:
            prefix = torch.cat(prefix, 1)
            if self.positions_of_all:
                prefix = prefix + before
            x = torch.cat([prefix.expand(len(images), -1, -1), x], 1)
        return self.norm(x, "norm_pre") if self.pre_norm else x

    def heads_of(self, x):
        return x.reshape(*x.shape[:2], self.heads, self.width // self.heads).transpose(1, 2)

    def attend(self, queries, keys, values):
        queries, keys, values = (self.heads_of(x) for x in (queries, keys, values))
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.width // self.heads)
        return (torch.softmax(scores, -1) @ values).transpose(1, 2).flatten(2)

    def mlp(self, x, name, swiglu):
        if swiglu:
            left, right = self.linear(x, name + ".fc1", 2 * self.hidden).chunk(2, -1)
            x = functional.silu(left) * right
        else:
            x = ACTIVATIONS[self.activation](self.linear(x, name + ".fc1", self.hidden))
        return self.linear(x, name + ".fc2", self.width)

    def scaled(self, x, name):
        return x * generated(name + ".gamma", (self.width,)) if self.layer_scale else x

    def forward(self, images):
        """Yields (tap, activations [N, C, 1, places])."""
        def tap(name, values):
            return name, values.transpose(1, 2).unsqueeze(2).numpy()

        x = self.tokens(images)
        yield tap("stem", x)
        for block in range(self.depth):
            name = f"blocks.{block}"
            parts = self.linear(self.norm(x, name + ".norm1"), name + ".attn.qkv", 3 * self.width).chunk(3, -1)
            x = x + self.scaled(self.linear(self.attend(*parts), name + ".attn.proj", self.width), name + ".ls1")
            x = x + self.scaled(self.mlp(self.norm(x, name + ".norm2"), name + ".mlp", self.swiglu), name + ".ls2")
            yield tap(name, x)
        x = self.norm(x, "norm")
        yield tap("norm", x)
        if self.pool == "token":
            yield tap("global", x[:, :1])
        if self.pool == "attention":
            latent = generated("attn_pool.latent", (1, 1, self.width)).expand(len(images), -1, -1)
            keys, values = self.linear(x, "attn_pool.kv", 2 * self.width).chunk(2, -1)
            pooled = self.linear(self.attend(self.linear(latent, "attn_pool.q", self.width), keys, values), "attn_pool.proj", self.width)
            yield tap("global", pooled + self.mlp(self.norm(pooled, "attn_pool.norm"), "attn_pool.mlp", False))


def description(variant):
    words = []
    for name, value in {**{k: DEFAULTS[k] for k in ("width", "depth", "heads", "patch", "pixels")}, **variant}.items():
        words.append(f"{name}={'yes' if value is True else 'no' if value is False else value}")
    return "vit:" + ",".join(words)


def main():
    parser = argparse.ArgumentParser(description="Makes tests/models/golden/vit_*.json.")
    parser.add_argument("--only", help="make only files whose name has this in it")
    options = parser.parse_args()
    for name, variant in VARIANTS.items():
        if options.only and options.only not in name:
            continue
        cases = []
        for height, width in SIZES:
            images = torch.from_numpy((2 * uniform("input", (IMAGES, 3, height, width)) - 1).astype(np.float32).astype(np.float64))
            taps = [tap_entry(*entry) for entry in Transformer(variant).forward(images)]
            lines = ",\n".join(json.dumps(tap, separators=(",", ":")) for tap in taps)
            cases.append(f'{{"height": {height}, "width": {width}, "taps": [\n{lines}\n]}}')
            print(f"{name} {height}x{width}: {len(taps)} taps, rms {min(t['rms'] for t in taps):.3g} to {max(t['rms'] for t in taps):.3g}")
        text = f'{{"architecture": "{description(variant)}", "cases": [\n' + ",\n".join(cases) + "\n]}\n"
        json.loads(text)
        (FOLDER / f"vit_{name}.json").write_text(text)


if __name__ == "__main__":
    main()
