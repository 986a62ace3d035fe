"""Features of a torchvision-like network: are they better matched part by part, and why do two pictures match?

    python3 05_features_of_a_network.py [FOLDER]         writes why.html

With torchvision, `network` is models.resnet50(weights="DEFAULT"), and `layer` its layer4.
"""

import os
import sys

import torch
from torch import nn

import diml


def small_resnet():
    """Stands for a network of torchvision: a map of features comes out of `layer4`."""
    torch.manual_seed(0)
    network = nn.Sequential()
    channels = (3, 16, 32, 64)
    for k, (before, after) in enumerate(zip(channels, channels[1:])):
        network.add_module(f"layer{k + 2}", nn.Sequential(nn.Conv2d(before, after, 5, 2, 2), nn.ReLU()))
    return network.eval()


def cells_of(network, layer, pictures, grid=4):
    """The map of a layer, pooled to grid x grid cells: [N, grid * grid, D]."""
    maps = []
    handle = layer.register_forward_hook(lambda module, inputs, output: maps.append(output))
    with torch.no_grad():
        network(pictures)
    handle.remove()
    return nn.functional.adaptive_avg_pool2d(maps[0], grid).flatten(2).transpose(1, 2).contiguous()


def main(folder="."):
    pictures, labels = diml.critters(classes=8, images_per_class=6, size=64)
    network = small_resnet()
    cells = cells_of(network, network.layer4, torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1.0)
    table = diml.evaluate(cells, None, labels, rerank=(0, 20))
    for depth, precision, mean in zip(table["rerank"], table["p_at_1"], table["map_at_r"]):
        print(f"re-ranked {depth:3d}: P@1 {precision:.1f}, MAP@R {mean:.1f}")

    scores, ids = diml.Retriever(cells).search(cells[:1], k=2)
    nearest = int(ids[0, 1])
    match = diml.match(cells[0], cells[nearest])
    match.explain(os.path.join(folder, "why.html"), images=(pictures[0], pictures[nearest]))
    print(f"picture 0 and picture {nearest}: {match.score:.3f}; the plan adds up to {match.plan.sum():.3f}")
    return table, match


if __name__ == "__main__":
    main(*sys.argv[1:])
