/** Sends requests to a separate signer, as a daemon does. */
import { connect } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Desk } from "./run.ts";

/** Asks the signer of a place over its socket. */
export function askerAt(place: Desk) {
  const stream = connect(path.join(place.folder, "signer.sock"));
  const replies = createInterface({ input: stream })[Symbol.asyncIterator]();
  const ask = async (request: object): Promise<Record<string, unknown>> => {
    stream.write(`${JSON.stringify({ id: 1, ...request })}\n`);
    return JSON.parse((await replies.next()).value as string) as Record<string, unknown>;
  };
  return {
    ask,
    /** @param toldMs the time that the requester states */
    login(wallet: string, textMs = Date.now(), toldMs = textMs, first = "Sign in to the exchange") {
      const expires = new Date(textMs).toISOString();
      const text = `${first}\nwallet:${wallet}\nnonce:a1b2c3d4\nexpires:${expires}`;
      return ask({ do: "sign", wallet, act: { kind: "login text", text, nonceId: "n-1", nowMs: toldMs } });
    },
    [Symbol.dispose]: () => stream.destroy(),
  };
}
