"""What pytorch-metric-learning asks of a distance and of a k-nearest-neighbour function, and how its losses, miners and
inference model call them: its documented interface in our own words, for tests. Not a copy of its code."""

import torch


class CosineDistance(torch.nn.Module):
    """Its CosineSimilarity as its losses see it: a matrix, larger is closer."""

    is_inverted = True

    def forward(self, query_emb, ref_emb=None):
        query = torch.nn.functional.normalize(query_emb, dim=1)
        ref = query if ref_emb is None else torch.nn.functional.normalize(ref_emb, dim=1)
        return query @ ref.t()

    def margin(self, x, y):
        return y - x

    def pairwise_distance(self, query_emb, ref_emb):
        return torch.nn.functional.cosine_similarity(query_emb, ref_emb)


def same_and_other(labels):
    """Masks [N, N] of pairs of one class, without itself, and of pairs of two classes."""
    same = labels[:, None] == labels[None, :]
    return same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device), ~same


def one_plus_exponents(values, mask):
    """log(1 + sum of exp over the masked values) of each row; 0 where there are none."""
    values = values.masked_fill(~mask, float("-inf"))
    return torch.logsumexp(torch.cat([torch.zeros_like(values[:, :1]), values], 1), 1)


class MultiSimilarityLoss(torch.nn.Module):
    """As its loss of that name with its mean reducer: of the distance it uses the matrix and margin()."""

    def __init__(self, alpha=2.0, beta=50.0, base=0.5, distance=None):
        super().__init__()
        self.alpha, self.beta, self.base = alpha, beta, base
        self.distance = distance or CosineDistance()

    def forward(self, embeddings, labels):
        matrix = self.distance(embeddings)
        same, other = same_and_other(labels)
        near = one_plus_exponents(self.alpha * self.distance.margin(matrix, self.base), same) / self.alpha
        far = one_plus_exponents(self.beta * self.distance.margin(self.base, matrix), other) / self.beta
        return (near + far).mean()


class TripletLoss(torch.nn.Module):
    """As its TripletMarginLoss: margin(d(a, p), d(a, n)) grows with the violation, for either sign of the distance."""

    def __init__(self, margin=0.1, distance=None):
        super().__init__()
        self.margin, self.distance = margin, distance or CosineDistance()

    def forward(self, embeddings, labels):
        matrix = self.distance(embeddings, embeddings)
        same, other = same_and_other(labels)
        anchor, near, far = torch.where(same[:, :, None] & other[:, None, :])
        violation = self.distance.margin(matrix[anchor, near], matrix[anchor, far])
        return torch.relu(violation + self.margin).mean()


def hardest(distance, embeddings, labels):
    """As its BatchHardMiner: each anchor's farthest of its class and nearest of another, by the distance's own words."""
    matrix = distance(embeddings)
    same, other = same_and_other(labels)
    nothing = float("inf") if distance.is_inverted else float("-inf")
    far = distance.largest_dist(matrix.masked_fill(~same, nothing), 1)[1]
    near = distance.smallest_dist(matrix.masked_fill(~other, -nothing), 1)[1]
    return far, near


class InferenceModel:
    """As its class of that name: embeds, normalises whole embeddings, hands them to the k-nn function."""

    def __init__(self, trunk, knn_func, match_finder_distance=None, threshold=0.9):
        self.trunk, self.knn_func = trunk, knn_func
        self.distance, self.threshold = match_finder_distance, threshold

    def embeddings(self, x):
        with torch.no_grad():
            return torch.nn.functional.normalize(self.trunk(x), dim=1)

    def train_knn(self, x):
        self.knn_func.train(self.embeddings(x))

    def add_to_knn(self, x):
        self.knn_func.add(self.embeddings(x))

    def get_nearest_neighbors(self, x, k):
        return self.knn_func(self.embeddings(x), k)

    def is_match(self, x, y):
        value = self.distance.pairwise_distance(self.embeddings(x), self.embeddings(y))
        return (value >= self.threshold if self.distance.is_inverted else value <= self.threshold).cpu().numpy()


def precision_at_1(knn_func, embeddings, labels):
    """As its AccuracyCalculator: it asks for neighbours among the queries themselves, and reads the indices."""
    _, indices = knn_func(embeddings, 1, embeddings, True)
    return (labels[indices[:, 0]] == labels).double().mean().item()
