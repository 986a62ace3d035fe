"""Why two photos match: cells of a network, their match, and a page that shows it."""

import pathlib
import tempfile

import diml

folder = pathlib.Path(tempfile.mkdtemp())
diml.write_critters(folder / "photos", classes=2, images_per_class=4, size=96)  # or photos of your own
diml.write_model(folder / "small.safetensors", dim=64)  # or diml.fetch_model("resnet50")
photos = sorted((folder / "photos").glob("images/*/*"))

embed = diml.Embedder(folder / "small.safetensors", grid=4, preprocessing={"resize": 96, "crop": 96})
cells, globals = embed(photos)
print("cells", cells.shape, "globals", globals.shape)

m = diml.match(cells[0], cells[1], globals=(globals[0], globals[1]))
print(f"structural similarity {m.score:.4f}, and its parts add up to {(m.plan * m.similarity).sum():.4f}")
strongest = (m.plan * m.similarity).argmax()
print("the strongest pair of parts: cell", strongest // 16, "of the source, cell", strongest % 16, "of the target")

page = m.explain(folder / "why.html", images=(photos[0], photos[1]))  # in a notebook, `m` alone draws itself
print(f"{folder / 'why.html'}: {len(page) // 1000} kB")
assert abs((m.plan * m.similarity).sum() - m.score) < 1e-6 and page.lower().startswith("<!doctype html")
