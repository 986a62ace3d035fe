"""A loss of pytorch-metric-learning that compares images part by part, and its inference with re-ranking.

    python3 06_loss_of_pytorch_metric_learning.py

Without pytorch-metric-learning (it is not packaged in Debian) a loss with the same interface stands for it.
"""

import torch

import diml.pml

try:
    from pytorch_metric_learning.losses import MultiSimilarityLoss
except ImportError:
    class MultiSimilarityLoss(torch.nn.Module):
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


def main(steps=15):
    torch.manual_seed(0)
    labels = torch.arange(8).repeat_interleave(4)
    maps = torch.randn(8, 24, 4, 4)[labels] + 1.5 * torch.randn(32, 24, 4, 4)  # what a backbone gives
    head = torch.nn.Conv2d(24, 16, 1)
    loss_of = MultiSimilarityLoss(distance=diml.pml.StructuralDistance(grid=(4, 4)))
    optimiser = torch.optim.Adam(head.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        cells = head(maps).flatten(2).transpose(1, 2)
        loss = loss_of(diml.pml.pack(cells, cells.mean(1)), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")

    with torch.no_grad():
        cells = head(maps).flatten(2).transpose(1, 2)
        embeddings = diml.pml.pack(cells, cells.mean(1))
    values, indices = diml.pml.StructuralKNN(rerank=10)(embeddings, 3, embeddings, ref_includes_query=True)
    right = (labels[indices[:, 0]] == labels).float().mean().item()
    print(f"the nearest is of the same class for {100 * right:.0f} % of the images")
    return losses, right


if __name__ == "__main__":
    main()
