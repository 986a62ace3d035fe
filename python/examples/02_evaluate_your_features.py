"""Is structural matching better on my data? Feature maps of any model, as torchvision's networks give them: [N, C, H, W]."""

import numpy as np

import diml

# Exported as numpy.save("features.npy", maps): here drawn, 20 classes of 6 images; half of each map is background.
rng = np.random.default_rng(0)
labels = np.repeat(np.arange(20), 6)
parts = rng.normal(size=(20, 32, 4, 4))
maps = parts[labels] + 1.2 * rng.normal(size=(120, 32, 4, 4))
maps[:, :, 2:, :] = 1.5 * rng.normal(size=(120, 32, 2, 4))
for image in maps:  # the object is not always at the same place
    image[:] = np.roll(image, rng.integers(4), axis=2)

cells = maps.transpose(0, 2, 3, 1).reshape(120, 16, 32)  # [N, R, D]; a view: any strides are taken
result = diml.evaluate(cells, labels=labels, rerank=(0, 20, "all"), progress=True)
for name in ("rerank", "p_at_1", "r_precision", "map_at_r"):  # or pandas.DataFrame(result)
    print(f"{name:12}", *(f"{value:8.2f}" for value in result[name]))
worst = min(result.per_class[20].items(), key=lambda item: item[1]["map_at_r"])
print("the hardest class:", worst[0], f"{worst[1]['map_at_r']:.2f}")
assert result["map_at_r"][1] > result["map_at_r"][0]

knn = diml.StructuralKNeighbors(n_neighbors=5, rerank=20).fit(cells, labels)  # scikit-learn's habits
print(f"5 neighbours vote for the right class: {100 * knn.score(None, labels):.2f} %")
