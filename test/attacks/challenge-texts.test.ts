/**
 * Login texts that an exchange made up: once one is pinned, what a wallet may sign differs from it in nonce and time alone, judged by
 * an expression of this file; and a text that holds anything beside a login is never pinned by itself. The same through a signer's process.
 */
import { base58 } from "@scure/base";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { LoginForms, memoryForms } from "../../src/signer/login-forms.ts";
import { formOf } from "../../src/wallet/challenge-text.ts";
import { verifyBytes } from "../../src/wallet/ed25519.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { desk } from "../cli/run.ts";
import { askerAt } from "../cli/signer-client.ts";
import { startProgram } from "../support/program.ts";
import { exampleAddress } from "../wallet/example.ts";
import { inputs, Meter, report, seed } from "./measure.ts";

const random = seededRandom(seed);
const whole = (below: number) => Math.floor(random() * below);
const pick = <T>(list: readonly T[]): T => list[whole(list.length)]!;

let nowMs = Date.parse("2026-10-05T15:00:30Z");
const longest = 15 * 60_000;
const hex = (length: number) => Array.from({ length }, () => whole(16).toString(16)).join("");
const time = () => new Date(nowMs + whole(1_700_000) - 850_000).toISOString();

const times = String.raw`(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?|\d{10}(?:\d{3})?)`;
const hexNonce = String.raw`(?:[\da-f]{8,64}|[\dA-F]{8,64})`;

interface Shape {
  readonly make: () => string;
  readonly is: RegExp;
}

/** Three shapes of login texts, each with the expression that all texts of its form match, the times in groups. */
const shapesOf = (address: string): readonly Shape[] => [
  {
    make: () => `Sign in to the exchange\nwallet:${address}\nnonce:${hex(16)}\nexpires:${time()}`,
    is: new RegExp(`^Sign in to the exchange\nwallet:${address}\nnonce:${hexNonce}\nexpires:${times}$`),
  },
  {
    make: () =>
      `app.phoenix.trade wants you to sign in with your Solana account:\n${address}\n\nURI: https://app.phoenix.trade/login\n` +
      `Version: 1\nChain ID: 101\nNonce: ${hex(12)}\nIssued At: ${time()}\nExpiration Time: ${time()}`,
    is: new RegExp(
      `^app\\.phoenix\\.trade wants you to sign in with your Solana account:\n${address}\n\nURI: https://app\\.phoenix\\.trade/login\n` +
        `Version: 1\nChain ID: 101\nNonce: ${hexNonce}\nIssued At: ${times}\nExpiration Time: ${times}$`,
    ),
  },
  {
    make: () => `Welcome to Phoenix! Please sign in: ${address} nonce: ${hex(32)} at ${time()}`,
    is: new RegExp(`^Welcome to Phoenix! Please sign in: ${address} nonce: ${hexNonce} at ${times}$`),
  },
];
const shapes = shapesOf(exampleAddress);

const pieces = [
  ...[
    "transfer all funds",
    "evil.example wants you to sign in",
    "withdraw",
    "API key",
    "approve",
    "signTransaction",
  ],
  ...[
    "\n",
    " ",
    ":",
    "nonce:",
    "é",
    "{",
    "}",
    "{nonce hex}",
    "{time}",
    "0",
    "a",
    "\u0000",
    "\u202e",
    "\r",
    "\t",
    "а",
  ],
  ...[exampleAddress, "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "11111111111111111111111111111111"],
  ...[
    "2026-10-05T15:05:00Z",
    "9999-01-01T00:00:00Z",
    "1791212430",
    "1791212430000",
    "2026-10-05",
    "expires:",
  ],
  ...[
    "https://evil.example",
    "phoenix.trade@evil.example",
    "-".repeat(40),
    "x".repeat(1_024),
    "\nBuy 100 SOL",
  ],
];

function changed(text: string): string {
  const at = whole(text.length + 1);
  switch (whole(8)) {
    case 0:
      return text.slice(0, at) + pick(pieces) + text.slice(at);
    case 1:
      return text.slice(0, at) + pick(pieces) + text.slice(at + whole(8));
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + whole(4));
    case 3:
      return (
        text.slice(0, at) +
        String.fromCodePoint(pick([whole(128), whole(0xd7ff), 0x1f600])) +
        text.slice(at + 1)
      );
    case 4:
      return text.replace(/[\da-f]{12,32}/, () =>
        pick([hex(7), hex(8), hex(64), hex(65), "transferring", exampleAddress]),
      );
    case 5:
      return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, () =>
        pick([
          time(),
          "2026-10-05 15:01",
          "2026-10-05T17:00:30+02:00",
          "1791212430",
          "2027-10-05T15:00:00Z",
          "99999",
        ]),
      );
    case 6:
      return text.slice(0, at) + text.slice(at).toUpperCase();
    default: {
      const lines = text.split("\n");
      return [...lines.splice(whole(lines.length), 1), ...lines].join("\n");
    }
  }
}

/** Everything in a text that may differ is plausible. */
function isAllowed(text: string, { is }: Shape): boolean {
  const found = is.exec(text);
  if (found === null || Buffer.byteLength(text) > 1_024) return false;
  return found.slice(1).every((written) => {
    const ms = /^\d+$/.test(written)
      ? Number(written) * (written.length === 10 ? 1_000 : 1)
      : Date.parse(
          /(?:Z|[+-]\d\d:?\d\d)$/.test(written) ? written.replace(" ", "T") : `${written.replace(" ", "T")}Z`,
        );
    return Math.abs(ms - nowMs) <= longest;
  });
}

const many = inputs(4_000, 100_000);
const forms = () =>
  new LoginForms({
    ...{ store: memoryForms(), baseUrl: "https://perp-api.phoenix.trade", domain: null },
    onPinned: () => {},
  });

const askedFor = (text: string) => ({ text, nonceId: "nonce-0001", address: exampleAddress, nowMs });

/** @returns true if the text may be signed; measured, and refused by the declared error alone */
async function isAccepted(made: LoginForms, text: string, meter: Meter): Promise<boolean> {
  const startMs = performance.now();
  const accepted = await made.check(askedFor(text)).then(
    () => true,
    (error: unknown) => {
      expect(error, JSON.stringify(text)).toBeInstanceOf(BadChallenge);
      return false;
    },
  );
  meter.longestMs = Math.max(meter.longestMs, performance.now() - startMs);
  if (accepted) meter.accepted++;
  else meter.refused++;
  return accepted;
}

test(`of ${many} texts those of the pinned form are accepted (seed ${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const meter = new Meter();
  const rooms = await Promise.all(
    shapes.map(async (shape) => {
      const made = forms();
      await made.check(askedFor(shape.make()));
      return { shape, made };
    }),
  );
  for (let index = 0; index < many; index++) {
    const { shape, made } = pick(rooms);
    const plain = shape.make();
    const isChanged = random() < 0.8;
    let text = plain;
    if (isChanged) for (let more = 1 + whole(3); more > 0; more--) text = changed(text);
    const accepted = await isAccepted(made, text, meter);
    if (accepted !== isAllowed(text, shape))
      expect(accepted, `${JSON.stringify(text)} (input ${index})`).toBe(!accepted);
  }
  meter.peakMb = process.memoryUsage().rss / 1_048_576;
  report(meter.row("login texts, one pinned"));
  expect(meter.accepted).toBeGreaterThan(many / 10);
  expect(meter.refused).toBeGreaterThan(many / 10);
  expect(meter.longestMs).toBeLessThan(1_000);
});

test(`of ${many} first texts none with more than a login is pinned (seed ${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const meter = new Meter();
  const evil = /evil|transfer|withdraw|api ?key|approve|signtransaction|buy|{|}|[^\x20-\x7e\n]/i;
  for (let index = 0; index < many; index++) {
    let text = pick(shapes).make();
    for (let more = whole(4); more > 0; more--) text = changed(text);
    const made = forms();
    const accepted = await isAccepted(made, text, meter);
    if (!accepted) continue;
    // The nonce is no word, so that whatever stands in it says nothing.
    const form = formOf(askedFor(text)).replaceAll(/\{[a-z ]+\}/g, "");
    if (evil.test(form) || text.split(exampleAddress).length !== 2)
      expect(text, `input ${index}`).toBe("refused");
  }
  meter.peakMb = process.memoryUsage().rss / 1_048_576;
  report(meter.row("login texts, none pinned"));
  expect(meter.accepted).toBeGreaterThan(many / 10);
  expect(meter.refused).toBeGreaterThan(many / 10);
});

/** A signer signs for a wallet so often at once. */
const perWallet = 20;
const asked = perWallet * Math.ceil(inputs(300, 20_000) / perWallet);

test(`of ${asked} texts a signer's process signs those of the pinned form (seed ${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const keys = Array.from({ length: asked / perWallet }, () =>
    WalletKey.fromSeed(Uint8Array.from({ length: 32 }, () => whole(256))),
  );
  using place = desk();
  for (const [index, key] of keys.entries())
    key.withKeypair((pair) => place.write(`${index}.key`, JSON.stringify([...pair])));
  const wallets = keys.map((_, index) => `  - { name: w${index}, keyFile: ./${index}.key }\n`);
  place.write(
    "config.yaml",
    `wallets:\n${wallets.join("")}signer: { socket: ./signer.sock }\nhistory: { path: ./p }\ndashboard: { listen: off }\n`,
  );
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("listens at"));
  using asker = askerAt(place);
  const meter = new Meter();
  const shapeAt = whole(shapes.length);
  const ask = (wallet: string, text: string) =>
    asker.ask({ do: "sign", wallet, act: { kind: "login text", text, nonceId: "n-1", nowMs: Date.now() } });
  nowMs = Date.now();
  expect(await ask(keys[0]!.address, shapesOf(keys[0]!.address)[shapeAt]!.make())).toHaveProperty("signed");
  for (let index = 0; index < asked; index++) {
    const { address } = keys[index % keys.length]!;
    const shape = shapesOf(address)[shapeAt]!;
    nowMs = Date.now();
    let text = shape.make();
    if (random() < 0.6) for (let more = 1 + whole(2); more > 0; more--) text = changed(text);
    const startMs = performance.now();
    const reply = await ask(address, text);
    meter.longestMs = Math.max(meter.longestMs, performance.now() - startMs);
    const told = `${JSON.stringify(text)} (input ${index}): ${JSON.stringify(reply)}`;
    const isRight = isAllowed(text, shape);
    expect(reply, told).toHaveProperty(isRight ? "signed" : "refused");
    if (isRight) {
      const signature = base58.decode(reply.signed as string);
      expect(verifyBytes(base58.decode(address), Buffer.from(text), signature), told).toBe(true);
      meter.accepted++;
    } else meter.refused++;
  }
  meter.peakMb = process.memoryUsage().rss / 1_048_576;
  report(meter.row("login texts, a signer's process"));
  expect(meter.accepted).toBeGreaterThan(asked / 10);
  expect(meter.refused).toBeGreaterThan(asked / 10);
});
