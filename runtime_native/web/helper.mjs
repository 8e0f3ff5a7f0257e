// A thread that computes parts of kernels for that of `worker.mjs`: a Worker of it, with an instance of the module.
import { help } from "./module.mjs";
import { isNode } from "./system.mjs";

const port = isNode ? (await import("node:worker_threads")).parentPort : globalThis;

/** Tells that it helps from now on, and does so for ever. */
function begin(given) {
  port.postMessage("ready");
  help(given);
}

if (isNode) port.once("message", begin);
else port.onmessage = ({ data }) => begin(data);
