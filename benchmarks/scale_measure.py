#!/usr/bin/env python3
"""What a gallery costs on disk, in one PostgreSQL and in three, measured on this machine.

  scale_measure.py fill   --diml PROGRAM --folder FOLDER --images N   makes the galleries and their indexes
  scale_measure.py search --diml PROGRAM --folder FOLDER              searches them; for an idle machine
  scale_measure.py embed  --diml PROGRAM --folder FOLDER              photos through ResNet-50 on this CPU

Each writes FOLDER/NAME.json; `scale.py take FOLDER RESULTS` puts them together. The servers are real: five
of PostgreSQL (tests/postgres/server) and one `diml serve`, in FOLDER, whose name is short (sockets) and
which has room for 20 KB for each image. Needs pgvector. `fill` goes on where it was stopped.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

SERVER = Path(__file__).resolve().parent.parent / "tests/postgres/server"
SHARDS = 3
CLIENTS = (1, 2, 4, 8)
SETTINGS = ("fsync=on", "shared_buffers=512MB", "maintenance_work_mem=1GB", "max_wal_size=8GB",
            "max_parallel_maintenance_workers=2", "checkpoint_timeout=30min", "jit=off")


class Database:
    """A PostgreSQL server of its own, which stays in its folder."""

    def __init__(self, folder):
        self.folder = folder

    def call(self, *words):
        environment = dict(os.environ, TMPDIR=str(self.folder.parent))
        done = subprocess.run([SERVER, words[0], self.folder, *words[1:]], env=environment,
                              stdout=subprocess.DEVNULL, stderr=sys.stderr)
        if done.returncode == 77:
            sys.exit("scale_measure.py: there is no PostgreSQL server on this machine")
        done.check_returncode()

    def runs(self):
        try:
            with socket.socket(socket.AF_UNIX) as tried:
                tried.connect(str(self.socket_folder() / ".s.PGSQL.5432"))
            return True
        except OSError:
            return False

    def start(self):
        """One that runs already is taken as it is, and goes on in the end."""
        self.is_ours = False
        if not (self.folder / "data_folder").exists():
            self.call("start", *SETTINGS)
        elif self.runs():
            return
        else:
            (self.data() / "postmaster.pid").unlink(missing_ok=True)  # its machine went away
            self.call("again")
        self.is_ours = True

    def halt(self):
        if self.is_ours:
            self.call("halt")

    def data(self):
        return Path((self.folder / "data_folder").read_text().strip()) / "data"

    def socket_folder(self):
        return self.data().parent

    def address(self, gallery="", database="tests", host=None):
        name = database + ("/" + gallery if gallery else "")
        return f"postgres://diml@/{name}?host={host or self.socket_folder()}"

    def process(self):
        """Its first process, which need not be of our kind of numbers (a container): by its words."""
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            words = entry.read_bytes().split(b"\0")
            if words[0].endswith(b"/postgres") and str(self.data()).encode() in words:
                return int(entry.parent.name)
        sys.exit(f"scale_measure.py: {self.folder}: its server does not run")


class Cluster:
    def __init__(self, folder):
        self.names = ["one", "head"] + [f"shard{k}" for k in range(SHARDS)]
        self.all = {name: Database(folder / name) for name in self.names}

    def __enter__(self):
        for database in self.all.values():
            database.start()
        return self

    def __exit__(self, *_):
        for database in self.all.values():
            database.halt()

    def __getitem__(self, name):
        return self.all[name]

    def shards(self):
        return [self.all[f"shard{k}"] for k in range(SHARDS)]


def galleries(cluster, folder):
    return {"lmdb": str(folder / "lmdb.gallery"), "one": cluster["one"].address("photos"),
            "three": cluster["head"].address("photos")}


def told(diml, *words):
    """What a command of diml says as JSON."""
    start = time.perf_counter()
    out = subprocess.run([diml, *words, "--json", "-"], check=True, stdout=subprocess.PIPE).stdout
    print(f"{time.perf_counter() - start:8.1f} s  diml {' '.join(words[:3])}", file=sys.stderr)
    return json.loads(out)


def fill(arguments, folder):
    diml, images = arguments.diml, str(arguments.images)
    path = folder / "fill.json"
    done = json.loads(path.read_text()) if path.exists() else {"images": arguments.images}

    def step(name, work):
        if name in done:
            return
        done[name] = work()
        path.write_text(json.dumps(done, indent=1) + "\n")

    with Cluster(folder) as cluster:
        names = galleries(cluster, folder)

        def lay_and_copy():
            head = names["three"]
            over = [word for s in cluster.shards() for word in ("--over", s.address())]
            if subprocess.run([diml, "index", "info", head], capture_output=True).returncode != 0:
                told(diml, "index", "shard", head, "--like", names["one"], *over)
            start = time.perf_counter()
            copied = told(diml, "index", "copy", names["one"], head)
            return dict(copied, seconds=time.perf_counter() - start)

        bench = lambda name, stage: told(diml, "bench", "gallery", "--images", images, "--at", names[name],
                                         "--first-stage", stage)
        # Exact first stages, which also fill; of LMDB and of one PostgreSQL.
        step("one", lambda: bench("one", "exact"))
        step("one_index", lambda: told(diml, "index", "cache", names["one"], "--kind", "pgvector"))
        step("three_copy", lay_and_copy)
        step("three_index", lambda: told(diml, "index", "cache", names["three"], "--kind", "pgvector"))
        step("lmdb", lambda: bench("lmdb", "exact"))
        step("lmdb_index", lambda: told(diml, "index", "cache", names["lmdb"], "--kind", "hnsw"))
        step("sizes", lambda: {name: told(diml, "index", "info", names[name]) for name in names})


# ----------------------------------------------------------------------------- load


def processor_seconds(pids):
    """Of processes and all below them, with those that have ended."""
    parents, times = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue  # it has ended meanwhile
        fields = text[text.rindex(")") + 2 :].split()
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        times[pid] = sum(map(int, fields[11:15] if pid in pids else fields[11:13]))
    total = 0
    for pid in times:
        above = pid
        while above not in pids and above in parents:
            above = parents[above]
        total += times[pid] if above in pids else 0
    return total / os.sysconf("SC_CLK_TCK")


def ask(url, query, top=10, rerank=100):
    body = json.dumps({"query": {"id": query}, "top": top, "rerank": rerank}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"Content-Type": "application/json"})
    start = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        size = len(body) + len(answer.read())
    return time.perf_counter() - start, size


def load(url, clients, seconds, items):
    """Searches by some clients, each of which waits for its answers. Returns their times."""
    times, end = [], time.perf_counter() + seconds

    def client(seed):
        chosen = random.Random(seed)
        while time.perf_counter() < end:
            times.append(ask(url, chosen.randrange(items))[0])

    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times)


def measured_load(url, items, pids, seconds):
    pids = {**pids, "client": {os.getpid()}}
    load(url, 2, 3, items)  # connections, pages in memory
    runs = []
    for clients in CLIENTS:
        before = {kind: processor_seconds(of) for kind, of in pids.items()}
        times = load(url, clients, seconds, items)
        used = {kind: (processor_seconds(of) - before[kind]) / len(times) for kind, of in pids.items()}
        runs.append({"clients": clients, "searches": len(times), "p50_ms": 1e3 * times[len(times) // 2],
                     "p99_ms": 1e3 * times[int(0.99 * (len(times) - 1))],
                     "variation": statistics.pstdev(times) / statistics.fmean(times),
                     "per_second": len(times) / seconds,
                     "processor_ms": {kind: 1e3 * each for kind, each in used.items()}})
        print(json.dumps(runs[-1]), file=sys.stderr)
    return {"items": items, "shards": SHARDS, "cores": os.cpu_count(), "load_average": os.getloadavg()[0], "runs": runs}


class Relay:
    """A socket of PostgreSQL that passes everything on to another one, and counts its bytes."""

    def __init__(self, folder, to):
        self.folder, self.to, self.bytes = folder, to / ".s.PGSQL.5432", 0
        folder.mkdir(mode=0o755, exist_ok=True)
        path = folder / ".s.PGSQL.5432"
        path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        path.chmod(0o777)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(self.to))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, source, target):
        while part := source.recv(1 << 16):
            self.bytes += len(part)
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


class Serving:
    """`diml serve` of a gallery, on a free port."""

    def __init__(self, diml, gallery):
        self.process = subprocess.Popen(
            [diml, "serve", gallery, "--port", "0", "--read-only", "--threads", "1", "--first-stage", "pgvector"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if found := re.search(r"http://[0-9.]+:\d+", line):
                self.url = found.group()
                break
        else:
            sys.exit("scale_measure.py: the server did not start")
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def network(diml, cluster, folder, items):
    """Bytes of a search between the server, the database and each shard."""
    head, searches = cluster["head"], 100
    to_shards = [Relay(folder / f"r{k}", shard.socket_folder()) for k, shard in enumerate(cluster.shards())]
    to_head = Relay(folder / "rh", head.socket_folder())
    psql = ["psql", "-qAt", "-h", str(head.socket_folder()), "-U", "diml", "tests", "-c"]
    servers = subprocess.run([*psql, "SELECT srvname FROM pg_foreign_server ORDER BY 1"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.split()
    lay = lambda folders: [subprocess.run(
        [*psql, f"ALTER SERVER {name} OPTIONS (SET host '{at}')"], check=True) for name, at in zip(servers, folders)]
    lay([relay.folder for relay in to_shards])
    try:
        with Serving(diml, head.address("photos", host=to_head.folder)) as serving:
            load(serving.url, 1, 2, items)
            before = [relay.bytes for relay in (*to_shards, to_head)]
            sizes = [ask(serving.url, random.Random(k).randrange(items))[1] for k in range(searches)]
            each = [(r.bytes - b) / searches for r, b in zip((*to_shards, to_head), before)]
    finally:
        lay([shard.socket_folder() for shard in cluster.shards()])
    return {"per_shard": statistics.fmean(each[:-1]), "to_database": each[-1], "to_client": statistics.fmean(sizes)}


def search(arguments, folder):
    diml = arguments.diml
    images = json.loads((folder / "fill.json").read_text())["images"]
    results = {}
    with Cluster(folder) as cluster:
        names = galleries(cluster, folder)
        for name, stage in (("one", "pgvector"), ("three", "pgvector"), ("lmdb", "index"), ("lmdb", "exact")):
            results[f"{name}_{stage}"] = told(diml, "bench", "gallery", "--images", str(images), "--at", names[name],
                                              "--first-stage", stage)
        with Serving(diml, names["three"]) as serving:
            pids = {"server": {serving.process.pid}, "coordinator": {cluster["head"].process()},
                    "shard": {shard.process() for shard in cluster.shards()}}
            results["three_shards"] = measured_load(serving.url, images, pids, arguments.seconds)
        results["network"] = network(diml, cluster, folder, images)
    (folder / "search.json").write_text(json.dumps(results, indent=1) + "\n")


def embed(arguments, folder):
    result = told(arguments.diml, "bench", "network")
    (folder / "embed.json").write_text(json.dumps(result, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("fill", "search", "embed"))
    parser.add_argument("--diml", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=8.0, help="of load with each number of clients")
    arguments = parser.parse_args()
    arguments.diml = shutil.which(arguments.diml) or sys.exit(f"{arguments.diml}: there is no such program")
    folder = arguments.folder.absolute()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    {"fill": fill, "search": search, "embed": embed}[arguments.verb](arguments, folder)


if __name__ == "__main__":
    main()
