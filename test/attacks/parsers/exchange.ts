/** Bytes of the exchange: answers, frames of its streams, tokens, refusals, and what follows from them. */
import { readdirSync, readFileSync } from "node:fs";
import type { Writable } from "node:stream";
import * as ws from "ws";
import { parseDecimal, ticksNearest } from "../../../src/contract/amount.ts";
import { allEndpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import { readFrame } from "../../../src/contract/stream/stream-frames.ts";
import type { TraderStateMessage } from "../../../src/contract/stream/stream-messages.ts";
import { readTime } from "../../../src/contract/time.ts";
import { parseDurationMs } from "../../../src/domain/text/duration.ts";
import { hideSecrets } from "../../../src/domain/text/hidden-secrets.ts";
import { cleanText } from "../../../src/exchange/errors.ts";
import { retryAfterMs } from "../../../src/exchange/requests/retry-after.ts";
import { tokensFrom } from "../../../src/exchange/session/tokens.ts";
import { TraderMirror } from "../../../src/exchange/stream/trader-mirror.ts";
import { bytes, isSyntax, json, type Parsers, words } from "./kinds.ts";

const examples = new URL("../../contract/examples/", import.meta.url);
const all = readdirSync(examples).map(
  (name) => [name, parseJson(readFileSync(new URL(name, examples), "utf8"))] as const,
);
const replies = all.filter(([name]) => !/^ws-|-request/.test(name)).map(([, value]) => value);
const frames = all
  .filter(([name]) => /^ws-/.test(name))
  .flatMap(([, value]) => (Array.isArray(value) ? value : [value]));
const traderFrames = frames.filter((one) => (one as { channel?: unknown }).channel === "traderState");
/** Known before what is tried. */
const snapshot = traderFrames
  .map((one) => readFrame(one) as unknown as { readonly message: TraderStateMessage })
  .find(({ message }) => message?.messageType === "snapshot")!.message;
const session = all.find(([name]) => name === "auth-session.json")![1];
/** The limits of exchange/requests/http.ts and of exchange/stream/socket.ts are 32 and 8 MB; such texts are attacked over sockets. */
const longAnswer = 2_000_000;

const bearer = Array.from(
  { length: 570 },
  (_, index) => "abcdefgh.ijkl-mnopQRST01"[(index * 7919) % 24],
).join("");

/** The reader of frames has no type of its own. */
const { Receiver } = ws as unknown as {
  readonly Receiver: new (options: { isServer: boolean; maxPayload: number; extensions: object }) => Writable;
};

/** Each reply is tried with the endpoints in turn: every input is read as some of them. */
let turn = 0;

/** A text frame of the server, unmasked. */
function framed(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, 126, body.length >> 8, body.length & 255]), body]);
}

export const parsers: Parsers = {
  JSON: { input: json(replies, longAnswer), run: (input: string) => parseJson(input), mayThrow: isSyntax },
  "answers of the exchange": {
    input: json(replies, longAnswer),
    run: (input: string) => {
      const found = parseJson(input);
      let fits = false;
      for (let more = 0; more < 4; more++)
        fits = parseReply(allEndpoints[turn++ % allEndpoints.length] as never, found).ok || fits;
      return fits;
    },
    mayThrow: isSyntax,
  },
  "frames of WebSockets": {
    input: bytes([
      ...frames.map((one) => framed(JSON.stringify(one).slice(0, 300))),
      Buffer.from("8800", "hex"),
      Buffer.from("890568656c6c6f", "hex"),
      Buffer.from("01027b22800122", "hex"),
    ]),
    run: async (input: Uint8Array) => {
      // As exchange/stream/socket.ts has it.
      const receiver = new Receiver({ isServer: false, maxPayload: 8 * 1_048_576, extensions: {} });
      receiver.on("error", () => {});
      const error = await new Promise((done) => receiver.write(Buffer.from(input), done));
      receiver.destroy();
      return !(error instanceof Error);
    },
  },
  "frames of streams": {
    input: json(frames, longAnswer),
    run: (input: string) => readFrame(parseJson(input)).kind === "message",
    mayThrow: isSyntax,
  },
  "trader states of streams": {
    input: json(traderFrames),
    run: (input: string) => {
      const frame = readFrame(parseJson(input));
      if (frame.kind !== "message" || frame.channel !== "traderState") return false;
      const mirror = new TraderMirror();
      mirror.takeMessage(snapshot, 1_000);
      const { mirrored } = mirror.takeMessage(frame.message as TraderStateMessage, 2_000);
      mirror.now();
      return mirrored !== null;
    },
    mayThrow: isSyntax,
  },
  "tokens of sessions": {
    takesAll: true,
    input: json([
      (session as { access_token: string }).access_token,
      "eyJhbGciOiJub25lIn0.eyJleHAiOjE3OTEyMTI0MzB9.x",
    ]),
    run: (input: string) =>
      Number.isFinite(
        tokensFrom({ ...(session as object), access_token: input } as never, 1_791_212_430_000)
          .accessExpiresMs,
      ),
  },
  "Retry-After and times": {
    input: words([
      "120",
      "1.5",
      "Wed, 21 Oct 2026 07:28:00 GMT",
      "2026-10-05T15:00:00.123456789Z",
      "1791212430",
    ]),
    run: (input: string) => {
      const ms = retryAfterMs(input, 1_791_212_430_000);
      if (ms !== null && !(ms >= 0 && ms <= 300_000)) throw new TypeError(`Retry-After of ${ms} ms`);
      return readTime(input) !== undefined || ms !== null;
    },
  },
  "durations and decimals": {
    input: words(["1h30m", "250ms", "1.5d", "0.25", "-1234.5678", "60400"], 2_000),
    run: (input: string) =>
      [
        parseDurationMs(input),
        parseDecimal(input, 6),
        parseDecimal(input, -2),
        ticksNearest(input, { tickSize: 100, baseLotsDecimals: 4 }),
      ].some((one) => one !== undefined),
  },
  "texts of refusals": {
    takesAll: true,
    input: words([
      ...["535 5.7.8 no AGEAYQ== \\u0041 61:62:63 %41%42", '{"error":"bad token"}'],
      ...["a", "\\", "\\u0041", "🏴\u{e0041}", "ab ", "61:", "%41", "a.b-"].map((part) =>
        part.repeat(50_000),
      ),
    ]),
    run: (input: string) => {
      hideSecrets(input.slice(0, 16_384), [bearer]);
      return cleanText(input, [bearer]).length <= 201;
    },
  },
};
