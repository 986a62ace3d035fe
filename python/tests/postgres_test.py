"""Galleries in PostgreSQL: what a gallery in a folder answers, and no password in any word."""

import os
import tempfile
import unittest
import uuid

import numpy as np

import diml

SERVER = os.path.join(os.environ.get("DIML_POSTGRES", ""), "address")
RNG = np.random.default_rng(5)


@unittest.skipUnless(os.path.exists(SERVER), "no PostgreSQL server runs for the tests: install postgresql, and run them with ctest")
class InPostgres(unittest.TestCase):
    def setUp(self):
        with open(SERVER, encoding="utf-8") as file:
            database, _, parameters = file.read().strip().partition("?")
        self.shown = f"{database}{uuid.uuid4().hex}?{parameters}"
        self.address = self.shown + "&password=hunter2"

    def fill(self, gallery):
        cells = np.random.default_rng(3).normal(size=(40, 4, 8))
        gallery.add([f"{i}.jpg" for i in range(40)], labels=[str(i % 4) for i in range(40)], cells=cells,
                    metadata=[{"price": i} for i in range(40)])
        gallery.remove([3, 5])

    def test_the_answers_are_those_of_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            with diml.Gallery(os.path.join(folder, "g"), shape=(4, 8)) as on_disk, \
                    diml.Gallery(self.address, shape=(4, 8)) as in_database:
                self.fill(on_disk)
                self.fill(in_database)
                queries = RNG.normal(size=(5, 4, 8))
                for where in ([], "price<20", ["price>=7", "label in 1,2"]):
                    self.assertEqual(in_database.search(queries, k=10, where=where), on_disk.search(queries, k=10, where=where))
                self.assertEqual(len(in_database), 38)
                self.assertEqual(in_database.info["labels"], on_disk.info["labels"])
                self.assertEqual(in_database.verify(), on_disk.verify())
                self.assertEqual(in_database.find("7.jpg"), 7)
        with diml.Gallery(self.address, mode="r") as again:
            self.assertEqual(len(again), 38)
            with self.assertRaises(diml.BadInput):
                again.remove([7])

    def test_no_word_has_the_password(self):
        with self.assertRaises(diml.NotFound) as missing:
            diml.Gallery(self.address)
        self.assertIn(self.shown, str(missing.exception))
        with diml.Gallery(self.address, shape=(4, 8)) as gallery:
            words = [str(missing.exception), repr(gallery), str(gallery.info)]
        with self.assertRaises(diml.Conflict) as there:
            diml.Gallery(self.address, mode="x", shape=(4, 8))
        with self.assertRaises(diml.Error) as away:
            diml.Gallery("postgres://ann:hunter2@/shop/g?host=/nowhere")
        for word in words + [str(there.exception), str(away.exception), repr(gallery)]:
            self.assertNotIn("hunter2", word)


if __name__ == "__main__":
    unittest.main()
