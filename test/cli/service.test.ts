/**
 * `perpwatch service`: as a process that installs into an image's folder, with programs of systemd that record their
 * calls; and on a machine that is a folder, for what needs a running machine (a sealed passphrase, started services).
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { daemonEnvironment, daemonFlags } from "../../launch.mjs";
import { CommandFailed } from "../../src/cli/command.ts";
import { type Installation, installSystem, installUser } from "../../src/cli/commands/service/install.ts";
import { Machine, type Ran, refusalOf, type Step } from "../../src/cli/commands/service/machine.ts";
import { removeSystem, removeUser } from "../../src/cli/commands/service/remove.ts";
import { asService, unitFor } from "../../src/cli/commands/service/run.ts";
import { type Desk, desk, runProcess } from "./run.ts";

const root = path.join(import.meta.dirname, "..", "..");
const template = (name: string) => readFileSync(path.join(root, "deploy", name), "utf8");
const sealed = "/etc/credstore.encrypted/perpwatch-passphrase";
const units = ["perpwatch.service", "perpwatch-signer.service"];

const config = `# mine
wallets:
  - { name: main, keyFile: ./keys/main.json } # the one
  - { name: whale, authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD }
channels: { chat: { type: discord, webhookUrlFile: ./discord.url } }
history: { path: ./data/old.db, retention: { samples: 7d } }
`;

/** Values of a setting in a unit file, in their order. */
function settings(unit: string, name: string): readonly string[] {
  return unit
    .split("\n")
    .flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []));
}

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("the units in deploy/", () => {
  test.each([...units, "perpwatch-user.service"])(
    "%s runs Node as the launcher does, without npm",
    (name) => {
      const unit = template(name);
      const [line, ...more] = settings(unit, "ExecStart");
      expect(more).toEqual([]);
      expect(line!.split(" ").slice(0, 5)).toEqual([
        "/usr/bin/node",
        ...daemonFlags,
        "/opt/perpwatch/src/main.ts",
        name === "perpwatch-signer.service" ? "signer" : "start",
      ]);
      const env = daemonEnvironment({});
      expect(settings(unit, "Environment")).toEqual(
        Object.entries(env).map(([key, value]) => `${key}=${value}`),
      );
      expect(settings(unit, "LimitCORE")).toEqual(["0"]);
      expect(unit).not.toMatch(/network-online|Requires=|npm |launch\.mjs/);
    },
  );

  test("the passphrase is the signer's alone, and the daemon runs without the signer", () => {
    const [daemon, signer] = units.map(template);
    expect(daemon).not.toMatch(/^LoadCredential/m);
    expect(settings(signer!, "LoadCredentialEncrypted")).toEqual([`perpwatch-passphrase:${sealed}`]);
    expect(settings(daemon!, "Wants")).toEqual(["perpwatch-signer.service"]);
    expect(settings(signer!, "PrivateNetwork")).toEqual(["yes"]);
    expect([settings(daemon!, "User"), settings(signer!, "User")]).toEqual([
      ["perpwatch"],
      ["perpwatch-signer"],
    ]);
  });
});

describe("into an image, as a process", () => {
  /** Programs that record their calls. */
  function programs(
    place: Desk,
    names = ["systemd-sysusers", "systemd-tmpfiles", "systemctl", "systemd-creds"],
  ) {
    const folder = path.join(place.folder, "bin");
    mkdirSync(folder, { recursive: true });
    for (const name of names) {
      const file = path.join(folder, name);
      writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> ${place.folder}/calls\n`);
      chmodSync(file, 0o755);
    }
    return {
      PATH: folder,
      calls: () => {
        const file = path.join(place.folder, "calls");
        const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
        writeFileSync(file, "");
        return lines.filter((line) => line !== "");
      },
    };
  }

  test("installs, upgrades, and removes", { timeout: 60_000 }, async () => {
    using place = desk();
    place.write("config.yaml", config);
    const image = path.join(place.folder, "image");
    const { PATH, calls } = programs(place);
    const service = (...args: string[]) =>
      runProcess(["service", ...args, "--root", image], { folder: place.folder, env: { PATH } });

    const dry = await service("install", "--dry-run");
    expect(dry).toMatchObject({ status: 0, stderr: "" });
    expect(dry.stdout).toContain("write  /etc/systemd/system/perpwatch-signer.service\n");
    expect([existsSync(image), calls()]).toEqual([false, []]);

    const first = await service("install");
    expect(first).toMatchObject({ status: 0, stderr: "" });
    const expected = [
      `systemd-sysusers --root=${image} perpwatch.conf`,
      `systemd-tmpfiles --root=${image} --create perpwatch.conf`,
      `systemctl --root=${image} enable perpwatch-signer.service perpwatch.service`,
    ];
    expect(calls()).toEqual(expected);
    for (const line of expected)
      expect(`${first.stdout}\n${dry.stdout}`.split(`run    ${line}\n`)).toHaveLength(3);
    const at = (file: string) => path.join(image, file);
    const copied = readFileSync(at("/etc/perpwatch/config.yaml"), "utf8");
    expect(copied).toMatch(
      /^# mine\nwallets:\n {2}- \{ name: main, keyFile: \.\/keys\/main\.json \} # the one\n/,
    );
    expect(copied).toContain(
      "history: { path: /var/lib/perpwatch/perpwatch.db, retention: { samples: 7d } }",
    );
    expect(copied).toContain("socket: /run/perpwatch-signer/signer.sock");
    expect(modeOf(at("/etc/perpwatch/config.yaml"))).toBe("640");
    expect(first.stdout).toContain("the key of main has to go into the signer's keystore");
    expect(first.stdout).toContain("have to be beside it now: ./discord.url;");
    const unit = at("/etc/systemd/system/perpwatch.service");
    expect(settings(readFileSync(unit, "utf8"), "ExecStart")[0]).toBe(
      [
        process.execPath,
        ...daemonFlags,
        path.join(root, "src/main.ts"),
        "start --config /etc/perpwatch/config.yaml",
      ].join(" "),
    );

    // An upgrade writes the differences, and does not change the configuration.
    writeFileSync(unit, "[Service]\nExecStart=/old\n");
    writeFileSync(at("/etc/perpwatch/config.yaml"), "wallets: []\n");
    const second = await service("install", "--json");
    expect(calls()).toEqual(expected);
    const { steps } = second.json() as { steps: readonly Step[] };
    expect(steps.filter((step) => step.do === "write")).toEqual([
      { do: "write", path: "/etc/systemd/system/perpwatch.service" },
    ]);
    expect(readFileSync(at("/etc/perpwatch/config.yaml"), "utf8")).toBe("wallets: []\n");

    const removed = await service("remove");
    expect(calls()).toEqual([`systemctl --root=${image} disable perpwatch-signer.service perpwatch.service`]);
    expect(removed.stdout).toContain("kept: /etc/perpwatch,");
    expect(readdirSync(at("/etc/systemd/system"))).toEqual([]);
    expect(existsSync(at("/etc/perpwatch/config.yaml"))).toBe(true);
    // A second one finds nothing to do.
    expect(await service("remove")).toMatchObject({ status: 0, stderr: "" });
    expect(calls()).toEqual([]);
  });

  test("refuses what it cannot do", async () => {
    using place = desk();
    const { PATH } = programs(place, []);
    const service = (...args: string[]) =>
      runProcess(["service", "install", ...args], { folder: place.folder, env: { PATH } });
    const image = path.join(place.folder, "image");
    expect(await service("--user", "--root", image)).toMatchObject({ status: 2 });
    place.write("config.yaml", "wallets: []\n");
    const none = await service("--root", image);
    expect(none.stderr).toContain("systemd-sysusers failed: it was not found");
    programs(place);
    rmSync(path.join(place.folder, "config.yaml"));
    const without = await service("--root", image);
    expect(without).toMatchObject({ status: 2 });
    expect(without.stderr).toMatch(
      /config\.yaml: there is no such configuration; copy config\.example\.yaml/,
    );
    place.write("config.yaml", "wallets: *SECRETTOKEN\n");
    const alias = await service("--root", image);
    expect(alias).toMatchObject({ status: 2 });
    expect(alias.stderr).toContain("config.yaml: is not YAML that can be read");
    expect(alias.stderr).not.toContain("SECRETTOKEN");
    chmodSync(path.join(place.folder, "config.yaml"), 0o666);
    expect((await service("--root", image)).stderr).toMatch(/config\.yaml: can be changed by others.*chmod/);
    chmodSync(path.join(place.folder, "config.yaml"), 0o600);
    const victim = path.join(place.folder, "victim");
    mkdirSync(victim);
    mkdirSync(path.join(place.folder, "linked", "etc"), { recursive: true });
    symlinkSync(victim, path.join(place.folder, "linked", "etc", "sysusers.d"));
    expect((await service("--root", path.join(place.folder, "linked"))).stderr).toMatch(
      /sysusers\.d leads out of/,
    );
    expect(readdirSync(victim)).toEqual([]);
    place.write("config.yaml", "- a list\n");
    expect((await service("--root", image)).stderr).toContain("the configuration is no mapping of settings");
  });
});

interface Rig {
  readonly installation: Installation;
  readonly machine: Machine;
  readonly steps: Step[];
  readonly notes: string[];
  /** Commands that ran, with their input. */
  readonly ran: { readonly line: string; readonly input: string }[];
  at(file: string): string;
}

const done: Ran = { status: 0, stdout: "", stderr: "" };

/** A machine that is a folder; commands end as `answers` states by their beginning, otherwise successfully. */
function rig(
  place: Desk,
  answers: Readonly<Record<string, Ran>> = {},
  program: Partial<Installation["program"]> = {},
): Rig {
  const folder = path.join(place.folder, "machine");
  const [steps, notes, ran]: [Step[], string[], Rig["ran"]] = [[], [], []];
  const machine = new Machine({
    root: folder,
    isImage: false,
    isDry: false,
    report: (step) => steps.push(step),
    runner: (command, { input = "" } = {}) => {
      const line = command.join(" ");
      ran.push({ line, input });
      const [, answer = done] = Object.entries(answers).find(([begin]) => line.startsWith(begin)) ?? [];
      // The program makes its file.
      if (answer === done && line.startsWith("systemd-creds encrypt"))
        writeFileSync(path.join(folder, command.at(-1)!), "sealed\n");
      return answer;
    },
  });
  return {
    machine,
    steps,
    notes,
    ran,
    at: (file) => path.join(folder, file),
    installation: {
      machine,
      program: {
        node: "/usr/bin/node",
        folder: "/opt/perpwatch",
        main: "/opt/perpwatch/src/main.ts",
        ...program,
      },
      template,
      config: { path: path.join(place.folder, "config.yaml"), text: config, isNamed: false },
      newPassphrase: () => "correct-horse-battery",
      withKey: "host",
      note: (text) => notes.push(text),
    },
  };
}

const missing: Ran = { status: null, stdout: "", stderr: "" };
const linesOf = ({ ran }: Rig) => ran.map(({ line }) => line);

describe("on a machine", () => {
  test("the passphrase is sealed from standard input, shown nowhere, and kept by a second run", () => {
    using place = desk();
    const first = rig(place);
    installSystem(first.installation);
    const seals = first.ran.filter(({ input }) => input !== "");
    expect(seals).toEqual([
      {
        line: `systemd-creds encrypt --with-key=host --name=perpwatch-passphrase - ${sealed}`,
        input: "correct-horse-battery",
      },
    ]);
    expect(JSON.stringify([first.steps, first.notes])).not.toContain("correct-horse");
    expect([modeOf(first.at(sealed)), modeOf(path.dirname(first.at(sealed)))]).toEqual(["600", "700"]);
    for (const name of units)
      expect(readFileSync(first.at(`/etc/systemd/system/${name}`), "utf8")).toBe(template(name));
    expect(linesOf(first).at(-1)).toBe("systemctl restart perpwatch-signer.service perpwatch.service");

    const second = rig(place);
    installSystem(second.installation);
    expect(second.ran.filter(({ input }) => input !== "")).toEqual([]);
    expect(second.steps).toContainEqual({ do: "keep", path: sealed });
    expect(second.notes.join("\n")).not.toContain("leaves signing to the daemon itself");
    expect(second.steps.filter((step) => step.do === "write")).toEqual([]);
    expect(linesOf(second).at(-1)).toBe("systemctl restart perpwatch-signer.service perpwatch.service");
  });

  test("without systemd-creds it is a file of root's, and the unit loads that one", () => {
    using place = desk();
    const old = rig(place, { "systemd-creds": missing });
    installSystem(old.installation);
    const file = "/etc/credstore/perpwatch-passphrase";
    expect(readFileSync(old.at(file), "utf8")).toBe("correct-horse-battery");
    expect([modeOf(old.at(file)), modeOf(path.dirname(old.at(file)))]).toEqual(["600", "700"]);
    const unit = readFileSync(old.at("/etc/systemd/system/perpwatch-signer.service"), "utf8");
    expect(settings(unit, "LoadCredential")).toEqual([`perpwatch-passphrase:${file}`]);
    expect(settings(unit, "LoadCredentialEncrypted")).toEqual([]);
    expect(old.notes.join("\n")).toContain("there is no systemd-creds (systemd 250 or newer) here");
    expect(JSON.stringify([old.steps, old.notes])).not.toContain("correct-horse");
  });

  test("no passphrase is made for a keystore that has another one, or where the configuration names its file", () => {
    using place = desk();
    const other = rig(place);
    other.machine.write("/var/lib/perpwatch-signer/keystore.json", "{}", 0o600);
    installSystem(other.installation);
    expect(existsSync(other.at(sealed))).toBe(false);
    expect(other.notes.join("\n")).toContain(
      "Seal its passphrase, and install again: systemd-ask-password -n | sudo systemd-creds",
    );
    const unit = readFileSync(other.at("/etc/systemd/system/perpwatch-signer.service"), "utf8");
    expect(unit).not.toMatch(/^LoadCredential/m);

    using another = desk();
    const named = rig(another);
    named.machine.write("/etc/perpwatch/config.yaml", "signer: { passphraseFile: /run/secrets/p }\n", 0o640);
    installSystem(named.installation);
    expect(existsSync(named.at(sealed))).toBe(false);
    // An older configuration without a signer.
    expect(named.notes.join("\n")).toContain(
      "add: signer: { socket: /run/perpwatch-signer/signer.sock, keystore: ",
    );
  });

  test("with mistakes in the configuration nothing is restarted, and what runs goes on", () => {
    using place = desk();
    const wrong = { status: 2, stdout: "", stderr: "perpwatch: 1 mistake in the configuration\nline 3" };
    const broken = rig(place, { "systemd-run": wrong });
    expect(() => installSystem(broken.installation)).toThrow(
      /^1 mistake in the configuration\nline 3\n\nInstalled, and not started\. Mend \/etc\/perpwatch\/config\.yaml, then run/,
    );
    expect(linesOf(broken).some((line) => /restart/.test(line))).toBe(false);
    // A check that could not run does not prevent the installation.
    const unchecked = rig(place, { "systemd-run": { status: 1, stdout: "", stderr: "no bus" } });
    installSystem(unchecked.installation);
    expect(linesOf(unchecked).at(-1)).toMatch(/^systemctl restart/);
  });

  test.each([
    [
      "a rule test that fails",
      { status: 1, stdout: "own.test.yaml: 1 failed\n", stderr: "" },
      /status 1: a rule test fails.*own\.test\.yaml: 1 failed/s,
    ],
    [
      "a check that cannot be made",
      { status: 1, stdout: "", stderr: "no bus" },
      /status 1.*could not be checked.*no bus/s,
    ],
    ["no systemd-run", missing, /systemd-run was not found/],
    [
      "a warning",
      { ...done, stdout: "fine\nwarning: the disk is full\n" },
      /^perpwatch check warns: the disk is full$/,
    ],
  ])("%s is reported, and the services are started", (_what, answer, told) => {
    using place = desk();
    const here = rig(place, { "systemd-run": answer });
    installSystem(here.installation);
    expect(here.notes.filter((note) => told.test(note))).toHaveLength(1);
    expect(linesOf(here).at(-1)).toMatch(/^systemctl restart/);
  });

  test.each([203, 226, 243])(
    "where systemd cannot set up the service (%i) nothing is restarted",
    (status) => {
      using place = desk();
      const here = rig(place, { "systemd-run": { status, stdout: "", stderr: "" } });
      expect(() => installSystem(here.installation)).toThrow(
        new RegExp(`^Installed, and not started: systemd cannot set up the service \\(status ${status};`),
      );
      const user = rig(place, { "systemd-run": { status, stdout: "", stderr: "" } });
      expect(() => installUser(user.installation, "/home/ann/.config")).toThrow(/What ran before runs on/);
      for (const one of [here, user]) expect(linesOf(one).some((line) => /restart/.test(line))).toBe(false);
    },
  );

  test("without systemd-sysusers users are added, and a command that fails ends it with what it said", () => {
    using place = desk();
    const gone = { status: 1, stdout: "", stderr: "" };
    const old = rig(place, { "systemd-sysusers": missing, "id -u perpwatch-signer": gone });
    installSystem(old.installation);
    expect(linesOf(old).filter((line) => /^(groupadd|useradd)/.test(line))).toEqual([
      "groupadd --system --force perpwatch",
      "useradd --system --gid perpwatch --no-create-home --home-dir /var/lib/perpwatch-signer --shell /usr/sbin/nologin perpwatch-signer",
    ]);
    const refused = rig(place, { "systemctl enable": { status: 1, stdout: "", stderr: "Access denied\n" } });
    expect(() => installSystem(refused.installation)).toThrow(
      new CommandFailed(
        "systemctl enable perpwatch-signer.service perpwatch.service failed (status 1)\nAccess denied",
      ),
    );
  });

  test("a program below a home is bound into the sandbox; a path that a unit cannot name is refused", () => {
    using place = desk();
    const folder = "/home/ann/perpwatch";
    const homes = rig(place, {}, { node: "/home/ann/.n/bin/node", folder, main: `${folder}/src/main.ts` });
    installSystem(homes.installation);
    for (const name of units) {
      const unit = readFileSync(homes.at(`/etc/systemd/system/${name}`), "utf8");
      expect(settings(unit, "ProtectHome")).toEqual(["tmpfs"]);
      expect(settings(unit, "BindReadOnlyPaths")).toEqual([folder, "/home/ann/.n/bin/node"]);
    }
    expect(homes.notes.join("\n")).toContain("whoever can write there decides what the services do");
    const odd = rig(place, {}, { main: "/opt/perp watch/src/main.ts" });
    expect(() => installSystem(odd.installation)).toThrow(/a unit can only name paths of letters/);
  });

  test("for a configuration with the user's keystore it describes how to move the keys, and does not copy the passphrase", () => {
    using place = desk();
    const address = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
    const text = `wallets: [{ name: main, keystore: ${address} }]\nsigner: { passphraseFile: ./pass }\n`;
    const here = rig(place);
    const config = { path: "/home/ann/config.yaml", text, isNamed: true };
    installSystem({ ...here.installation, config });
    expect(readFileSync(here.at("/etc/perpwatch/config.yaml"), "utf8")).not.toContain("./pass");
    expect(existsSync(here.at(sealed))).toBe(true);
    const told = here.notes.join("\n");
    expect(told).toContain("bring each key of /home/ann/keystore.json over");
    expect(told).not.toContain("have to be beside it");
  });

  test("without a configuration nothing is changed", () => {
    using place = desk();
    const here = rig(place);
    const config = { path: "/home/ann/none.yaml", text: null, isNamed: true };
    expect(() => installSystem({ ...here.installation, config })).toThrow(
      /none\.yaml: there is no such configuration/,
    );
    expect(linesOf(here)).toEqual([]);
  });

  test("what is removed with a keystore in place leaves its passphrase; without one nothing secret stays", () => {
    using place = desk();
    const here = rig(place);
    installSystem(here.installation);
    here.machine.write("/var/lib/perpwatch-signer/keystore.json", "{}", 0o600);
    const notes: string[] = [];
    removeSystem(here.machine, (text) => notes.push(text));
    expect(existsSync(here.at(sealed))).toBe(true);
    expect(notes.join("\n")).toContain(
      `${sealed} is kept: nothing else opens /var/lib/perpwatch-signer/keystore.json`,
    );
    expect(linesOf(here).slice(-2)).toEqual([
      "systemctl disable --now perpwatch-signer.service perpwatch.service",
      "systemctl daemon-reload",
    ]);
    here.machine.remove("/var/lib/perpwatch-signer/keystore.json");
    removeSystem(here.machine, () => {});
    expect(existsSync(here.at(sealed))).toBe(false);
    expect(existsSync(here.at("/etc/perpwatch/config.yaml"))).toBe(true);
  });

  test.each([
    ["is gone", null],
    ["names another keystore", "signer: { keystore: ./elsewhere.json }"],
  ])("where the configuration %s, the passphrase of the keystore that is there stays", (_, text) => {
    using place = desk();
    const here = rig(place);
    installSystem(here.installation);
    here.machine.write("/var/lib/perpwatch-signer/keystore.json", "{}", 0o600);
    here.machine.remove("/etc/perpwatch/config.yaml");
    if (text !== null) here.machine.write("/etc/perpwatch/config.yaml", text, 0o640);
    removeSystem(here.machine, () => {});
    expect(existsSync(here.at(sealed))).toBe(true);
  });
});

describe("existing files of a service are read only if they are text files below a size limit", () => {
  test.each([
    ["a pipe", "is not a regular file", (at: string) => spawnSync("mkfifo", [at])],
    ["a file without end", "is no file of a disk", (at: string) => symlinkSync("/dev/zero", at)],
    ["a large file", "is too large", (at: string) => writeFileSync(at, "x".repeat(1_100_000))],
    ["bytes", "is not UTF-8 text", (at: string) => writeFileSync(at, Buffer.of(0xff, 0xfe))],
  ])("%s", (_, reason, put) => {
    for (const file of ["/etc/perpwatch/config.yaml", "/etc/systemd/system/perpwatch.service"]) {
      using place = desk();
      const one = rig(place);
      mkdirSync(path.dirname(one.at(file)), { recursive: true });
      put(one.at(file));
      expect(() => installSystem(one.installation)).toThrow(`${file} ${reason}`);
      expect(() => one.machine.read(file)).toThrow(CommandFailed);
    }
  });
});

describe("as a service of one user", () => {
  test("it has the configuration where it is, a passphrase in a file, and goes again", () => {
    using place = desk();
    const here = rig(place);
    const home = "/home/ann/.config";
    const installation = {
      ...here.installation,
      config: { path: "/home/ann/config.yaml", text: config, isNamed: true },
    };
    installUser(installation, home);
    const secret = `${home}/perpwatch/perpwatch-passphrase`;
    expect([readFileSync(here.at(secret), "utf8"), modeOf(here.at(secret))]).toEqual([
      "correct-horse-battery",
      "600",
    ]);
    expect(JSON.stringify([here.steps, here.notes])).not.toContain("correct-horse");
    const unit = readFileSync(here.at(`${home}/systemd/user/perpwatch.service`), "utf8");
    expect(settings(unit, "ExecStart")[0]).toMatch(/ start --config \/home\/ann\/config\.yaml$/);
    expect(settings(unit, "LoadCredential")).toEqual([`perpwatch-passphrase:${secret}`]);
    expect(settings(unit, "EnvironmentFile")).toEqual([`-${home}/perpwatch/environment`]);
    // Nothing in it needs namespaces, which many systems refuse to users.
    expect(unit).not.toMatch(/^(Protect|Private|BindReadOnly|User=|Group=)/m);
    expect(here.notes.join("\n")).toContain("loginctl enable-linger");
    expect(linesOf(here).map((line) => line.split(" ").slice(0, 3).join(" "))).toEqual([
      "systemctl --user daemon-reload",
      "systemctl --user enable",
      "systemd-run --user --quiet",
      "systemctl --user restart",
    ]);
    removeUser(here.machine, home, () => {});
    expect(existsSync(here.at(`${home}/systemd/user/perpwatch.service`))).toBe(false);
    expect(existsSync(here.at(secret))).toBe(true);
  });

  test("a keystore that is there already keeps its own passphrase", () => {
    using place = desk();
    const here = rig(place);
    here.machine.write("/home/ann/keystore.json", "{}", 0o600);
    const installation = {
      ...here.installation,
      config: { path: "/home/ann/config.yaml", text: config, isNamed: true },
    };
    installUser(installation, "/home/ann/.config");
    expect(existsSync(here.at("/home/ann/.config/perpwatch/perpwatch-passphrase"))).toBe(false);
    expect(here.notes.join("\n")).toContain(
      "the signer is locked without the passphrase of /home/ann/keystore.json",
    );
  });
});

test("a command runs as the user whose it is, with the settings of the unit", () => {
  expect([["wallet", "import"], ["wallet", "list"], ["status"]].map(unitFor)).toEqual([
    "perpwatch-signer.service",
    "perpwatch.service",
    "perpwatch.service",
  ]);
  const unit = template("perpwatch-signer.service");
  const line = asService({ unit, args: ["wallet", "import", "main"], config: "/etc/perpwatch/config.yaml" });
  expect(line[0]).toBe("systemd-run");
  expect(line).toContain("--property=User=perpwatch-signer");
  expect(line).toContain(`--property=LoadCredentialEncrypted=perpwatch-passphrase:${sealed}`);
  expect(line.slice(line.indexOf("--") + 1)).toEqual([
    "/usr/bin/node",
    ...daemonFlags,
    ...["/opt/perpwatch/src/main.ts", "wallet", "import", "main", "--config", "/etc/perpwatch/config.yaml"],
  ]);
  const own = asService({
    unit,
    args: ["status", "--config", "/x.yaml"],
    config: "/etc/perpwatch/config.yaml",
  });
  expect(own.slice(-3)).toEqual(["status", "--config", "/x.yaml"]);
});

test("where there is no systemd, or no root, the other ways are named", () => {
  const linux = { platform: "linux", isBooted: true, uid: 0 };
  expect(refusalOf(linux, false)).toBeNull();
  expect(refusalOf({ ...linux, uid: 1000 }, true)).toBeNull();
  expect(refusalOf({ ...linux, uid: 1000 }, false)).toMatch(/sudo.*--user/);
  for (const here of [
    { ...linux, isBooted: false },
    { ...linux, platform: "darwin" },
  ])
    expect(refusalOf(here, true)).toMatch(
      /does not run systemd.*launchd.*container.*passphraseFile.*npm start/,
    );
});
