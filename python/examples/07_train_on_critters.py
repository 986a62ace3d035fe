"""Trains a small network on the built-in pictures, with a loss of pytorch-metric-learning that compares images part by part, or
by the cosine of their global vectors as usual ("global").

    python3 07_train_on_critters.py [blended|global]

Without pytorch-metric-learning (it is not packaged in Debian) a loss with the same interface and the same values stands for it.
"""

import sys

import numpy as np
import torch
from torch import nn

import diml
import diml.pml

try:
    from pytorch_metric_learning.losses import MultiSimilarityLoss
except ImportError:
    class MultiSimilarityLoss(nn.Module):
        """As that loss: of a distance it uses the matrix and margin()."""

        def __init__(self, alpha=2.0, beta=50.0, base=0.5, distance=None):
            super().__init__()
            self.alpha, self.beta, self.base, self.distance = alpha, beta, base, distance

        def forward(self, embeddings, labels):
            matrix, nothing = self.distance(embeddings), torch.zeros(len(labels), 1)
            same = labels[:, None] == labels[None, :]
            far = self.distance.margin(matrix, self.base).masked_fill(~same, float("-inf")).fill_diagonal_(float("-inf"))
            near = self.distance.margin(self.base, matrix).masked_fill(same, float("-inf"))
            return (torch.logsumexp(torch.cat([nothing, self.alpha * far], 1), 1) / self.alpha
                    + torch.logsumexp(torch.cat([nothing, self.beta * near], 1), 1) / self.beta).mean()

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


def pictures_as_tensors(classes, images_per_class, size, seed=0):
    pictures, labels = diml.critters(classes, images_per_class, size, seed)
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 127.5 - 1.0, torch.from_numpy(labels)


def train(measure, pictures, labels, epochs=3, seed=0, classes=6, images=4, rate=3e-3):
    """A network after some epochs; a batch has `images` pictures of each of `classes` classes."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = SmallNetwork()
    loss_of = MultiSimilarityLoss(distance=diml.pml.StructuralDistance(GRID, measure=measure))
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    of_class = [np.flatnonzero(labels.numpy() == label) for label in np.unique(labels)]
    for _ in range(epochs * len(labels) // (classes * images)):
        chosen = random.choice(len(of_class), classes, replace=False)
        batch = np.concatenate([random.choice(of_class[c], images, replace=False) for c in chosen])
        loss = loss_of(network(pictures[batch]), labels[batch])
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
