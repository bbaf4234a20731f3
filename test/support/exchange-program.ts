/** The simulated exchange as a process of its own, and its control calls. */
import path from "node:path";
import type { SimulatedTrader } from "../../src/simulator/index.ts";
import { type Program, startProgram } from "./program.ts";

export interface ExchangeNotification {
  readonly authority: string;
  readonly source: string;
  readonly notificationType: string;
  readonly ackedMs: number | null;
}

/** The control calls of a simulator that runs as a process is asked over its control calls. */
export function exchangeControls(url: string) {
  const answer = async (response: Response): Promise<unknown> => {
    if (!response.ok)
      throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  return {
    async call(name: string, body: object): Promise<void> {
      const headers = { "content-type": "application/json" };
      await answer(
        await fetch(`${url}/sim/${name}`, { method: "POST", headers, body: JSON.stringify(body) }),
      );
    },
    async notifications(authority: string): Promise<readonly ExchangeNotification[]> {
      const state = (await answer(await fetch(`${url}/sim/state?authority=${authority}`))) as {
        readonly notifications: readonly ExchangeNotification[];
      };
      return state.notifications;
    },
  };
}

/** Two traders or more, prices that stand still, the real clock. */
export async function startExchange(
  folder: string,
  traders = 2,
): Promise<{
  readonly program: Program;
  readonly url: string;
  readonly traders: readonly (SimulatedTrader & { readonly keyFile: string })[];
}> {
  const args = ["--port", "0", "--speed", "1", "--walk", "off", "--traders", String(traders)];
  const program = startProgram(["simulate", ...args, "--keys-dir", path.join(folder, "keys")]);
  const ready = JSON.parse(await program.line((line) => line.startsWith("{")));
  return { program, ...ready };
}
