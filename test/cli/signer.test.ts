/** The signer as a process: with the daemon, separate, and unavailable. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { walletKeyFromText } from "../../src/wallet/wallet-key.ts";
import { type Program, startProgram } from "../support/program.ts";
import { type Desk, desk, run, runProcess } from "./run.ts";
import { askerAt } from "./signer-client.ts";

let simulator: Simulator;
let keys: Desk;
beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 2, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator.stop();
  keys[Symbol.dispose]();
});

const loadsBy = ({ pid }: Program) =>
  `it loads a changed configuration by: kill -HUP ${pid}, or a start of the daemon`;
const passphrase = "correct horse battery staple";
const [main, second] = [0, 1];
const keyText = (trader: number) => readFileSync(simulator.traders[trader]!.keyFile!, "utf8").trim();
const addressOf = (trader: number) => simulator.traders[trader]!.authority;

function home(
  more: readonly string[],
  wallets = [`{ name: main, keyFile: ${simulator.traders[main]!.keyFile} }`],
): Desk {
  const place = desk();
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
      `wallets: [ ${wallets.join(", ")} ]`,
      "channels: { here: { type: console } }",
      "history: { path: ./p }",
      "dashboard: { listen: off }",
      'rules: ["shipped"]',
      "ruleOverrides: { SignerUnavailable: { for: 0s } }",
      ...more,
      "",
    ].join("\n"),
  );
  return place;
}

/** Returns false once it ended, even as a zombie. */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
}

/** The processes whose parent is this one. */
function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(pid);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/**
 * Searches the readable memory of a process.
 * @returns the number of occurrences of each content that was found
 */
function heldBy(pid: number, contents: Readonly<Record<string, Buffer>>): Record<string, number> {
  const found = new Map<string, Set<number>>();
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const chunk = Buffer.alloc(4_194_304);
  const overlap = 1_024;
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const [, from, to, rights] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
      if (from === undefined || to === undefined || !rights!.startsWith("rw")) continue;
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += chunk.length - overlap) {
        let read: number;
        try {
          read = readSync(memory, chunk, 0, Math.min(chunk.length, end - at), at);
        } catch {
          // Reserved, but not mapped.
          break;
        }
        const part = chunk.subarray(0, read);
        for (const [name, content] of Object.entries(contents))
          for (let place = part.indexOf(content); place >= 0; place = part.indexOf(content, place + 1))
            found.set(name, (found.get(name) ?? new Set()).add(at + place));
      }
    }
  } finally {
    closeSync(memory);
  }
  return Object.fromEntries([...found].map(([name, places]) => [name, places.size]));
}

test("the daemon's memory holds no key, its signer's has the seed once; both end together", async () => {
  using place = home([]);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const { pid } = daemon;
  const [signer] = childrenOf(pid);
  const key = walletKeyFromText(keyText(main));
  const seed = key.withKeypair((pair) => Buffer.from(pair.subarray(0, 32)));
  const contents = {
    seed,
    file: Buffer.from(keyText(main).slice(0, 60)),
    address: Buffer.from(addressOf(main)),
  };
  expect(heldBy(pid, contents)).toEqual({ address: expect.any(Number) });
  // The search finds what is there: the seed once, outside of JavaScript's heap.
  expect(heldBy(signer!, contents)).toMatchObject({ address: expect.any(Number), seed: 1 });
  const lines = readFileSync(path.join(place.folder, "signatures.log"), "utf8").trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      at: expect.stringMatching(/Z$/),
      ...{
        act: "login text",
        wallet: addressOf(main),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        refused: null,
      },
    },
  ]);
  expect(statSync(path.join(place.folder, "signatures.log")).mode & 0o777).toBe(0o600);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  expect(daemon.stderr.join("\n")).not.toContain("the signer's process");
  await vi.waitFor(() => expect(isRunning(signer!)).toBe(false), 10_000);
});

/** The first flag of a Node, and its limit of core dumps. */
const closed = (cmdline: string, limits: string) => ({
  flag: cmdline.split("\0")[1],
  core: /^Max core file size +(\S+)/m.exec(limits)![1],
});

test("the signer of a daemon, and that of a command, leaves no core, and takes no debugger by a signal", async () => {
  using place = home([]);
  await using daemon = startProgram(["start"], { ...place, cores: true });
  await daemon.line((line) => line.includes("signed in by message"));
  const ofProcess = (pid: number) => {
    const [cmdline, limits] = ["cmdline", "limits"].map((name) =>
      readFileSync(`/proc/${pid}/${name}`, "utf8"),
    );
    return closed(cmdline!, limits!);
  };
  expect(ofProcess(daemon.pid).core).toBe("unlimited");
  const [signer] = childrenOf(daemon.pid);
  expect(ofProcess(signer!)).toEqual({ flag: "--disable-sigusr1", core: "0" });
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  // The signer of a command ends before it can be examined.
  const noting = `
    import { readFileSync, writeFileSync } from "node:fs";
    const files = ["cmdline", "limits"].map((name) => readFileSync("/proc/self/" + name, "utf8"));
    writeFileSync(process.argv[2] + ".json", JSON.stringify(files));`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(noting)}` };
  await using login = startProgram(["wallet", "login", "main"], { ...place, env, cores: true });
  expect(await login.ended).toMatchObject({ status: 0 });
  const noted = (command: string) =>
    closed(
      ...(JSON.parse(readFileSync(path.join(place.folder, `${command}.json`), "utf8")) as [string, string]),
    );
  expect(noted("wallet").core).toBe("unlimited");
  expect(noted("signer")).toEqual({ flag: "--disable-sigusr1", core: "0" });
});

test("a signer that is killed is started again, and the watching goes on", async () => {
  using place = home([]);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const { pid } = daemon;
  const [signer] = childrenOf(pid);
  process.kill(signer!, "SIGKILL");
  const ended = await daemon.line((line) =>
    line.includes(`the signer's process ${signer} was ended by SIGKILL`),
  );
  expect(JSON.parse(ended)).toMatchObject({ level: "warn" });
  await daemon.line((line) => line.includes("sign-ins fail: the connection to the signer was lost"));
  await daemon.line((line) => line.includes("the signer answers"));
  expect(childrenOf(pid)).not.toEqual([signer]);
  expect(await run(["wallet", "login", "main"], place)).toMatchObject({ status: 0 });
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
});

test("a signer on its own, away at first: one alert, public reads go on, and it signs in when it is there", async () => {
  using place = home(
    ["signer: { socket: ./s/signer.sock, passphraseFile: ./passphrase }"],
    [
      `{ name: main, keystore: ${addressOf(main)} }`,
      `{ name: two, keyFile: ./two.json, address: ${addressOf(second)} }`,
    ],
  );
  place.write("passphrase", `${passphrase}\n`);
  place.write("two.json", keyText(second));
  expect(await runProcess(["wallet", "import"], { ...place, input: keyText(main) })).toMatchObject({
    status: 0,
  });
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) =>
    /No wallet can sign in: the signer at .*signer\.sock cannot be reached \(ENOENT\)/.test(line),
  );
  await daemon.line((line) => line.includes('"channel":"here"') && line.includes("No wallet can sign in"));
  const { watch } = (await run(["status", "--json"], place)).json() as {
    watch: { wallets: { signedIn: boolean }[] };
  };
  expect(watch.wallets.map(({ signedIn }) => signedIn)).toEqual([false, false]);
  expect((await run(["whatif", "--wallet", "main"], place)).stdout).toMatch(/equity/);
  mkdirSync(path.join(place.folder, "s"), { mode: 0o750 });
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("holds 2 keys, listens at"));
  expect(statSync(path.join(place.folder, "s", "signer.sock")).mode & 0o777).toBe(0o660);
  await daemon.line(
    (line) => line.includes('"channel":"here"') && line.includes("Wallets can sign in again"),
  );
  const signedIn = (name: string) => (line: string) =>
    line.includes("signed in by message") && line.includes(`"${name}"`);
  await daemon.line(signedIn("main"));
  await daemon.line(signedIn("two"));
  // A second one does not take its place, and the one that listens is not disturbed.
  expect(await runProcess(["signer"], place)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("another signer listens there already"),
  });
  expect(await run(["wallet", "login", "main"], place)).toMatchObject({ status: 0 });
  await signer.end("SIGTERM");
  await daemon.line((line) => line.includes("sign-ins fail: the connection to the signer was lost"));
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
}, 180_000);

test("without the passphrase the keystore stays closed: one alert for all wallets, and public reads go on", async () => {
  const wallets = [main, second];
  using place = home(
    ["signer: { passphraseFile: ./passphrase }"],
    wallets.map((trader) => `{ name: ${simulator.traders[trader]!.name}, keystore: ${addressOf(trader)} }`),
  );
  place.write("passphrase", passphrase);
  for (const trader of wallets)
    expect(await runProcess(["wallet", "import"], { ...place, input: keyText(trader) })).toMatchObject({
      status: 0,
    });
  place.write("passphrase", "another one");
  await using daemon = startProgram(["start"], place);
  const isAlert = (line: string) => line.includes('"channel":"here"') && line.includes('"kind":"alert"');
  expect(await daemon.line(isAlert)).toMatch(
    /No wallet can sign in: .*the passphrase does not open the keystore/,
  );
  const { watch } = (await run(["status", "--json"], place)).json() as {
    watch: { wallets: { signedIn: boolean }[] };
  };
  expect(watch.wallets.map(({ signedIn }) => signedIn)).toEqual([false, false]);
  // Public reads.
  for (const trader of wallets)
    expect((await run(["whatif", "--wallet", simulator.traders[trader]!.name], place)).stdout).toMatch(
      /equity/,
    );
  place.write("passphrase", passphrase);
  void daemon.end("SIGHUP");
  for (const trader of wallets)
    await daemon.line(
      (line) =>
        line.includes("signed in by message") && line.includes(`"${simulator.traders[trader]!.name}"`),
    );
  await daemon.line((line) => isAlert(line) && line.includes("Wallets can sign in again"));
  expect([...daemon.stdout, ...daemon.stderr].filter(isAlert)).toHaveLength(2);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
}, 180_000);

test("a passphrase that is gone, and a keystore that is gone, stop nothing", async () => {
  using place = home(
    ["signer: { passphraseFile: ./passphrase }"],
    [`{ name: main, keystore: ${addressOf(main)} }`],
  );
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => /No wallet can sign in: there is no keystore /.test(line));
  place.write("passphrase", passphrase);
  expect(await runProcess(["wallet", "import"], { ...place, input: keyText(main) })).toMatchObject({
    status: 0,
  });
  // It is retried without any request.
  await daemon.line((line) => line.includes("signed in by message"));
  // Keys that were opened stay usable, whatever happens to the files.
  rmSync(path.join(place.folder, "passphrase"));
  rmSync(path.join(place.folder, "keystore.json"));
  void daemon.end("SIGHUP");
  const usedOn = await daemon.line((line) => line.includes("the keys that were opened before are used on"));
  expect(JSON.parse(usedOn)).toMatchObject({ level: "warn" });
  expect(await run(["wallet", "login", "main"], place)).toMatchObject({ status: 0 });
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
}, 180_000);

test("a secret in a file of its own is read by the signer alone", async () => {
  using place = home([], ["{ name: main, secretFile: ./secret }"]);
  place.write("secret", keyText(main));
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const key = walletKeyFromText(keyText(main));
  const seed = key.withKeypair((pair) => Buffer.from(pair.subarray(0, 32)));
  expect(heldBy(daemon.pid, { seed, file: Buffer.from(keyText(main).slice(0, 60)) })).toEqual({});
});

test("a signer is not put in the place of a file", async () => {
  using place = home([]);
  const ran = await runProcess(["signer", "--socket", "./config.yaml"], place);
  expect(ran).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("is no socket, and is not replaced"),
  });
  expect(existsSync(path.join(place.folder, "config.yaml"))).toBe(true);
});

test("an invalid key file is reported as a mistake of the configuration, with its line", async () => {
  using place = home([], ["{ name: main, keyFile: ./none.json }"]);
  const started = await runProcess(["start"], place);
  expect(started).toMatchObject({ status: 2 });
  expect(started.stderr).toMatch(/config\.yaml:2:\d+: .*the key file does not exist/);
});

test("the text of a login is compared with the machine's clock, not with the requester's time", async () => {
  using place = desk();
  const { keyFile, authority } = simulator.traders[main]!;
  place.write(
    "config.yaml",
    `wallets: [ { name: main, keyFile: ${keyFile} } ]\nsigner: { socket: ./signer.sock }\n`,
  );
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("holds 1 key, listens at"));
  using asker = askerAt(place);
  const ask = (textMs: number, toldMs: number) => asker.login(authority, textMs, toldMs);
  for (const hours of [-24, -1, 1, 24]) {
    const textMs = Date.now() + hours * 3_600_000;
    expect(await ask(textMs, textMs)).toMatchObject({
      refused: expect.stringMatching(/the clocks of this machine and of the exchange differ by (1h|1d|\d+m)/),
    });
    expect(await ask(textMs, Date.now())).toMatchObject({ refused: expect.stringContaining("15 minutes") });
  }
  const nowMs = Date.now();
  expect(await ask(nowMs, nowMs)).toMatchObject({ signed: expect.any(String) });
});

test("a wallet that is gone from the configuration is signed for no more once it is read again", async () => {
  const wallet = (name: string, trader: number) =>
    `{ name: ${name}, keyFile: ${simulator.traders[trader]!.keyFile} }`;
  const socket = ["signer: { socket: ./signer.sock }"];
  using place = home(socket, [wallet("main", main), wallet("two", second)]);
  const rewrite = (wallets: string[]) => {
    using other = home(socket, wallets);
    place.write("config.yaml", readFileSync(path.join(other.folder, "config.yaml"), "utf8"));
  };
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("holds 2 keys, listens at"));
  using asker = askerAt(place);
  const signed = { signed: expect.any(String) };
  expect(await asker.login(addressOf(second))).toMatchObject(signed);
  // A configuration with a mistake is not loaded by any daemon.
  rewrite([wallet("main", main), "{ name: two, keyFile: ./none.json }"]);
  void signer.end("SIGHUP");
  const asBefore = `it signs as before for ${addressOf(second)}`;
  await signer.line((line) => line.includes("SIGHUP: loaded ") && line.endsWith(asBefore));
  expect(await asker.login(addressOf(second))).toMatchObject(signed);
  rewrite([wallet("main", main)]);
  expect(await asker.ask({ do: "load" })).toMatchObject({ keys: [{ address: addressOf(main) }] });
  expect(await asker.login(addressOf(second))).toMatchObject({
    unavailable: `the signer has no key of ${addressOf(second)}; ${loadsBy(signer)}`,
  });
  expect(await asker.login(addressOf(main))).toMatchObject(signed);
});

test("a wallet that the signer has no key of is a trouble until the daemon reads a configuration without it", async () => {
  const wallet = (name: string, trader: number) => `{ name: ${name}, keystore: ${addressOf(trader)} }`;
  const socket = ["signer: { socket: ./signer.sock, passphraseFile: ./passphrase }"];
  using place = home(socket, [wallet("main", main), wallet("two", second)]);
  place.write("passphrase", passphrase);
  await runProcess(["wallet", "import"], { ...place, input: keyText(main) });
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("No wallet can sign in: the signer at"));
  const config = readFileSync(path.join(place.folder, "config.yaml"), "utf8");
  const less = config.replace(`, ${wallet("two", second)}`, "");
  place.write("signer.yaml", less);
  await using signer = startProgram(["signer", "--config", "signer.yaml"], place);
  await signer.line((line) => line.includes("holds 1 key, listens at"));
  await daemon.line((line) => line.includes(`sign-ins fail: the signer has no key of ${addressOf(second)}`));
  place.write("config.yaml", less);
  void daemon.end("SIGHUP");
  await daemon.line((line) =>
    line.includes("SIGHUP: changed, and as before until a restart: wallets.two (gone)"),
  );
  await daemon.line((line) => line.includes("the signer answers"));
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
}, 180_000);

test("each refusal is a line of the signature log, also by pace and of a wallet that is none, and a flood does not fill it", async () => {
  using place = home(["signer: { socket: ./signer.sock }"]);
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("holds 1 key, listens at"));
  using asker = askerAt(place);
  const lines = () => readFileSync(path.join(place.folder, "signatures.log"), "utf8").trim().split("\n");
  const last = () => JSON.parse(lines().at(-1)!) as { wallet: string; refused: string | null };
  const stranger = addressOf(second);
  expect(await asker.login(stranger)).toMatchObject({ unavailable: expect.stringContaining("no key of") });
  expect(last()).toMatchObject({
    ...{ act: "login text", wallet: stranger, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    refused: `the signer has no key of ${stranger}; ${loadsBy(signer)}`,
  });
  for (let count = 0; count < 80; count++) await asker.login(addressOf(main));
  expect(last()).toMatchObject({
    wallet: addressOf(main),
    refused: expect.stringContaining("more signatures are asked for than a wallet needs"),
  });
  const before = lines().length;
  for (let count = 0; count < 300; count++) await asker.login(`${stranger.slice(4)}${1_000 + count}`);
  // A line in 5 s after the first ones.
  expect(lines().length - before).toBeLessThan(100);
  expect(lines().length - before).toBeGreaterThan(10);
});

test("errors of the listening socket are reported, and do not end the signer", async () => {
  using place = home(["signer: { socket: ./signer.sock }"]);
  const fault = `
    import net from "node:net";
    const { listen } = net.Server.prototype;
    net.Server.prototype.listen = function (...args) {
      this.once("listening", () => setImmediate(() => {
        for (const code of ["ENOBUFS", "EMFILE"]) this.emit("error", Object.assign(new Error("accept " + code), { code }));
      }));
      return listen.apply(this, args);
    };`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` };
  await using signer = startProgram(["signer"], { ...place, env });
  for (const code of ["ENOBUFS", "EMFILE"])
    await signer.line((line) => line.includes(`warning: the socket failed: accept ${code}`));
  using asker = askerAt(place);
  expect(await asker.login(addressOf(main))).toMatchObject({ signed: expect.any(String) });
});

test("a connection without a valid request gets no answer", async () => {
  using place = home([`signer: { socket: ./signer.sock }`]);
  await using signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes("holds 1 key, listens at"));
  const said = await new Promise<string>((resolve) => {
    const stream = connect(path.join(place.folder, "signer.sock"));
    let text = "";
    stream.on("data", (chunk) => {
      text += String(chunk);
    });
    stream.on("close", () => resolve(text));
    stream.write(
      `{"id":1,"do":"sign","wallet":"${addressOf(main)}","act":{"kind":"bytes","bytes":"AAAA"}}\n`,
    );
  });
  expect(said).toBe("");
});
