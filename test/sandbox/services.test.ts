/** README's service section on a real systemd: installed, with a sealed passphrase, killed, and removed. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { desk } from "../cli/run.ts";
import { root } from "./bubblewrap.ts";
import { programFolder, startSystemd, whyNoSystemd } from "./systemd.ts";

const reason = whyNoSystemd();
// Services do not see the folders in which a checkout lies.
const node = process.execPath.startsWith(`${root}/`)
  ? path.join(programFolder, path.relative(root, process.execPath))
  : process.execPath;
const main = path.join(programFolder, "src", "main.ts");

test("two commands make services that watch, sign and come back", { timeout: 240_000 }, async ({ skip }) => {
  skip(reason !== null, reason ?? "");
  using keys = desk();
  const simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
  await using systemd = await startSystemd();
  try {
    const { keyFile, authority } = simulator.traders[0]!;
    const key = readFileSync(keyFile!, "utf8");
    const perpwatch = (args: string, input?: string) => systemd.run([node, main, ...args.split(" ")], input);
    const write = (file: string, text: string) =>
      systemd.run(["sh", "-c", `umask 077; mkdir -p "$(dirname ${file})"; cat > ${file}`], text);
    const config = (wallet: string) =>
      [
        `exchange: { baseUrl: ${simulator.url} }`,
        `wallets: [{ name: main, ${wallet} }]`,
        "channels: { here: { type: console } }",
        "dashboard: { listen: off }",
        "",
      ].join("\n");
    await write("/srv/perp/main.json", key);
    await write("/srv/perp/config.yaml", config("keyFile: ./main.json"));

    const first = await perpwatch("service install --config /srv/perp/config.yaml");
    expect(first.stderr).toContain("Installed, and not started. Mend /etc/perpwatch/config.yaml");
    expect(first.stdout).toMatch(/^run {4}systemd-creds encrypt /m);
    const imported = await perpwatch("service run wallet import", key);
    expect(imported).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`keystore: ${authority}`),
    });
    const edited = (await systemd.run(["cat", "/etc/perpwatch/config.yaml"])).stdout;
    await systemd.run(
      ["sh", "-c", "cat > /etc/perpwatch/config.yaml"],
      edited.replace(/keyFile: [^ ,}]+/, `keystore: ${authority}`),
    );
    expect(await perpwatch("service install")).toMatchObject({ status: 0 });
    await systemd.logLine("perpwatch", (line) => line.includes('"msg":"signed in by message"'));
    expect((await perpwatch("service run status")).stdout).toMatch(/^main {2}.*signed in by message/m);

    // A program that services cannot execute is named.
    const unit = "/etc/systemd/system/perpwatch.service";
    await systemd.run(["sed", "--in-place=.former", "s#^ExecStart=[^ ]*#ExecStart=/srv/perp/node#", unit]);
    await systemd.run(["sh", "-c", "umask 077; cp /bin/true /srv/perp/node"]);
    expect(await perpwatch("service run status")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/status 203.* perpwatch cannot execute \/srv\/perp\/node/),
    });
    await systemd.run(["mv", `${unit}.former`, unit]);

    const mainPid = async (unit: string) =>
      (await systemd.run(["systemctl", "show", "--property=MainPID", "--value", unit])).stdout.trim();
    for (const name of ["perpwatch", "perpwatch-signer"]) {
      const status = await systemd.run(["cat", `/proc/${await mainPid(name)}/status`]);
      expect(status.stdout).toMatch(/^CapBnd:\t0+$/m);
      expect(status.stdout).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status.stdout).toMatch(/^Seccomp:\t2$/m);
      const user = await systemd.run(["stat", "--format=%U:%G", `/proc/${await mainPid(name)}`]);
      expect(user.stdout).toBe(`${name}:perpwatch\n`);
    }
    // No other user, and not the daemon's, can open the keystore; the signer's socket is for the daemon's group.
    const asDaemon = (file: string) =>
      systemd.run(["setpriv", "--reuid=perpwatch", "--clear-groups", "cat", file]);
    expect((await asDaemon("/var/lib/perpwatch-signer/keystore.json")).stderr).toContain("Permission denied");
    const socket = await systemd.run(["stat", "--format=%A %U:%G", "/run/perpwatch-signer/signer.sock"]);
    expect(socket.stdout).toBe("srw-rw---- perpwatch-signer:perpwatch\n");

    const before = await mainPid("perpwatch");
    await systemd.run(["systemctl", "kill", "--signal=KILL", "perpwatch", "perpwatch-signer"]);
    await systemd.logLine("perpwatch", (line) => line.includes('"msg":"session restored"'));
    expect(await mainPid("perpwatch")).not.toBe(before);
    expect((await perpwatch("service run wallet login main")).status).toBe(0);

    const removed = await perpwatch("service remove");
    expect(removed.status).toBe(0);
    await systemd.logLine("perpwatch", (line) => line.includes("all that was seen is stored"));
    for (const name of ["perpwatch", "perpwatch-signer"])
      expect((await systemd.run(["systemctl", "is-active", name])).stdout).toBe("inactive\n");
    expect((await systemd.run(["ls", unit])).status).not.toBe(0);
    expect((await systemd.run(["ls", "/var/lib/perpwatch-signer"])).stdout).toContain("keystore.json");
  } finally {
    await simulator.stop();
  }
});
