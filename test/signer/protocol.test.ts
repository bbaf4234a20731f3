/** Signer and client over real sockets: replies, reasons to close the connection, and reconnection. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerClient } from "../../src/signer/client.ts";
import { connectionLimit } from "../../src/signer/connection-limit.ts";
import { answeredKeys, type KeyAnswer, localKeys, recorded, reference } from "../../src/signer/keys.ts";
import { signingPace } from "../../src/signer/pace.ts";
import { type KeyHolder, serve } from "../../src/signer/serve.ts";
import { SignerUnavailable, SigningRefused } from "../../src/signer/signer.ts";
import { lineOf, type Request, readLines } from "../../src/signer/wire.ts";
import { BadKey } from "../../src/wallet/wallet-key.ts";
import { testForms, testKey, testSigner } from "../exchange/local-exchange.ts";
import { FakeClock } from "../support/clock.ts";

const key = testKey();
const nowMs = Date.parse("2026-03-01T12:00:00Z");
const login = {
  ...({ kind: "login text", nonceId: "n-1", nowMs } as const),
  text: `Sign in to the exchange\nwallet:${key.address}\nnonce:a1b2c3d4`,
};

let folder: string;
let place: string;
let server: Server;
let askers: Set<Socket>;
let closed: string;
let holder: KeyHolder;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "perpwatch-signer-"));
  place = path.join(folder, "s");
  closed = "";
  const signer = testSigner(key);
  holder = {
    read: async () => ({ keys: [{ reference: reference.file("/k"), address: key.address }], closed }),
    signerOf: async (address) => {
      if (address !== key.address) throw new SignerUnavailable(`the signer has no key of ${address}`);
      return signer;
    },
  };
  askers = new Set();
  await listen();
});
afterEach(() => {
  server.close();
  for (const one of askers) one.destroy();
  rmSync(folder, { recursive: true, force: true });
});

async function listen(): Promise<void> {
  server = createServer((stream) => {
    askers.add(stream);
    serve(stream, { read: (how) => holder.read(how), signerOf: (address) => holder.signerOf(address) });
  });
  server.listen(place);
  await once(server, "listening");
}

function ended(): Promise<void> {
  server.close();
  for (const one of askers) one.destroy();
  return once(server, "close").then(() => {});
}

function asker(mayBeOlder = false) {
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const troubles: string[] = [];
  const older: string[] = [];
  const told: (() => void)[] = [];
  const client = new SignerClient({
    clock,
    onOlder: (what) => older.push(what),
    readTimeoutMs: 30_000,
    mayBeOlder,
    connect: async () => {
      const stream = connect(place);
      await once(stream, "connect").catch((error: Error) => {
        throw new SignerUnavailable(error.message);
      });
      return stream;
    },
    onTrouble: (trouble) => {
      troubles.push(trouble);
      for (const tell of told.splice(0)) tell();
    },
  });
  const nextTrouble = () => new Promise<void>((resolve) => told.push(resolve));
  return { client, clock, troubles, older, nextTrouble };
}

test("keys, signatures and session keys are those of a signer in the same process", async () => {
  const { client } = asker();
  expect(await client.load()).toEqual({ keys: [{ reference: "file /k", address: key.address }], closed: "" });
  const [near, far] = [testSigner(key), client.signerOf(key.address)];
  expect(await far.sign(login)).toBe(await near.sign(login));
  expect(Buffer.from(await far.sessionKey())).toEqual(Buffer.from(await near.sessionKey()));
  client.close();
});

test("many at once are answered, each its own", async () => {
  const { client } = asker();
  const signer = client.signerOf(key.address);
  const texts = Array.from({ length: 600 }, (_, index) =>
    login.text.replace("a1b2c3d4", `a1b2${1_000 + index}`),
  );
  const all = await Promise.all(texts.map((text) => signer.sign({ ...login, text })));
  expect(new Set(all).size).toBe(600);
  expect(all[7]).toBe(await testSigner(key).sign({ ...login, text: texts[7]! }));
  client.close();
});

test("refusals and unavailable keys are distinguished", async () => {
  const { client } = asker();
  const signer = client.signerOf(key.address);
  await signer.sign(login);
  const refused = await signer
    .sign({ ...login, text: `${login.text}\nmore` })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SigningRefused);
  expect(refused).toMatchObject({
    message: expect.stringContaining("another form"),
    see: "perpwatch wallet trust",
  });
  const other = testKey("other").address;
  await expect(client.signerOf(other).sign(login)).rejects.toThrow(SignerUnavailable);
  // A wallet that cannot sign is a trouble even if others can and the signer answers.
  await signer.sign(login);
  await client.load();
  expect(client.trouble).toBe(`the signer has no key of ${other}`);
  client.close();
});

test("a closed keystore is a trouble until it is open", async () => {
  const { client, troubles } = asker();
  closed = "keystore.json is closed: no passphrase was given";
  await client.load();
  expect(client.trouble).toBe(closed);
  closed = "";
  await client.load();
  expect(troubles).toEqual(["keystore.json is closed: no passphrase was given", ""]);
  client.close();
});

test("a client whose signer ended reports it, and reconnects by itself", async () => {
  const { client, clock, troubles, nextTrouble } = asker();
  const signer = client.signerOf(key.address);
  await signer.sign(login);
  const lost = nextTrouble();
  await ended();
  await lost;
  expect(troubles).toEqual(["the connection to the signer was lost"]);
  await expect(signer.sign(login)).rejects.toThrow(SignerUnavailable);
  await listen();
  const back = nextTrouble();
  await clock.advance(60_000);
  await back;
  expect(client.trouble).toBe("");
  await signer.sign(login);
  client.close();
});

test("a signer that fails to sign is a trouble until it signs, whatever it holds", async () => {
  const works = holder.signerOf;
  const { client, troubles } = asker();
  holder = {
    ...holder,
    signerOf: async (address) => ({
      ...(await works(address)),
      sign: () => Promise.reject(new TypeError("a bug")),
    }),
  };
  const signer = client.signerOf(key.address);
  await expect(signer.sign(login)).rejects.toThrow(SignerUnavailable);
  await client.load();
  expect(client.trouble).toBe("the signer failed: a bug");
  holder = { ...holder, signerOf: works };
  await signer.sign(login);
  expect(troubles).toEqual(["the signer failed: a bug", ""]);
  client.close();
});

test("requests under way end with the connection", async () => {
  holder = { ...holder, signerOf: () => new Promise(() => {}) };
  const { client } = asker();
  await client.load();
  const waiting = client.signerOf(key.address).sign(login);
  for (const one of askers) one.destroy();
  await expect(waiting).rejects.toThrow("the connection to the signer was lost");
  client.close();
});

test("a signer that does not answer times out", async () => {
  holder = { ...holder, signerOf: () => new Promise(() => {}) };
  const { client, clock } = asker();
  await client.load();
  const waiting = client
    .signerOf(key.address)
    .sign(login)
    .catch((error: Error) => error.message);
  await clock.advance(15_000);
  expect(await waiting).toBe("the signer did not answer within 15 s");
  client.close();
});

test("a signer that answers with a trouble is asked again by itself until it is over", async () => {
  const { client, clock, troubles, nextTrouble } = asker();
  closed = "keystore.json is closed: no passphrase was given";
  await client.load();
  closed = "";
  const over = nextTrouble();
  await clock.advance(60_000);
  await over;
  expect(troubles).toEqual(["keystore.json is closed: no passphrase was given", ""]);
  client.close();
});

test("a signer is asked for the keys of the configuration in force by itself, and never to load another one", async () => {
  const { client, clock, nextTrouble } = asker();
  const asked: string[] = [];
  const read = holder.read;
  holder = {
    ...holder,
    read: (how) => {
      asked.push(how);
      return read(how);
    },
  };
  closed = "keystore.json is closed: no passphrase was given";
  await client.load();
  closed = "";
  const over = nextTrouble();
  await clock.advance(60_000);
  await over;
  await client.look();
  expect(asked).toEqual(["load", "renew", "look"]);
  client.close();
});

test("a configuration that is not loaded is no trouble, a signer that has none is one", async () => {
  const { client, troubles } = asker();
  const refuse = (error: Error) => {
    holder = { ...holder, read: () => Promise.reject(error) };
  };
  refuse(new SigningRefused("the configuration has mistakes"));
  for (const read of [client.load(), client.look()])
    await expect(read).rejects.toThrow(new SigningRefused("the configuration has mistakes"));
  expect(troubles).toEqual([]);
  refuse(new SignerUnavailable("the configuration has mistakes"));
  await expect(client.load()).rejects.toThrow(SignerUnavailable);
  expect(troubles).toEqual(["the configuration has mistakes"]);
  client.close();
});

/** A signer with the connection limit of a separate signer, and a function that opens a connection to it. */
async function crowd() {
  server.close();
  await once(server, "close");
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const admit = connectionLimit(() => clock.elapsedMs());
  server = createServer((stream) => {
    askers.add(stream);
    const onRequest = admit(stream);
    if (onRequest !== null) serve(stream, holder, () => true, onRequest);
  });
  server.listen(place);
  await once(server, "listening");
  const open = async () => {
    const stream = connect(place);
    stream.on("error", () => {});
    const accepted = once(server, "connection");
    await accepted;
    return stream;
  };
  const ask = async (stream: Socket) => {
    const over = new Promise<string>((resolve) => {
      stream.once("data", () => resolve("answered"));
      stream.once("close", () => resolve("closed"));
    });
    stream.write(lineOf({ id: 1, do: "load" }));
    return over;
  };
  return { clock, open, ask };
}

test("silent connections are replaced, the one with the oldest request last", async () => {
  const { clock, open, ask } = await crowd();
  const daemon = await open();
  expect(await ask(daemon)).toBe("answered");
  const silent: Socket[] = [];
  for (let n = 0; n < 15; n++) silent.push(await open());
  // Too recent to be closed: the limit is reached.
  expect(await ask(await open())).toBe("closed");
  await clock.advance(3_000);
  const gone = once(silent[0]!, "close");
  expect(await ask(await open())).toBe("answered");
  await gone;
  for (let n = 0; n < 14; n++) expect(await ask(await open())).toBe("answered");
  // A connection with a request may be idle for longer.
  expect(await ask(await open())).toBe("closed");
  expect(await ask(daemon)).toBe("answered");
});

test("for a client that reads nothing the replies are limited", async () => {
  let made = 0;
  holder = {
    ...holder,
    read: async () => {
      made++;
      return { keys: [], closed: "x".repeat(8_000) };
    },
  };
  const stream = connect(place);
  stream.pause();
  const over = once(stream, "close");
  stream.on("error", () => {});
  await once(stream, "connect");
  const [served] = askers.size > 0 ? [...askers] : await once(server, "connection");
  const closed = once(served as Socket, "close");
  const requests = (count: number) =>
    Array.from({ length: count }, (_, id) => lineOf({ id, do: "load" })).join("");
  // The maximum that may wait; if they were answered, further ones might be accepted.
  stream.write(requests(200));
  await vi.waitFor(() => expect(made).toBeGreaterThan(1));
  stream.write(requests(150));
  await closed;
  // The capacity of the system's buffers between two sockets, plus one reply.
  expect(made).toBeLessThan(150);
  stream.resume();
  await over;
});

test("a request that only another version knows is answered, and the connection goes on", async () => {
  const stream = connect(place);
  const lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  const replyTo = async (request: object) => {
    stream.write(`${JSON.stringify(request)}\n`);
    return JSON.parse((await lines.next()).value as string) as unknown;
  };
  expect(await replyTo({ id: 1, do: "export", wallet: key.address })).toEqual({
    id: 1,
    unavailable: expect.stringContaining("is of an older version"),
  });
  expect(await replyTo({ id: 2, do: "load" })).toMatchObject({ id: 2, closed: "" });
  stream.destroy();
});

test("an older signer is reported as such, gets requests that it knows, and is a trouble only if it refuses an act", async () => {
  await ended();
  const asked: string[] = [];
  let isKnown = true;
  server = createServer((stream) => {
    askers.add(stream);
    stream.on("error", () => {});
    readLines(stream, 65_536, (text) => {
      const { id, do: what } = JSON.parse(text) as { id: number; do: string };
      asked.push(what);
      if (what === "sign" && isKnown) return void stream.write(lineOf({ id, signed: "s" }));
      if (what !== "load") return void stream.destroy();
      stream.write(lineOf({ id, keys: [{ reference: "file /k", address: key.address }], closed: "" }));
    });
  });
  server.listen(place);
  await once(server, "listening");
  const { client, clock, troubles, older, nextTrouble } = asker(true);
  expect((await client.look()).keys).toHaveLength(1);
  await client.renew();
  expect(await client.signerOf(key.address).sign(login)).toBe("s");
  expect(asked).toEqual(["look", "look", "load", "load", "sign"]);
  expect(older).toEqual([expect.stringContaining("is of an older version")]);
  expect(client.trouble).toBe("");
  isKnown = false;
  await expect(client.signerOf(key.address).sign(login)).rejects.toThrow("is of an older version");
  expect(client.trouble).toContain("is of an older version");
  await ended();
  await listen();
  const over = nextTrouble();
  await clock.advance(60_000);
  await over;
  expect(troubles.at(-1)).toBe("");
  client.close();
});

test("a closed client sends no requests", async () => {
  const { client, troubles } = asker();
  await client.load();
  client.close();
  await expect(client.load()).rejects.toThrow("stopping");
  expect(troubles).toEqual([]);
});

describe("the signer ends a connection", () => {
  const line = (request: unknown) => lineOf(request as Request);
  test.each<[string, string | Buffer]>([
    ["that sends no JSON", "hello\n"],
    ["that asks for what there is not, without a number", line({ do: "export", wallet: key.address })],
    [
      "that asks for bytes",
      line({ id: 1, do: "sign", wallet: key.address, act: { kind: "bytes", wire: "AAAA" } }),
    ],
    ["that says more than is asked for", line({ id: 1, do: "load", and: "more" })],
    ["whose line does not end", Buffer.alloc(70_000, "x")],
    ["whose line is too long", `${" ".repeat(70_000)}${line({ id: 1, do: "load" })}`],
    ["that sends bytes that are no text", Buffer.from([0xff, 0xfe, 0x0a])],
  ])("%s", async (_, bytes) => {
    const stream = connect(place);
    stream.on("error", () => {});
    let answered = "";
    stream.on("data", (chunk) => {
      answered += String(chunk);
    });
    const end = once(stream, "close");
    stream.write(bytes);
    await end;
    expect(answered).toBe("");
  });

  test("that sends too many requests without waiting", async () => {
    holder = { ...holder, read: () => new Promise(() => {}) };
    const stream = connect(place);
    stream.on("error", () => {});
    const end = once(stream, "close");
    for (let id = 1; id <= 300; id++) stream.write(line({ id, do: "load" }));
    await end;
  });
});

test.each<[string, string]>([
  ["no JSON", "hello\n"],
  ["an answer to nothing", '{"id":99,"signed":"x"}\n'],
  ["a signature of another form", '{"id":1,"sessionKey":"AAAA"}\n'],
])("an asker ends a connection that says %s", async (_, bytes) => {
  server.close();
  const { client } = asker();
  await ended().catch(() => {});
  server = createServer((stream) => {
    askers.add(stream);
    stream.on("error", () => {});
    stream.on("data", () => stream.write(bytes));
  });
  server.listen(place);
  await once(server, "listening");
  await expect(client.load()).rejects.toThrow("the connection to the signer was lost");
  client.close();
});

test("the signature rate of a wallet is limited, and other wallets are not affected", () => {
  let nowMs = 0;
  const may = signingPace(() => nowMs);
  const asked = (times: number, of = "a") =>
    Array.from({ length: times }, () => may(of)).filter(Boolean).length;
  expect([asked(200), asked(1, "b")]).toEqual([60, 1]);
  nowMs = 5_000;
  expect(asked(10)).toBe(1);
  nowMs = 3_600_000;
  expect(asked(200)).toBe(60);
});

test("keys are found by their reference in the configuration, and failures are reported unchanged", () => {
  const answers: KeyAnswer[] = [];
  const own = recorded(localKeys({ forms: testForms() }), (answer) => void answers.push(answer));
  const secret = key.withKeypair((pair) => JSON.stringify([...pair]));
  own.text(secret, "wallets.0.secret");
  expect(() => own.file("/not/there")).toThrow(BadKey);
  expect(JSON.stringify(answers)).not.toContain(secret.slice(1, 40));
  const keys = answeredKeys(
    answers,
    (address) => testSigner(key.address === address ? key : testKey(1)),
    "not asked",
  );
  expect(keys.text("", "wallets.0.secret").address).toBe(key.address);
  expect(() => keys.text("", "wallets.1.secret")).toThrow("not asked");
  expect(() => keys.file("/not/there")).toThrow("/not/there: the key file does not exist");
});
