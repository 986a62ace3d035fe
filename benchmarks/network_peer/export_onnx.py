"""Writes ResNet-50 as an ONNX file with a free batch size, for onnx.mjs.

    /usr/bin/python3 benchmarks/network_peer/export_onnx.py resnet50.onnx

Needs Debian's python3-torch.
"""
import sys

import torch

from resnet50 import resnet50


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: export_onnx.py FILE.onnx")
    torch.onnx.export(resnet50(), torch.randn(1, 3, 224, 224), sys.argv[1], opset_version=13,
                      input_names=["images"], output_names=["map"],
                      dynamic_axes={"images": {0: "batch"}, "map": {0: "batch"}})


if __name__ == "__main__":
    main()
