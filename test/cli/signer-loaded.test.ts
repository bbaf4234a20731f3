/** A signer uses the configuration that was loaded, whatever the file contains meanwhile. */
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { connect, createServer } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
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

const [main, second] = [0, 1];
const addressOf = (trader: number) => simulator.traders[trader]!.authority;
const walletOf = (more = "") => `{ name: main, keyFile: ${simulator.traders[main]!.keyFile}${more} }`;
const byTransaction = ", login: transaction";
const socket = "signer: { socket: ./signer.sock, passphraseFile: ./passphrase, state: ./records }";
const signed = { signed: expect.any(String) };
const otherWay = { refused: "this wallet signs in by transaction, and not by message" };

/** Sections of a configuration; others in their place make another one. */
const sections = (): Record<string, string> => ({
  exchange: `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
  wallets: `wallets: [ ${walletOf()} ]`,
  channels: "channels: { here: { type: console } }",
  history: "history: { path: ./p }",
  dashboard: "dashboard: { listen: off }",
  rules: 'rules: ["shipped"]\nruleOverrides: { SignerUnavailable: { for: 0s } }',
  signer: "signer: {}",
});
const write = (place: Desk, other: Readonly<Record<string, string>> = {}, name = "config.yaml") =>
  place.write(name, `${Object.values({ ...sections(), ...other }).join("\n")}\n`);

async function startSigner(place: Desk, keys = "1 key"): Promise<Program> {
  const signer = startProgram(["signer"], place);
  await signer.line((line) => line.includes(`holds ${keys}, listens at`));
  return signer;
}

async function hangUp(daemon: Program, outcome: RegExp): Promise<string> {
  void daemon.end("SIGHUP");
  return daemon.line((line) => outcome.test(line));
}

test("a reload that is not taken, and one that waits for a restart, change no way of login", async () => {
  using place = desk();
  write(place);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const again = async () => {
    expect(await run(["wallet", "logout", "main"], place)).toMatchObject({ status: 0 });
    return run(["wallet", "login", "main"], place);
  };
  const wallets = `wallets: [ ${walletOf(byTransaction)} ]`;
  write(place, { wallets, dashboard: "dashboard: { listen: off, mistake: 1 }" });
  await hangUp(daemon, /SIGHUP: \S+ is not taken, the daemon goes on as it was/);
  expect(await again()).toMatchObject({ status: 0, stdout: expect.stringContaining("signed in by message") });
  write(place, { wallets });
  await hangUp(daemon, /as before until a restart: wallets\.main\.login/);
  expect(await again()).toMatchObject({ status: 0, stdout: expect.stringContaining("signed in by message") });
  expect(daemon.stderr.join("\n")).not.toMatch(/and not by message/);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  expect(await run(["wallet", "logout", "main"], place)).toMatchObject({ status: 0 });
  await using next = startProgram(["start"], place);
  await next.line((line) => line.includes("signed in by transaction"));
  expect(await next.end("SIGTERM")).toMatchObject({ status: 0 });
}, 60_000);

test("a reload names what of signer: waits for a restart", async () => {
  using place = desk();
  write(place);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  write(place, { signer: "signer: { passphraseFile: ./passphrase, state: ./records }" });
  const told = await hangUp(daemon, /SIGHUP: changed, and as before until a restart/);
  expect(told).toMatch(/until a restart: signer\.passphraseFile, signer\.state"/);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
});

describe("a signer on its own", () => {
  test("is asked by commands which keys an edited file names, and signs as before", async () => {
    using place = desk();
    write(place, { signer: socket });
    await using _signer = await startSigner(place);
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    const added = `{ name: two, keyFile: ${simulator.traders[second]!.keyFile} }`;
    write(place, {
      signer: socket.replace("./records", "./others"),
      wallets: `wallets: [ ${walletOf(byTransaction)}, ${added} ]`,
      history: "history: { path: ./q }",
    });
    for (const words of [["check"], ["channels", "test", "here"], ["wallet", "list"]])
      expect(await run(words, place)).toMatchObject({ status: 0 });
    expect((await run(["check"], place)).stdout).toContain(
      "main (signs in by transaction), two (signs in by message)",
    );
    expect(await asker.ask({ do: "look" })).toMatchObject({
      keys: [{ address: addressOf(main) }, { address: addressOf(second) }],
    });
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    expect(await asker.login(addressOf(second))).toMatchObject({
      unavailable: expect.stringContaining("has no key of"),
    });
    expect(readdirSync(path.join(place.folder, "records")).sort()).toEqual([
      "login-forms.json",
      "signatures.log",
    ]);
    expect(await asker.ask({ do: "load" })).toMatchObject({ closed: "" });
    expect(await asker.login(addressOf(main))).toMatchObject(otherWay);
    expect(await asker.login(addressOf(second))).toMatchObject(signed);
  });

  test("keeps the way of login of a running daemon at its own SIGHUP, until a daemon starts", async () => {
    using place = desk();
    write(place, { signer: socket });
    await using signer = await startSigner(place);
    using asker = askerAt(place);
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf(byTransaction)} ]` });
    await hangUp(signer, /SIGHUP: loaded \S+, holds 1 key$/);
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    await asker.ask({ do: "renew" });
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("signed in by transaction"));
    expect(await asker.login(addressOf(main))).toMatchObject(otherWay);
    expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  });

  test("signs by the way of login of a running daemon also after its own restart, until a daemon starts", async () => {
    using place = desk();
    write(place, { signer: socket });
    const before = await startSigner(place);
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("signed in by message"));
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf(byTransaction)} ]` });
    expect(await before.end("SIGTERM")).toMatchObject({ status: 0 });
    await daemon.line((line) => line.includes("the connection to the signer was lost"));
    await using _ = await startSigner(place);
    await daemon.line((line) => line.includes("the signer answers"));
    expect(await run(["wallet", "logout", "main"], place)).toMatchObject({ status: 0 });
    expect(await run(["wallet", "login", "main"], place)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("signed in by message"),
    });
    expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
    expect(await run(["wallet", "logout", "main"], place)).toMatchObject({ status: 0 });
    await using next = startProgram(["start"], place);
    await next.line((line) => line.includes("signed in by transaction"));
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject(otherWay);
    expect(await next.end("SIGTERM")).toMatchObject({ status: 0 });
  }, 60_000);

  test("signs by the way of login of its file alone from a SIGHUP after its start on", async () => {
    using place = desk();
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf(byTransaction)} ]` });
    await using signer = await startSigner(place);
    using asker = askerAt(place);
    await asker.ask({ do: "renew" });
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    await hangUp(signer, /SIGHUP: loaded \S+, holds 1 key$/);
    expect(await asker.login(addressOf(main))).toMatchObject(otherWay);
  });

  test("lists the wallets that it still signs for while its file has mistakes, also removed ones", async () => {
    using place = desk();
    const added = `{ name: two, keyFile: ${simulator.traders[second]!.keyFile} }`;
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf()}, ${added} ]` });
    await using signer = await startSigner(place, "2 keys");
    using asker = askerAt(place);
    write(place, { signer: socket, wallets: `wallets: [ ${added}, { name: three, keyFile: ./none.json } ]` });
    const told = await hangUp(signer, /SIGHUP: loaded /);
    expect(told).toContain(
      `holds 1 key; the configuration has mistakes, so it signs as before for ${addressOf(main)}`,
    );
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    write(place, { signer: socket, wallets: `wallets: [ ${added} ]` });
    expect(await hangUp(signer, /SIGHUP: loaded \S+, holds 1 key$/)).not.toContain("as before");
    expect(await asker.login(addressOf(main))).toMatchObject({
      unavailable: expect.stringContaining("has no key of"),
    });
  });

  test("loads the configuration of a daemon also where its first connection is lost", async () => {
    using place = desk();
    write(place, { signer: socket });
    await using _signer = await startSigner(place);
    const [gate, own] = ["signer.sock", "own.sock"].map((name) => path.join(place.folder, name));
    renameSync(gate!, own!);
    let connections = 0;
    const server = createServer((stream) => {
      if (connections++ === 0) return void stream.destroy();
      const through = connect(own!);
      for (const one of [stream, through]) one.on("error", () => {});
      stream.pipe(through).pipe(stream);
    });
    await once(server.listen(gate!), "listening");
    try {
      write(place, { signer: socket, wallets: `wallets: [ ${walletOf(byTransaction)} ]` });
      await using daemon = startProgram(["start"], place);
      await daemon.line((line) => line.includes("signed in by transaction"));
      expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
    } finally {
      server.close();
    }
  });

  test("that is asked again for want of a passphrase loads no edited file", async () => {
    using place = desk();
    const kept = `{ name: two, keystore: ${addressOf(second)} }`;
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf()}, ${kept} ]` });
    place.write("passphrase", "correct horse battery staple");
    const input = readFileSync(simulator.traders[second]!.keyFile!, "utf8");
    expect(await runProcess(["wallet", "import"], { ...place, input })).toMatchObject({ status: 0 });
    place.write("passphrase", "another one");
    await using _signer = await startSigner(place, "2 keys");
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("No wallet can sign in:"));
    write(place, { signer: socket, wallets: `wallets: [ ${walletOf(byTransaction)} ]` });
    place.write("passphrase", "correct horse battery staple");
    await daemon.line((line) => line.includes("signed in by message") && line.includes('"two"'));
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    expect(await asker.login(addressOf(second))).toMatchObject(signed);
    expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  }, 60_000);

  test("keeps its records where they were until it is started again", async () => {
    using place = desk();
    write(place, { signer: socket });
    await using signer = await startSigner(place);
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    write(place, { signer: socket.replace("./records", "./others") });
    const warned = await hangUp(signer, /the records of forms and signatures stay in/);
    expect(warned).toMatch(/warning: .* stay in \S+\/records until the signer is started again$/);
    await asker.ask({ do: "load" });
    // Trust on first use does not apply again.
    const text = `Log in to the exchange\nwallet:${addressOf(main)}\nnonce:a1b2c3d4`;
    const act = { kind: "login text", text, nonceId: "n-1", nowMs: Date.now() };
    expect(await asker.ask({ do: "sign", wallet: addressOf(main), act })).toMatchObject({
      refused: expect.stringContaining("another form than the one that was trusted"),
    });
    expect(readdirSync(place.folder)).not.toContain("others");
  });

  test("signs logins that name the configured domain alone; the daemon alerts, the signature log has each refusal", async () => {
    using place = desk();
    const exchange = `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000, loginDomain: login.example.org }`;
    write(place, { signer: socket, exchange });
    await using _signer = await startSigner(place);
    using asker = askerAt(place);
    const login = (first: string) => asker.login(addressOf(main), Date.now(), Date.now(), first);
    const refused = { refused: expect.stringContaining("does not name login.example.org") };
    expect(await login("other.example.org wants you to sign in")).toMatchObject(refused);
    await using daemon = startProgram(["start"], place);
    expect(await daemon.line((line) => line.includes("No wallet signs in"))).toContain("LoginTextChanged");
    expect(await login("login.example.org wants you to sign in")).toMatchObject(signed);
    const entries = readFileSync(path.join(place.folder, "records", "signatures.log"), "utf8");
    const reasons = entries.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).refused]));
    expect(reasons.at(-1)).toBe(null);
    expect(reasons.slice(0, -1)).toEqual(reasons.slice(0, -1).map(() => refused.refused));
  });

  test("goes on with the forms beside the database, whatever folder has become that of its records", async () => {
    using place = desk();
    const history = "history: { path: ./data/p }";
    const alone = "signer: { socket: ./signer.sock }";
    const own = "signer: { socket: ./signer.sock, keystore: ./own/keystore.json }";
    const signIn = async (signer: string, ask: (asker: ReturnType<typeof askerAt>) => Promise<void>) => {
      write(place, { signer, history });
      await using program = startProgram(["signer"], place);
      await program.line((line) => line.includes("listens at"));
      using asker = askerAt(place);
      await ask(asker);
      await program.end("SIGTERM");
    };
    await signIn(alone, async (asker) => {
      expect(await asker.login(addressOf(main))).toMatchObject(signed);
    });
    expect(readdirSync(path.join(place.folder, "data")).sort()).toEqual([
      "login-forms.json",
      "signatures.log",
    ]);
    await signIn(own, async (asker) => {
      expect(
        await asker.login(addressOf(main), Date.now(), Date.now(), "Log in to the exchange"),
      ).toMatchObject({ refused: expect.stringContaining("another form than the one that was trusted") });
      expect(await asker.login(addressOf(main))).toMatchObject(signed);
    });
    expect(readdirSync(path.join(place.folder, "own")).sort()).toEqual([
      "login-forms.json",
      "signatures.log",
    ]);
  });

  test("trusts no first form where it cannot record it", async () => {
    using place = desk();
    place.write("data", "a file");
    write(place, { signer: "signer: { socket: ./signer.sock }", history: "history: { path: ./data/p }" });
    await using signer = startProgram(["signer"], place);
    await signer.line((line) => line.includes("listens at"));
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject({
      refused: expect.stringMatching(/cannot be recorded: .*\/data/),
    });
  });

  test("refuses logins where it may not read the forms beside the database", async () => {
    using place = desk();
    mkdirSync(path.join(place.folder, "data", "login-forms.json"), { recursive: true });
    write(place, { signer: socket, history: "history: { path: ./data/p }" });
    await using signer = startProgram(["signer"], place);
    await signer.line((line) => line.includes("listens at"));
    using asker = askerAt(place);
    expect(await asker.login(addressOf(main))).toMatchObject({
      refused: expect.stringMatching(
        /data\/login-forms\.json is a folder, not a file.*move it into \S+\/records/,
      ),
    });
    renameSync(path.join(place.folder, "data"), path.join(place.folder, "gone"));
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
    expect(existsSync(path.join(place.folder, "records", "login-forms.json"))).toBe(true);
  });
});

const canary = "CANARY77";
const mistakes = "the configuration has mistakes: run perpwatch check";
const broken: readonly [string, () => Readonly<Record<string, string>>][] = [
  [
    "exchange:",
    () => ({ exchange: `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: ${canary} }` }),
  ],
  ["signer:", () => ({ signer: `${socket.slice(0, -2)}, keystore: [ ${canary} ] }` })],
  ["history:", () => ({ history: `history: { path: ./p, ${canary}: 1 }` })],
  ["YAML that does not parse", () => ({ history: `history: { path: "${canary}` })],
];

test("a file with mistakes removes no key from a signer, which prints no text of it", async () => {
  using place = desk();
  write(place, { signer: socket });
  await using _signer = await startSigner(place);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  using asker = askerAt(place);
  const refusals = () => daemon.stderr.filter((line) => line.includes("is not taken, the daemon goes on"));
  for (const [index, [what, other]] of broken.entries()) {
    write(place, { signer: socket, ...other() });
    const loaded = await asker.ask({ do: "load" });
    expect([what, loaded]).toEqual([what, { id: expect.any(Number), refused: mistakes, see: "" }]);
    expect(JSON.stringify(await asker.ask({ do: "look" }))).not.toContain(canary);
    void daemon.end("SIGHUP");
    await daemon.line(() => refusals().length > index);
    expect(await asker.login(addressOf(main))).toMatchObject(signed);
  }
  const told = daemon.stderr.join("\n");
  expect(told).not.toContain("sign-ins fail");
  expect(told).not.toContain("the address of this key is not known");
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
});

test("a signer that starts with an invalid file is reported without text of the file", async () => {
  using place = desk();
  write(place);
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const exchange = `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: ${canary} }`;
  write(place, { exchange });
  const [child] = readFileSync(`/proc/${daemon.pid}/task/${daemon.pid}/children`, "utf8").trim().split(" ");
  process.kill(Number(child), "SIGKILL");
  await daemon.line((line) => line.includes(`No wallet can sign in: ${mistakes}`));
  write(place);
  await daemon.line((line) => line.includes("the signer answers"));
  expect([...daemon.stdout, ...daemon.stderr].join("\n")).not.toContain(canary);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
}, 60_000);
