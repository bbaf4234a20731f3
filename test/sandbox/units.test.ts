/** systemd's own judgement of the units, as they stand and as they are installed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { systemUnit, userUnit } from "../../src/cli/commands/service/units.ts";
import { linesOf, root } from "./bubblewrap.ts";

/** The largest exposure that is allowed, in tenths: 1.5 of 10. */
const threshold = 15;

function exposureOf(file: string): { readonly status: number | null; readonly exposure: number } {
  const args = ["security", "--offline=true", `--threshold=${threshold}`, "--no-pager", file];
  const { status, stdout, error } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  if (error !== undefined)
    throw new Error("systemd-analyze is missing: apt-get install systemd", { cause: error });
  return { status, exposure: Number(/exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]) };
}

test.each(["perpwatch.service", "perpwatch-signer.service"])("%s has an exposure of at most 1.5", (name) => {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-units-"));
  try {
    const template = readFileSync(path.join(root, "deploy", name), "utf8");
    const below = "/home/ann/perpwatch";
    const program = { node: "/home/ann/.n/bin/node", folder: below, main: `${below}/src/main.ts` };
    const forms = [template, systemUnit(template, program, "sealed"), systemUnit(template, program, "file")];
    for (const text of forms) {
      const file = path.join(folder, name);
      writeFileSync(file, text);
      const { status, exposure } = exposureOf(file);
      expect(exposure).toBeLessThanOrEqual(threshold / 10);
      expect(status).toBe(0);
    }
    // Without its sandbox it is refused: the judgement is one.
    const file = path.join(folder, name);
    writeFileSync(file, template.replaceAll(/^(Protect|Private|Restrict|SystemCall|Capab).*\n/gm, ""));
    expect(exposureOf(file)).toEqual({ status: 1, exposure: expect.any(Number) as number });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Settings that need namespaces or the rights of root, which a user's service manager may not have. */
const notOfUsers = [
  ...[
    "PrivateDevices=",
    "PrivateMounts=",
    "PrivateTmp=",
    "PrivateUsers=",
    "DeviceAllow=",
    "RootDirectory=/RootImage=",
  ],
  ...["ProtectClock=", "ProtectControlGroups=", "ProtectHome=", "ProtectHostname=", "ProtectKernelLogs="],
  ...["ProtectKernelModules=", "ProtectKernelTunables=", "ProtectProc=", "ProtectSystem=", "ProcSubset="],
  ...["IPAddressDeny=", "RemoveIPC="],
];
/** Settings that the daemon cannot have: it compiles, and speaks with the network and with commands. */
const notOfDaemons = [
  ...["MemoryDenyWriteExecute=", "PrivateNetwork="],
  ...["(INET|INET6)", "UNIX", "NETLINK"].map((family) => `RestrictAddressFamilies=~AF_${family}`),
];

test("perpwatch-user.service has all of the sandbox that a user's service manager can give", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-units-"));
  try {
    const name = "perpwatch-user.service";
    const template = readFileSync(path.join(root, "deploy", name), "utf8");
    const program = {
      node: "/opt/node/bin/node",
      folder: "/opt/perpwatch",
      main: "/opt/perpwatch/src/main.ts",
    };
    const place = { config: "/home/ann/.config/perpwatch/config.yaml", home: "/home/ann/.config" };
    for (const text of [template, userUnit(template, program, place, "file")]) {
      const file = path.join(folder, name);
      // systemd judges system services; one of a user is not root's, and has no capabilities.
      writeFileSync(file, text.replace("[Service]\n", "[Service]\nUser=ann\nCapabilityBoundingSet=\n"));
      const args = ["security", "--offline=true", "--json=short", "--no-pager", file];
      const { stdout } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
      const judged = JSON.parse(stdout) as { readonly name: string; readonly set: boolean | null }[];
      const lacking = judged.filter(({ set }) => set === false).map((one) => one.name);
      expect(judged.length).toBeGreaterThan(50);
      expect(lacking.filter((one) => ![...notOfUsers, ...notOfDaemons].includes(one))).toEqual([]);
      expect(exposureOf(file).exposure).toBeLessThanOrEqual(3.4);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the daemon reaches the signer's socket by its group, and nothing else of the signer", () => {
  const [signer, daemon] = ["perpwatch-signer.service", "perpwatch.service"].map(linesOf);
  for (const line of [
    ...["User=perpwatch-signer", "Group=perpwatch", "RuntimeDirectory=perpwatch-signer"],
    ...[
      "RuntimeDirectoryMode=0750",
      "StateDirectory=perpwatch-signer",
      "StateDirectoryMode=0700",
      "UMask=0077",
    ],
    "LoadCredentialEncrypted=perpwatch-passphrase:/etc/credstore.encrypted/perpwatch-passphrase",
  ])
    expect(signer).toContain(line);
  expect(daemon).toContain("User=perpwatch");
  expect(
    daemon!.filter((line) => /Credential|perpwatch-signer/.test(line) && !/^(Wants|After)=/.test(line)),
  ).toEqual([]);
});
