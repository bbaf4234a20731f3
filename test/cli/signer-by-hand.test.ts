/**
 * A separate signer, set up by hand as in README and deploy/perpwatch.service: daemon and signer as two users, if run
 * as root.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startProgram } from "../support/program.ts";
import { type Desk, desk, run, runProcess } from "./run.ts";

const root = path.join(import.meta.dirname, "..", "..");
const read = (name: string) => readFileSync(path.join(root, name), "utf8");

let simulator: Simulator;
let keys: Desk;
beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator.stop();
  keys[Symbol.dispose]();
});

/** User and group ids that ordinary systems do not use. */
const [daemonUser, signerUser, group] = [64_001, 64_002, 64_010];

/** Returns true if processes of other users can be started, and can read the program. */
function canBeOthers(): boolean {
  const at = { uid: daemonUser, gid: group, cwd: "/" };
  return (
    spawnSync(
      process.execPath,
      ["-e", `require("fs").readFileSync(${JSON.stringify(path.join(root, "src/main.ts"))})`],
      at,
    ).status === 0
  );
}

test.each(["README.md", "deploy/perpwatch.service"])(
  "by %s: wallets sign in, and the signer writes beside its keystore alone",
  async (name) => {
    const areOthers = canBeOthers();
    const as = (uid: number) => (areOthers ? { uid, gid: group } : {});
    const own = (file: string, uid: number, mode: number) => {
      if (areOthers) chownSync(file, uid, group);
      chmodSync(file, mode);
    };
    using place = desk();
    const at = (...names: string[]) => path.join(place.folder, ...names);
    own(place.folder, process.getuid?.() ?? 0, 0o755);
    const [recipe] = /signer: \{ socket: [^}]*\}/.exec(read(name)) ?? [];
    const here = recipe!
      .replaceAll("/run/perpwatch-signer/", `${at("run")}/`)
      .replaceAll("/var/lib/perpwatch-signer/", `${at("signer")}/`);
    const { authority, keyFile } = simulator.traders[0]!;
    mkdirSync(at("etc"));
    place.write(
      "etc/config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        `wallets: [ { name: main, keystore: ${authority} } ]`,
        "channels: { here: { type: console } }",
        `history: { path: ${at("data", "perpwatch.db")} }`,
        "dashboard: { listen: off }",
        here,
        "",
      ].join("\n"),
    );
    own(at("etc"), process.getuid?.() ?? 0, 0o750);
    own(at("etc", "config.yaml"), process.getuid?.() ?? 0, 0o640);
    for (const [folder, uid, mode] of [
      ["data", daemonUser, 0o700],
      ["signer", signerUser, 0o700],
      ["run", signerUser, 0o750],
      ["credentials", signerUser, 0o700],
    ] as const) {
      mkdirSync(at(folder));
      own(at(folder), uid, mode);
    }
    place.write("credentials/perpwatch-passphrase", "correct horse battery staple");
    own(at("credentials", "perpwatch-passphrase"), signerUser, 0o600);
    const config = ["--config", at("etc", "config.yaml")];
    const env = { CREDENTIALS_DIRECTORY: at("credentials") };
    const input = readFileSync(keyFile!, "utf8");
    expect(
      await runProcess(["wallet", "import", ...config], {
        folder: place.folder,
        env,
        input,
        ...as(signerUser),
      }),
    ).toMatchObject({ status: 0 });
    await using signer = startProgram(["signer", ...config], {
      folder: place.folder,
      env,
      ...as(signerUser),
    });
    await signer.line((line) => line.includes("holds 1 key, listens at"));
    await using daemon = startProgram(["start", ...config], { folder: place.folder, ...as(daemonUser) });
    await daemon.line((line) => line.includes("signed in by message"));
    const written = ["login-forms.json", "signatures.log"];
    expect(written.map((one) => existsSync(at("signer", one)))).toEqual([true, true]);
    expect(written.map((one) => existsSync(at("data", one)))).toEqual([false, false]);
    if (areOthers) expect(statSync(at("signer", "signatures.log")).uid).toBe(signerUser);
    expect(signer.stderr.filter((line) => line.includes("warning"))).toEqual([]);
    expect((await run(["wallet", "trust", ...config], place)).stdout).toMatch(
      /Wallets sign logins of this form/,
    );
    expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  },
);
