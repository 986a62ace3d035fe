"""Trains a small network on the built-in pictures with a loss that compares images part by part.

    python3 07_train_on_critters.py [blended|global]

The loss sees diml.pml.StructuralDistance alone: with pytorch-metric-learning installed,
pytorch_metric_learning.losses.MultiSimilarityLoss(distance=...) takes its place.
"""

import sys

import numpy as np
import torch
from torch import nn

import diml
import diml.pml

GRID = (4, 4)


class SmallNetwork(nn.Module):
    """Pictures [N, 3, H, W] to embeddings as diml.pml.pack() makes them: 4 x 4 cells and their mean."""

    def __init__(self, dim=32):
        super().__init__()
        layers = []
        for before, after, stride in ((3, 24, 2), (24, 48, 2), (48, 64, 2)):
            layers += [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(GRID), nn.Conv2d(64, dim, 1))

    def forward(self, pictures):
        cells = self.layers(pictures).flatten(2).transpose(1, 2)
        return diml.pml.pack(cells, cells.mean(1))


def multi_similarity(similarities, labels, alpha=2.0, beta=50.0, base=0.5):
    """The multi-similarity loss (Wang et al., 2019), without its miner, of similarities [N, N]."""
    same = labels[:, None] == labels[None, :]
    near = same & ~torch.eye(len(labels), dtype=torch.bool)

    def one_plus(values, mask):
        values = values.masked_fill(~mask, float("-inf"))
        return torch.logsumexp(torch.cat([torch.zeros(len(labels), 1), values], 1), 1)

    return (one_plus(-alpha * (similarities - base), near) / alpha
            + one_plus(beta * (similarities - base), ~same) / beta).mean()


def pictures_as_tensors(classes, images_per_class, size, seed=0):
    pictures, labels = diml.critters(classes, images_per_class, size, seed)
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1.0, torch.from_numpy(labels)


def train(measure, pictures, labels, epochs=3, seed=0, classes=6, images=4, rate=3e-3):
    """A network after some epochs; a batch has `images` pictures of each of `classes` classes."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = SmallNetwork()
    distance = diml.pml.StructuralDistance(GRID, measure=measure)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    of_class = [np.flatnonzero(labels.numpy() == label) for label in np.unique(labels)]
    for _ in range(epochs * len(labels) // (classes * images)):
        chosen = random.choice(len(of_class), classes, replace=False)
        batch = np.concatenate([random.choice(of_class[c], images, replace=False) for c in chosen])
        embeddings = network(pictures[batch])
        loss = multi_similarity(distance(embeddings), labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network.eval()


def evaluate(network, pictures, labels, rerank=(0, 100)):
    with torch.no_grad():
        cells, vectors = diml.pml.unpack(network(pictures), GRID)
    return diml.evaluate(cells, vectors, labels, rerank=rerank)


def main(measures=("global", "blended"), classes=60, images_per_class=40, size=48, epochs=3, seed=0):
    """{measure: MAP@R without and with re-ranking}, of classes that were not trained on."""
    pictures, labels = pictures_as_tensors(classes, images_per_class, size)
    seen = labels < classes // 2
    found = {}
    for measure in measures:
        network = train(measure, pictures[seen], labels[seen], epochs, seed)
        found[measure] = evaluate(network, pictures[~seen], labels[~seen])["map_at_r"]
        print(f"{measure:10s} MAP@R {found[measure][0]:.2f}, re-ranked {found[measure][1]:.2f}")
    return found


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or ("global", "blended"))
