"""How fast torch runs ResNet-50 at 224 px in float32 on the CPU: one JSON line for each way and batch size.

    /usr/bin/python3 benchmarks/network_peer/torch_eager.py [--threads 2] [--batches 1,8,16] [--seconds 8]

Needs Debian's python3-torch. Ways: eager; eager with channels_last; frozen (torch.jit.freeze, which folds BatchNorm, and
torch.jit.optimize_for_inference). ms_per_image is the median of rounds after warm-up, best the fastest round. cpu_share is
the CPU time of all rounds over wall time times threads: clearly below 1, other programs had the cores, and the figure is
too high. Run it more than once.
"""
import argparse
import json
import statistics
import time

import torch

from resnet50 import resnet50

WARM_UP = 3


def frozen(network, images):
    return torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(network, images)))


def rounds_of(network, images, seconds):
    """[(wall seconds, CPU seconds)]"""
    rounds = []
    start = time.perf_counter()
    while len(rounds) < WARM_UP + 5 or time.perf_counter() - start < seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        result = network(images)
        rounds.append((time.perf_counter() - wall, time.process_time() - cpu))
        assert torch.isfinite(result).all()
    return rounds[WARM_UP:]


def main():
    parser = argparse.ArgumentParser(description="Times ResNet-50 in torch.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", default="1,8,16")
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with torch.inference_mode():
        for batch in map(int, options.batches.split(",")):
            images = 2 * torch.rand(batch, 3, 224, 224) - 1
            last = images.to(memory_format=torch.channels_last)
            ways = {"torch_eager": (resnet50(), images),
                    "torch_channels_last": (resnet50().to(memory_format=torch.channels_last), last),
                    "torch_frozen": (frozen(resnet50(), images), images)}
            for peer, (network, values) in ways.items():
                rounds = rounds_of(network, values, options.seconds)
                walls = [1000 * wall / batch for wall, _ in rounds]
                share = sum(cpu for _, cpu in rounds) / (sum(wall for wall, _ in rounds) * options.threads)
                print(json.dumps({"peer": peer, "version": torch.__version__, "batch": batch, "threads": options.threads,
                                  "ms_per_image": round(statistics.median(walls), 2), "best": round(min(walls), 2),
                                  "rounds": len(rounds), "cpu_share": round(share, 2)}), flush=True)


if __name__ == "__main__":
    main()
