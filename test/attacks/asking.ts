/** Questions to a daemon that is attacked, over its socket, and how it is meanwhile. */
import { request } from "node:http";
import path from "node:path";
import type { Simulator } from "../../src/simulator/index.ts";

/** @param folder of the database `p` */
export function ask(folder: string, at: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ socketPath: path.join(folder, "p.sock"), path: at, agent: false },
        ...(body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" } }),
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.on("end", () => resolve(text));
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export async function memoryMb(folder: string): Promise<number> {
  const found = /^process_resident_memory_bytes (\S+)/m.exec(await ask(folder, "/metrics"));
  return Number(found?.[1]) / 1_048_576;
}

export const pause = (ms: number): Promise<void> => new Promise((next) => setTimeout(next, ms));

/** The times at which the state of a wallet was asked for, ms. */
export function polls(simulator: Simulator, index: number): readonly number[] {
  const at = `/v1/trader/state/${simulator.traders[index]!.authority}`;
  return simulator.requests.query(at).requests.map(({ atMs }) => atMs);
}

/** The longest time without a poll of a wallet's state, between two moments, ms. */
export function longestGap(simulator: Simulator, index: number, fromMs: number, toMs: number): number {
  const inside = polls(simulator, index).filter((ms) => ms >= fromMs && ms <= toMs);
  const times = [fromMs, ...inside, toMs];
  return Math.round(Math.max(...times.slice(1).map((ms, at) => ms - times[at]!)));
}
