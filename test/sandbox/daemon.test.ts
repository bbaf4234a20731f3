/** Daemon and signer in the sandboxes of their units, made by bubblewrap: they do their work there, stop, and reach nothing else. */
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { SignerClient } from "../../src/signer/client.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { sealKeystore } from "../../src/wallet/keystore.ts";
import { writeKeystore } from "../../src/wallet/keystore-file.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { desk, runProcess } from "../cli/run.ts";
import { linesOf, root, startSandboxed, unknownSettings } from "./bubblewrap.ts";

const units = ["perpwatch.service", "perpwatch-signer.service"];

/** Node with its flags, as the unit starts it. */
function nodeOf(unit: string): readonly string[] {
  const line = linesOf(unit).find((one) => one.startsWith("ExecStart="))!;
  const words = line.slice("ExecStart=".length).split(" ");
  return [process.execPath, ...words.slice(1, words.indexOf("/opt/perpwatch/src/main.ts"))];
}

test("each setting of the units' sandboxes is made here, or known to be missing", () => {
  expect(units.flatMap(unknownSettings)).toEqual([]);
});

test("the daemon watches, sends a test alert, and stops within 10 s", { timeout: 120_000 }, async () => {
  using place = desk();
  const simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: null });
  try {
    const config = (history: string) =>
      [
        `exchange: { baseUrl: ${simulator.url} }`,
        `wallets: [{ name: main, authority: ${simulator.traders[0]!.authority} }]`,
        "channels: { here: { type: console } }",
        `history: { path: ${history} }`,
        "dashboard: { listen: 127.0.0.1:0 }",
        "",
      ].join("\n");
    // The same daemon, as this side of the sandbox sees it.
    place.write("config.yaml", config("./state/perpwatch.db"));
    const { folder } = place;
    mkdirSync(path.join(folder, "config"));
    place.write("config/config.yaml", config("/var/lib/perpwatch/perpwatch.db"));
    const main = path.join(root, "src", "main.ts");
    const command = [...nodeOf("perpwatch.service"), main, "start", "--config", "/run/config/config.yaml"];
    await using daemon = startSandboxed({ unit: "perpwatch.service", folder, command });
    await daemon.line((line) => line.includes('"msg":"watching main;'));
    const drill = await runProcess(["drill"], { folder });
    expect(drill.status).toBe(0);
    await daemon.line((line) => line.includes('"channel":"here"') && line.includes("FireDrill"));
    const status = await runProcess(["status", "--json"], { folder });
    expect(status.status).toBe(0);

    const pid = await daemon.pid;
    const facts = readFileSync(`/proc/${pid}/status`, "utf8");
    expect(facts).toMatch(/^NoNewPrivs:\s1$/m);
    expect(facts).toMatch(/^Seccomp:\s2$/m);
    expect(facts).toMatch(/^CapEff:\s0+$/m);
    expect(readFileSync(`/proc/${pid}/limits`, "utf8")).toMatch(/^Max core file size +0 +0 /m);

    const stopAtMs = performance.now();
    process.kill(pid, "SIGTERM");
    expect(await daemon.ended).toBe(0);
    expect(performance.now() - stopAtMs).toBeLessThan(10_000);
  } finally {
    await simulator.stop();
  }
});

/** Prints what it may do, as one line of JSON. */
const probe = `
  const fs = require("node:fs"), net = require("node:net"), os = require("node:os"), { spawnSync } = require("node:child_process");
  const tried = (act) => { try { return String(act() ?? "done"); } catch (error) { return error.info?.code ?? error.code ?? error.message; } };
  const write = (file) => tried(() => fs.writeFileSync(file, "x"));
  const run = (...command) => spawnSync(command[0], command.slice(1)).status === 0 ? "done" : "failed";
  const state = process.argv[1];
  const socket = net.connect(Number(process.argv[2]), "127.0.0.1");
  const say = (network) => {
    socket.destroy();
    const server = net.createServer().listen(state + "/socket", () => {
      server.close();
      console.log("PROBE" + JSON.stringify({
        network,
        state: write(state + "/x"), etc: write("/etc/x"), program: write(process.argv[3] + "/x"), tmp: write("/tmp/x"),
        config: write("/run/config/x"), run: write("/run/x"), home: write("/home/x"), homes: fs.readdirSync("/home").length,
        interfaces: tried(() => void os.networkInterfaces()),
        priority: tried(() => os.setPriority(0, 5)),
        namespaces: run("unshare", "--user", "true"), mounts: run("unshare", "--mount", "true"),
        owner: tried(() => fs.chownSync(state + "/x", 1, 1)), children: run("/bin/sh", "-c", "true"),
        processes: fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length,
      }));
    });
  };
  socket.once("connect", () => say("reached")).once("error", (error) => say(error.code));
`;

test.each(units)("in the sandbox of %s nothing but its own folder can be changed", async (unit) => {
  using place = desk();
  const simulator = await startSimulator({ port: 0, traders: 0, walk: false, keysDir: null });
  try {
    const state = `/var/lib/${unit.replace(".service", "")}`;
    const command = [...nodeOf(unit), "-e", probe, state, new URL(simulator.url).port, root];
    await using probed = startSandboxed({ unit, folder: place.folder, command });
    const line = await probed.line((one) => one.startsWith("PROBE"));
    const isDaemon = unit === "perpwatch.service";
    expect(JSON.parse(line.slice("PROBE".length))).toEqual({
      network: isDaemon ? "reached" : "EAFNOSUPPORT",
      // Asked for when the page listens on all of them: without it the daemon would end.
      interfaces: isDaemon ? "done" : expect.stringMatching(/97|EAFNOSUPPORT/),
      ...{ state: "done", tmp: "done" },
      ...{ etc: "EROFS", program: "EROFS", config: "EROFS", run: "EROFS", home: "EROFS", homes: 0 },
      // The filter of system calls refuses these.
      ...{ priority: "EPERM", namespaces: "failed", mounts: "failed", owner: "EPERM" },
      ...{ children: "done", processes: 1 },
    });
    expect(await probed.ended).toBe(0);
  } finally {
    await simulator.stop();
  }
});

test("the signer opens its keystore and signs a login for who asks at its socket", {
  timeout: 120_000,
}, async () => {
  using place = desk();
  const { folder } = place;
  const key = WalletKey.fromSeed(new Uint8Array(32).fill(91));
  mkdirSync(path.join(folder, "config"));
  mkdirSync(path.join(folder, "state"));
  const state = "/var/lib/perpwatch-signer";
  place.write(
    "config/config.yaml",
    [
      `wallets: [{ name: main, keystore: ${key.address} }]`,
      `signer: { keystore: ${state}/keystore.json, passphraseFile: ${state}/passphrase, state: ${state} }`,
      "",
    ].join("\n"),
  );
  place.write("state/passphrase", "correct horse");
  writeKeystore(path.join(folder, "state", "keystore.json"), sealKeystore([key], "correct horse"));
  const unit = "perpwatch-signer.service";
  const main = path.join(root, "src", "main.ts");
  const command = [
    ...nodeOf(unit),
    ...[main, "signer", "--config", "/run/config/config.yaml", "--socket", `${state}/signer.sock`],
  ];
  await using signer = startSandboxed({ unit, folder, command });
  await signer.line((line) => line.includes("holds 1 key, listens at"));
  const client = new SignerClient({
    clock: systemClock(),
    readTimeoutMs: 30_000,
    connect: async () => {
      const stream = connect(path.join(folder, "state", "signer.sock"));
      await once(stream, "connect");
      return stream;
    },
  });
  try {
    expect((await client.load()).closed).toBe("");
    const text = `Sign in to the exchange\nwallet:${key.address}\nnonce:a1b2c3d4`;
    const act = { kind: "login text", text, nonceId: "n", nowMs: Date.now() } as const;
    expect(await client.signerOf(key.address).sign(act)).toBe(key.signText(text));
  } finally {
    client.close();
  }
  process.kill(await signer.pid, "SIGTERM");
  expect(await signer.ended).toBe(0);
});
