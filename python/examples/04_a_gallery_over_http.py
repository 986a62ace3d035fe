"""A gallery on disk: filled and searched here, then served by `diml serve` and asked over HTTP."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import diml

folder = pathlib.Path(tempfile.mkdtemp())
diml.write_critters(folder / "photos", classes=4, images_per_class=5, size=96)
diml.write_model(folder / "small.safetensors", dim=64)
photos = sorted((folder / "photos").glob("images/*/*"))

with diml.Gallery(folder / "photos.gallery", folder / "small.safetensors", preprocessing={"resize": 96, "crop": 96}) as g:
    g.add(photos[1:], labels=[p.parent.name for p in photos[1:]], metadata=[{"price": i} for i in range(19)])
    hits = g.search(photos[0], k=3, where="price<12")
    for hit in hits:
        print(f"{hit['total']:.4f} {hit['label']} {os.path.basename(hit['path'])}")
    g.explain(hits[0]["id"], photos[0], folder / "why.svg")

program = os.environ.get("DIML_PROGRAM") or shutil.which("diml")
if program is None:
    print("the program `diml` is not installed: it would serve this gallery now")
    sys.exit()
serve = [program, "serve", str(folder / "photos.gallery"), "--port", "0"]
server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
try:
    address = server.stdout.readline().split()[0]  # http://127.0.0.1:PORT/
    asked = urllib.parse.urlencode({"top": 3, "where": "price<12"})
    request = urllib.request.Request(f"{address}v1/search?{asked}", photos[0].read_bytes(), {"Content-Type": "image/png"})
    with urllib.request.urlopen(request) as answer:
        served = json.load(answer)
    print("over HTTP:", [hit["id"] for hit in served["hits"]])
    assert [hit["id"] for hit in served["hits"]] == [hit["id"] for hit in hits]
finally:
    server.terminate()
    server.wait()
