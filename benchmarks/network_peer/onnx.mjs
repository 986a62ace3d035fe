// How fast ONNX Runtime runs ResNet-50 at 224 px in float32 on the CPU: one JSON line for each batch size.
//
// The package is not part of this repository; it goes into a folder of its own (without scripts: they fetch CUDA):
//
//   mkdir FOLDER && cd FOLDER && npm install --ignore-scripts onnxruntime-node
//   /usr/bin/python3 benchmarks/network_peer/export_onnx.py FOLDER/resnet50.onnx
//   node benchmarks/network_peer/onnx.mjs FOLDER [--threads 2] [--batches 1,8,16] [--seconds 8]
//
// ms_per_image is the median of rounds after warm-up, best the fastest round. cpu_share is the CPU time of all rounds over
// wall time times threads: if it is clearly below 1, other programs used the cores and the figure is too high. Run it twice or more.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: "string", default: "2" },
    batches: { type: "string", default: "1,8,16" },
    seconds: { type: "string", default: "8" },
  },
});
if (positionals.length !== 1) {
  console.error("usage: onnx.mjs FOLDER (with node_modules/onnxruntime-node and resnet50.onnx)");
  process.exit(2);
}
const folder = resolve(positionals[0]);
const ort = createRequire(join(folder, "/"))("onnxruntime-node");
const version = JSON.parse(readFileSync(join(folder, "node_modules/onnxruntime-node/package.json"))).version;
const threads = Number(options.threads);
const session = await ort.InferenceSession.create(join(folder, "resnet50.onnx"), {
  executionProviders: ["cpu"],
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: "sequential",
  graphOptimizationLevel: "all",
});

// Rounds until the time is up, at least five; the first ones are for warming up.
async function milliseconds(images) {
  const warmUp = 3;
  const rounds = [];
  let cpu = 0;
  const start = performance.now();
  for (let round = 0; round < warmUp + 5 || performance.now() - start < 1000 * Number(options.seconds); ++round) {
    const cpuBefore = process.cpuUsage();
    const before = performance.now();
    const result = await session.run({ images });
    const after = performance.now();
    const used = process.cpuUsage(cpuBefore);
    if (!result.map.data.every(Number.isFinite)) throw new Error("the map is not finite");
    if (round < warmUp) continue;
    rounds.push(after - before);
    cpu += (used.user + used.system) / 1000;
  }
  const wall = rounds.reduce((sum, value) => sum + value, 0);
  return { rounds: rounds.sort((a, b) => a - b), share: cpu / (wall * threads) };
}

for (const batch of options.batches.split(",").map(Number)) {
  const data = Float32Array.from({ length: batch * 3 * 224 * 224 }, () => 2 * Math.random() - 1);
  const { rounds, share } = await milliseconds(new ort.Tensor("float32", data, [batch, 3, 224, 224]));
  const round = (value) => Number((value / batch).toFixed(2));
  const figures = {
    ms_per_image: round(rounds[Math.floor(rounds.length / 2)]),
    best: round(rounds[0]),
    rounds: rounds.length,
    cpu_share: Number(share.toFixed(2)),
  };
  console.log(JSON.stringify({ peer: "onnxruntime", version, batch, threads, ...figures }));
}
