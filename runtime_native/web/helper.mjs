// A thread that computes parts of kernels for that of `worker.mjs`: a Worker of it, with an instance of the module.
import { help } from "./module.mjs";

if (typeof process !== "undefined" && process.versions?.node) {
  (await import("node:worker_threads")).parentPort.once("message", help);
} else {
  globalThis.onmessage = ({ data }) => help(data);
}
