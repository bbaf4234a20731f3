/**
 * How many trader states a simulator serves in a second: `node test/bench/simulator.ts`. The simulator runs in a
 * process of its own, alive (prices move, traders act); the load comes from this one. 1,000 traders, 64 connections.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Pool } from "undici";

const seconds = Number(process.argv[2] ?? 5);

if (process.argv[2] === "serve") {
  const { runSimulator } = await import("../../src/simulator/index.ts");
  const simulator = await runSimulator({ port: 0, traders: 1_000 }, process.stdout, process.stderr);
  process.on("message", () => {
    process.send?.(process.cpuUsage());
  });
  process.on("SIGTERM", () => void simulator.stop().then(() => process.exit(0)));
} else {
  const child = spawn(process.execPath, [import.meta.filename, "serve"], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let printed = "";
  for await (const chunk of child.stdout!) {
    printed += chunk;
    if (printed.includes("\n")) break;
  }
  const { url, traders } = JSON.parse(printed) as { url: string; traders: { authority: string }[] };
  const cpu = async () => {
    child.send("cpu");
    const [usage] = (await once(child, "message")) as [NodeJS.CpuUsage];
    return (usage.user + usage.system) / 1e6;
  };
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  let count = 0;
  let bytes = 0;
  const run = async (untilMs: number) => {
    while (performance.now() < untilMs) {
      const { authority } = traders[count++ % traders.length]!;
      const { statusCode, body } = await pool.request({
        path: `/v1/trader/state/${authority}`,
        method: "GET",
      });
      if (statusCode !== 200) throw new Error(String(statusCode));
      bytes += (await body.arrayBuffer()).byteLength;
    }
  };
  const load = (ms: number) => Promise.all(Array.from({ length: 64 }, () => run(performance.now() + ms)));
  await load(1_000);
  [count, bytes] = [0, 0];
  const cpuBefore = await cpu();
  const from = performance.now();
  await load(seconds * 1_000);
  const tookS = (performance.now() - from) / 1_000;
  const usedS = (await cpu()) - cpuBefore;
  console.log(`${Math.round(count / tookS)} trader states a second, ${Math.round(bytes / count)} bytes each`);
  console.log(
    `${Math.round((usedS / count) * 1e6)} µs of processor time each: ${Math.round(count / usedS)} a second on one core`,
  );
  await pool.close();
  child.kill("SIGTERM");
}
