"""Galleries: the same files, hits and reasons as `diml index`, `diml search` and `diml explain`."""

import json
import os
import re
import threading
import unittest

import numpy as np

import diml
from photos import SMALL, Photos, needs_program

RNG = np.random.default_rng(5)


def numbered(svg):
    """Cairo counts what a process draws, and names it so."""
    names = {}
    return re.sub(r"\b(image|surface|clip|mask|source)-?\d+\b", lambda found: names.setdefault(found[0], f"part {len(names)}"), svg)


class Agreement(Photos):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gallery = diml.Gallery(os.path.join(cls.folder, "g"), cls.model, preprocessing={"resize": 72, "crop": 64})
        cls.gallery.add(cls.paths[:12], labels=cls.labels[:12], metadata=[{"n": i} for i in range(12)])

    def expect_hits(self, own, *query):
        found = json.loads(self.run_program("search", self.path("g"), "--top", 5, "--rerank", 4, "--json", "-", *query))
        wanted = found["queries"]
        self.assertEqual(len(own), len(wanted))
        for hits, other in zip(own, wanted):
            self.assertEqual([{k: np.float32(v) if isinstance(v, float) else v for k, v in hit.items()} for hit in hits],
                             [{k: np.float32(v) if isinstance(v, float) else v for k, v in hit.items()}
                              for hit in other["hits"]])
            self.assertIsNone(hits[4]["structural"])  # beyond the re-ranked ones

    @needs_program
    def test_hits_of_photos_are_those_of_diml_search(self):
        asked = self.paths[11:15]
        self.expect_hits(self.gallery.search(asked, k=5, rerank=4), *asked)
        self.expect_hits([self.gallery.search(asked[1], k=5, rerank=4)], asked[1])

    @needs_program
    def test_hits_of_ids_and_with_filters_are_those_of_diml_search(self):
        self.expect_hits(self.gallery.search([2, 7], k=5, rerank=4), "--id", "2,7")
        where = ["n<10", "n!=3"]
        self.expect_hits([self.gallery.search(2, k=5, rerank=4, where=where)], "--id", 2, "--where", where[0], "--where",
                         where[1])

    @needs_program
    def test_one_query_has_the_same_totals_to_the_bit_by_every_route(self):
        for query in (3, 8):
            wanted = {hit["id"]: hit["total"] for hit in self.gallery.search(query, k=12, rerank=12)}
            self.assertEqual(len(wanted), 11)
            found = json.loads(self.run_program("search", self.path("g"), "--top", 12, "--rerank", 12, "--json", "-", "--id",
                                                query))["queries"][0]["hits"]
            self.assertEqual({hit["id"]: np.float32(hit["total"]) for hit in found},
                             {id: np.float32(total) for id, total in wanted.items()})
            # The photo has the grid of its item, and finds the item itself as well.
            for photo in (self.paths[query], diml._diml.read_pixels(self.paths[query])):
                totals = {hit["id"]: hit["total"] for hit in self.gallery.search(photo, k=12, rerank=12)}
                totals.pop(query)
                self.assertEqual(totals, wanted)
        cells, vectors = self.gallery.grids(range(12))
        scores, ids = diml.Retriever(cells, vectors).search(cells[:2], k=12, globals=vectors[:2], rerank=12)
        again, order = diml.rerank(cells[:2], cells, ids, k=12, globals=(vectors[:2], vectors))
        self.assertEqual((scores.tobytes(), ids.tobytes()), (again.tobytes(), order.tobytes()))

    @needs_program
    def test_a_gallery_of_the_program_has_the_same_grids(self):
        self.run_program("index", "build", self.path("theirs"), "--model", self.model, "--images",
                         self.path("critters/images"), "--resize", 72, "--crop", 64)
        with diml.Gallery(self.path("theirs"), mode="r") as theirs:
            places = [theirs.find(path) for path in self.paths[:12]]
            for own, other in zip(self.gallery.grids(range(12)), theirs.grids(places)):
                self.assertEqual(own.tobytes(), other.tobytes())
            self.assertEqual(self.gallery.info["embedding"], theirs.info["embedding"])
            self.assertEqual(theirs.search(self.paths[14], k=1)[0]["path"], self.paths[14])

    @needs_program
    def test_explanations_are_those_of_diml_explain(self):
        for source, target in ((3, self.paths[13]), (1, 2)):
            self.run_program("explain", source, target, "--gallery", self.path("g"), "--json", self.path("why.json"),
                             "--out", self.path("theirs.svg"))
            match = self.gallery.explain(source, target, self.path("own.json"))
            with open(self.path("own.json")) as own, open(self.path("why.json")) as theirs:
                self.assertEqual(json.load(own), json.load(theirs))
            with open(self.path("theirs.svg")) as theirs:
                self.assertEqual(numbered(match.explain(self.path("own.svg"))), numbered(theirs.read()))

    @needs_program
    def test_info_is_that_of_diml_index_info(self):
        theirs = json.loads(self.run_program("index", "info", self.path("g"), "--json", "-"))
        for name, value in self.gallery.info.items():
            self.assertEqual(value, theirs[name], name)


class Collection(Photos):
    def test_photos_are_added_once_and_words_change_without_the_network(self):
        with self.new_gallery("twice") as g:
            self.assertEqual(g.add(self.paths[:3], labels=["a", None, ""])["added"], 3)
            self.assertEqual([item["label"] for item in g], ["a", None, None])
            done = g.add(self.paths[:4], labels="b", metadata={"size": 2})
            self.assertEqual((done["added"], done["known"], done["updated"], done["items"]), (1, 3, 3, 4))
            self.assertEqual({item["label"] for item in g}, {"b"})
            self.assertEqual(g.add(self.paths[0], replace=True)["replaced"], 1)
            self.assertEqual(g[self.paths[0]]["label"], "b")  # kept
            self.assertEqual(g[4], {"id": 4, "path": self.paths[0], "label": "b", "metadata": {"size": 2}})

    def test_update_remove_and_iteration(self):
        with self.new_gallery("changes") as g:
            g.add(self.paths[:4], labels=np.array([5, 6, -1, 7]))
            g.update(1, labels="pug", metadata={"price": np.float32(2.5), "tags": ["x"]})
            g.update([2, 3], labels=["cat", ""])
            self.assertEqual([item["label"] for item in g], ["5", "pug", "cat", None])
            self.assertEqual(g[1]["metadata"], {"price": 2.5, "tags": ["x"]})
            self.assertEqual(g.ids("price exists"), [1])
            g.remove([0, self.paths[3]])
            self.assertEqual((len(g), g.ids(), 0 in g, 1 in g, self.paths[3] in g), (2, [1, 2], False, True, False))
            with self.assertRaises(KeyError):
                g.remove([1, 17])
            with self.assertRaises(KeyError):
                g.remove("not there.jpg")
            with self.assertRaises(diml.NotFound):
                g[17]
            self.assertEqual(len(g), 2)
            self.assertEqual(g.verify()["faults"], [])
            self.assertTrue(g.thumbnail(1).startswith(b"\xff\xd8"))

    def test_all_kinds_of_queries_find_the_same(self):
        with self.new_gallery("queries") as g:
            g.add(self.paths)
            pixels = [diml._diml.read_pixels(path) for path in self.paths[:2]]
            wanted = g.search(self.paths[:2], k=4)
            self.assertEqual(g.search(pixels, k=4), wanted)
            self.assertEqual(g.search(pixels[0], k=4), wanted[0])
            self.assertEqual(g.search(np.stack(pixels), k=4), wanted)
            cells, vectors = diml.Embedder(self.model, preprocessing={"resize": 72, "crop": 64})(self.paths[:2])
            self.assertEqual([h["id"] for h in g.search(cells[0], k=4)], [h["id"] for h in g.search(list(cells), k=4)[0]])
            self.assertEqual(wanted[0][0]["path"], self.paths[0])
            self.assertEqual(g.search([0, 1], k=3), g.search(np.array([0, 1]), k=3))
            self.assertNotIn(0, [hit["id"] for hit in g.search(0, k=14)])
            self.assertEqual(g.search(self.paths[0], where="path=nothing"), [])

    def test_own_grids_with_their_globals_find_what_their_photos_find(self):
        with self.new_gallery("globals", type="float32") as g:
            g.add(self.paths)
            wanted = g.search(self.paths[:3], k=6)
            embedded = diml.Embedder(self.model, preprocessing=SMALL)(self.paths[:3])
            self.assertEqual(g.search(embedded, k=6), wanted)
            self.assertEqual(g.search(embedded.cells, k=6, globals=embedded.globals), wanted)
            self.assertEqual(g.search(list(embedded.cells), k=6, globals=list(embedded.globals)), wanted)
            self.assertEqual(g.search(embedded.cells[1], k=6, globals=embedded.globals[1]), wanted[1])
            self.assertNotEqual(g.search(embedded.cells, k=6), wanted)  # the means of cells are others
            with self.assertRaisesRegex(ValueError, "go with cells"):
                g.search(self.paths[0], globals=embedded.globals[0])
            with self.assertRaisesRegex(ValueError, "has its globals"):
                g.search(embedded, globals=embedded.globals)

    def test_pictures_of_torch_are_pictures(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not there: install python3-torch")
        with self.new_gallery("tensors") as g:
            g.add(self.paths)
            pixels = [diml._diml.read_pixels(path) for path in self.paths[:2]]
            wanted = g.search(self.paths[:2], k=4)
            tensors = [torch.from_numpy(p) for p in pixels]
            self.assertEqual(g.search(tensors, k=4), wanted)
            self.assertEqual(g.search([pixels[0], tensors[1]], k=4), wanted)
            self.assertEqual(g.search(torch.stack(tensors), k=4), wanted)
            self.assertEqual(g.search(tensors[1], k=4), wanted[1])
            with self.assertRaises(TypeError):
                g.search([tensors[0], self.paths[1]])

    def test_a_gallery_of_arrays_needs_no_model(self):
        cells = RNG.normal(size=(300, 6, 8))
        vectors = RNG.normal(size=(300, 8))
        with diml.Gallery(self.path("arrays"), shape=(6, 8), type="float32") as g:
            done = g.add([f"n{i}" for i in range(300)], cells=cells, globals=vectors, labels=np.arange(300) % 3)
            self.assertEqual(done["added"], 300)
            hits = g.search(cells[7], k=5, rerank=20, where=["label in 0,1"])
            ids = np.array(g.ids(["label in 0,1"]))
            scores, rows = diml.Retriever(cells[ids], vectors[ids]).search(cells[7][None], k=5, rerank=20)
            self.assertEqual([hit["id"] for hit in hits], ids[rows[0]].tolist())
            self.assertEqual([np.float32(hit["total"]) for hit in hits], scores[0].tolist())
            with self.assertRaisesRegex(ValueError, "its model"):
                g.search(self.paths[0])
            with self.assertRaisesRegex(ValueError, "embed them with the gallery's model"):
                g.search(cells[0, :5])
            with self.assertRaisesRegex(ValueError, "one each is wanted"):
                g.add(["a", "b"], cells=cells[:1])
        with diml.Gallery(self.path("arrays"), mode="r") as g:
            self.assertEqual(len(g), 300)
            with self.assertRaises(diml.Error):
                g.add(["late"], cells=cells[:1])

    def test_sync_follows_a_folder(self):
        folder = self.path("synced")
        os.makedirs(os.path.join(folder, "pug"))
        for i in range(3):
            os.link(self.paths[i], os.path.join(folder, "pug", f"{i}.png"))
        with self.new_gallery("sync") as g:
            self.assertEqual(g.sync(folder, dry_run=True)["added"], 3)
            self.assertEqual(len(g), 0)
            self.assertEqual(g.sync(folder)["added"], 3)
            self.assertEqual({item["label"] for item in g}, {"pug"})
            os.remove(os.path.join(folder, "pug", "1.png"))
            done = g.sync(folder)
            self.assertEqual((done["removed"], done["items"]), (1, 2))
            self.assertEqual([step["action"] for step in done["steps"]], ["remove"])
            with self.assertRaisesRegex(diml.Error, "nothing was changed"):
                os.remove(os.path.join(folder, "pug", "0.png"))
                os.remove(os.path.join(folder, "pug", "2.png"))
                g.sync(folder)

    def test_files_that_cannot_be_read_stop_the_call_or_are_named(self):
        bad = self.path("bad.jpg")
        with open(bad, "w") as file:
            file.write("no photo")
        with self.new_gallery("bad") as g:
            with self.assertRaisesRegex(diml.Error, "bad.jpg"):
                g.add([self.paths[0], bad])
            self.assertEqual(len(g), 1)  # what came before it stays
            done = g.add([*self.paths[:2], bad], bad="skip")
            self.assertEqual((done["added"], len(done["bad"])), (1, 1))
            self.assertIn("bad.jpg", done["bad"][0])

    def test_what_was_added_before_a_progress_function_raised_stays(self):
        cells = RNG.normal(size=(600, 2, 4))

        def stop(done, total):
            raise KeyboardInterrupt

        with diml.Gallery(self.path("stopped"), shape=(2, 4)) as g:
            with self.assertRaises(KeyboardInterrupt):
                g.add([str(i) for i in range(600)], cells=cells, progress=stop)
            self.assertEqual(len(g), 256)
            self.assertEqual(g.add([str(i) for i in range(600)], cells=cells)["added"], 344)

    def test_modes_and_closing(self):
        with self.assertRaisesRegex(diml.NotFound, "name a model"):
            diml.Gallery(self.path("none"))
        self.assertFalse(os.path.exists(self.path("none")))
        with self.assertRaisesRegex(diml.Error, "gallery"):
            diml.Gallery(self.path("none"), mode="r")
        g = self.new_gallery("modes")
        with self.assertRaisesRegex(diml.Error, "already"):
            self.new_gallery("modes", mode="x")
        g.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            len(g)
        other = self.path("other.safetensors")
        diml.write_model(other, dim=16)
        with self.assertRaisesRegex(ValueError, "model"):
            diml.Gallery(self.path("modes"), other)
        with diml.Gallery(self.path("modes"), self.model) as g:
            self.assertEqual(g.add(self.paths[0])["added"], 1)

    def test_threads_search_and_add_at_the_same_time(self):
        with self.new_gallery("threads") as g:
            g.add(self.paths[:5])
            failures = []

            def search():
                try:
                    for path in self.paths[:3]:
                        self.assertEqual(g.search(path, k=1)[0]["path"], path)
                except Exception as error:  # told by the main thread
                    failures.append(error)

            threads = [threading.Thread(target=search) for _ in range(3)]
            for thread in threads:
                thread.start()
            g.add(self.paths[5:])
            for thread in threads:
                thread.join()
            self.assertEqual((failures, len(g)), ([], len(self.paths)))

    def test_a_match_of_a_gallery_draws_its_pictures(self):
        with self.new_gallery("drawn") as g:
            g.add(self.paths[:2])
            match = g.explain(0, self.paths[5])
            html = match._repr_html_()
            self.assertTrue(html.startswith("<svg"))
            self.assertEqual(html.count("<image"), diml.match(np.eye(4), np.eye(4))._repr_html_().count("<image"))
            self.assertIn(os.path.basename(self.paths[5]), html)
            self.assertTrue(match.explain(self.path("why.html")).lower().startswith("<!doctype html"))


if __name__ == "__main__":
    unittest.main()
