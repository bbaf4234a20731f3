/** The flags of V8's heap: for an unknown flag V8 writes a line to stderr and nothing else. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { daemonFlags } from "../launch.mjs";

test("this Node knows every flag that keeps the heap small", () => {
  const heap = JSON.stringify(new URL("../src/daemon/heap.ts", import.meta.url).href);
  const code = `const { keepHeapSmall } = await import(${heap}); keepHeapSmall(); console.log("small");`;
  const quiet = ["--disable-warning=ExperimentalWarning", "--input-type=module"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...daemonFlags, ...quiet, "-e", code], {
    encoding: "utf8",
    timeout: 30_000,
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "small\n", stderr: "" });
});
