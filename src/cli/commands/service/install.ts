/**
 * `perpwatch service install`: installs users, configuration, passphrase and units of the services. A second run
 * upgrades them.
 */
import path from "node:path";
import { CommandFailed } from "../../command.ts";
import { credentialName } from "../../signing/passphrase.ts";
import {
  configForService,
  serviceConfig,
  signerPart,
  signerSection,
  signerStateFolder,
  stateFolder,
  usualKeystore,
} from "./configuration.ts";
import type { Machine } from "./machine.ts";
import { asService, type ServiceCommand, setUpFailure } from "./run.ts";
import { type Credential, checkPaths, credentialPaths, type Program, systemUnit, userUnit } from "./units.ts";

export const unitFolder = "/etc/systemd/system";
export const systemUnits = ["perpwatch-signer.service", "perpwatch.service"] as const;
export const sysusersFile = "/etc/sysusers.d/perpwatch.conf";
export const tmpfilesFile = "/etc/tmpfiles.d/perpwatch.conf";

export interface Installation {
  readonly machine: Machine;
  readonly program: Program;
  /** Returns the text of a file in deploy/. */
  readonly template: (name: string) => string;
  /** The configuration to install if there is none: its path and text; text null: it does not exist. */
  readonly config: { readonly path: string; readonly text: string | null; readonly isNamed: boolean };
  /** Creates a random passphrase. */
  readonly newPassphrase: () => string;
  /** The key that seals the passphrase, by its name in `systemd-creds`. */
  readonly withKey: string;
  /** Reports a remaining manual step. */
  readonly note: (text: string) => void;
}

/** @throws {CommandFailed} if a command fails, or the configuration has mistakes: running services keep running then */
export function installSystem(installation: Installation): void {
  const { machine, program, template, note } = installation;
  checkPaths([program.node, program.main]);
  if (!machine.has(serviceConfig) && installation.config.text === null)
    throw noConfiguration(installation.config.path);
  machine.write(sysusersFile, template("perpwatch.sysusers.conf"), 0o644);
  makeUsers(machine);
  copyConfiguration(installation);
  machine.write(tmpfilesFile, template("perpwatch.tmpfiles.conf"), 0o644);
  machine.run(["systemd-tmpfiles", ...imageOption(machine), "--create", ...inImage(machine, tmpfilesFile)]);
  const credential = passphrase(installation);
  for (const name of systemUnits)
    machine.write(`${unitFolder}/${name}`, systemUnit(template(name), program, credential), 0o644);
  if (/^\/(home|root)\//.test(program.folder))
    note(
      `the program is in ${program.folder}: whoever can write there decides what the services do. In /opt/perpwatch only root does`,
    );
  if (machine.image !== null) {
    machine.run(["systemctl", `--root=${machine.image}`, "enable", ...systemUnits]);
    note(
      "run `perpwatch service install` on the machine itself, too: a passphrase is sealed for one machine",
    );
    return;
  }
  machine.run(["systemctl", "daemon-reload"]);
  machine.run(["systemctl", "enable", ...systemUnits]);
  const unit = systemUnit(template("perpwatch.service"), program, credential);
  checkConfiguration(machine, { unit, args: ["check"], config: serviceConfig }, note);
  machine.run(["systemctl", "restart", ...systemUnits]);
  note("its log: journalctl -u perpwatch -u perpwatch-signer -f");
}

/** Installs the daemon as a service of this user; `home` is the folder of the user's configurations. */
export function installUser(installation: Installation, home: string): void {
  const { machine, program, template, config, note } = installation;
  if (config.text === null) throw noConfiguration(config.path);
  checkPaths([program.node, program.main, config.path, home]);
  const credential = userPassphrase(installation, config.text, path.join(home, "perpwatch", credentialName));
  const place = { config: config.path, home };
  const unit = userUnit(template("perpwatch-user.service"), program, place, credential);
  const file = userUnitFile(home);
  machine.makeFolder(path.dirname(file), 0o755);
  machine.write(file, unit, 0o644);
  machine.run(["systemctl", "--user", "daemon-reload"]);
  machine.run(["systemctl", "--user", "enable", "perpwatch.service"]);
  checkConfiguration(machine, { unit, args: ["check"], config: config.path, user: true }, note);
  machine.run(["systemctl", "--user", "restart", "perpwatch.service"]);
  note("it ends with your last session; `loginctl enable-linger` keeps it running, and starts it at boot");
  note("its log: journalctl --user -u perpwatch -f");
}

export function userUnitFile(home: string): string {
  return path.join(home, "systemd", "user", "perpwatch.service");
}

/** Creates a passphrase if the user has none: in a file, because only system services can have it sealed. */
function userPassphrase(
  { machine, config, newPassphrase, note }: Installation,
  text: string,
  file: string,
): Credential {
  if (machine.has(file)) {
    machine.keep(file);
    return "file";
  }
  const { keystore, ownPassphrase } = signerPart(text, config.path);
  if (ownPassphrase) return "none";
  if (machine.has(keystore)) {
    note(
      `the signer is locked without the passphrase of ${keystore}: write it to ${file} (mode 0600), and install again`,
    );
    return "none";
  }
  machine.makeFolder(path.dirname(file), 0o700);
  machine.write(file, newPassphrase(), 0o600);
  note(
    `the passphrase of the keystore is in ${file}, readable by this user: only system services have it sealed. ` +
      "Keys are imported with it: perpwatch service run --user wallet import",
  );
  return "file";
}

function makeUsers(machine: Machine): void {
  const done = machine.tryRun([
    "systemd-sysusers",
    ...imageOption(machine),
    ...inImage(machine, sysusersFile),
  ]);
  if (done === null || done.status === 0) return;
  if (done.status !== null || machine.image !== null)
    throw new CommandFailed(`systemd-sysusers failed: ${done.stderr.trim() || "it was not found"}`);
  machine.run(["groupadd", "--system", "--force", "perpwatch"]);
  for (const [name, folder] of [
    ["perpwatch", stateFolder],
    ["perpwatch-signer", signerStateFolder],
  ] as const) {
    if (machine.tryRun(["id", "-u", name])?.status === 0) continue;
    const options = ["--system", "--gid", "perpwatch", "--no-create-home", "--home-dir", folder];
    machine.run(["useradd", ...options, "--shell", "/usr/sbin/nologin", name]);
  }
}

function copyConfiguration({ machine, config, note }: Installation): void {
  if (machine.has(serviceConfig)) {
    machine.keep(serviceConfig);
    if (!signerPart(machine.read(serviceConfig) ?? "{}", serviceConfig).isApart)
      note(
        `${serviceConfig} leaves signing to the daemon itself. For the signer's service add: ${signerSection}`,
      );
    if (config.isNamed && config.path !== serviceConfig)
      note(`${serviceConfig} is there already and stays as it is; ${config.path} was not copied`);
    return;
  }
  const before = config.text ?? "";
  const { text, relativeFiles, keys, hasStored } = configForService(before, config.path);
  machine.makeFolder(path.dirname(serviceConfig), 0o750);
  machine.write(serviceConfig, text, 0o640);
  note(
    `the services read ${serviceConfig}, and ${config.path} no more; their history begins anew in ${stateFolder}. ` +
      "Stop a daemon that still runs with the old one: it would notify you, too",
  );
  for (const name of keys)
    note(
      `the key of ${name} has to go into the signer's keystore: sudo perpwatch service run wallet import (its file as standard input); ` +
        `then put the line that it prints in the place of the wallet's in ${serviceConfig}, install again, and delete the file`,
    );
  if (hasStored)
    note(
      `the signer has a keystore of its own, ${usualKeystore}: bring each key of ${signerPart(before, config.path).keystore} over, ` +
        "`perpwatch wallet export ADDRESS FILE` and `sudo perpwatch service run wallet import < FILE`, and delete FILE",
    );
  if (relativeFiles.length > 0)
    note(
      `${serviceConfig} names files that have to be beside it now: ${relativeFiles.join(", ")}; ` +
        "secrets among them: sudo install -o perpwatch -g perpwatch -m 0600 FILE /etc/perpwatch/",
    );
}

function noConfiguration(file: string): CommandFailed {
  return new CommandFailed(
    `${file}: there is no such configuration; copy config.example.yaml to config.yaml and try it with \`perpwatch check\` first, ` +
      "or name another file with --config",
    2,
  );
}

/** Creates and seals a passphrase if there is none. It is never printed. */
function passphrase({ machine, newPassphrase, withKey, note }: Installation): Credential {
  const { sealed, file } = credentialPaths;
  for (const [kind, at] of [
    ["sealed", sealed],
    ["file", file],
  ] as const)
    if (machine.has(at)) {
      machine.keep(at);
      return kind;
    }
  const { keystore, ownPassphrase } = signerPart(machine.read(serviceConfig) ?? "{}", serviceConfig);
  if (ownPassphrase) return "none";
  if (machine.image !== null) return "sealed";
  const seal = ["systemd-creds", "encrypt", `--with-key=${withKey}`, `--name=${credentialName}`, "-", sealed];
  if (machine.has(keystore)) {
    note(
      `${keystore} is there, and no passphrase for it: the signer is locked. Seal its passphrase, and install again: ` +
        `systemd-ask-password -n | sudo ${seal.join(" ")}`,
    );
    return "none";
  }
  if (machine.hasProgram("systemd-creds")) {
    machine.makeFolder(path.dirname(sealed), 0o700);
    machine.run(seal, { input: newPassphrase() });
    machine.setMode(sealed, 0o600);
    note(
      `the passphrase of the keystore is sealed for this machine in ${sealed}: keep a backup of your keys elsewhere`,
    );
    return "sealed";
  }
  machine.makeFolder(path.dirname(file), 0o700);
  machine.write(file, newPassphrase(), 0o600);
  note(
    `there is no systemd-creds (systemd 250 or newer) here: the passphrase of the keystore is in ${file}, not sealed, for root alone`,
  );
  return "file";
}

/**
 * Checks the configuration as the daemon will read it. After mistakes, and where systemd cannot set up the service,
 * nothing is started and running services keep running. Warnings, failed rule tests and a check that could not run are
 * reported only.
 */
function checkConfiguration(machine: Machine, command: ServiceCommand, note: (text: string) => void): void {
  const ran = machine.tryRun(asService(command));
  if (ran === null) return;
  const { status } = ran;
  const text = `${ran.stdout}${ran.stderr}`.trim().replace(/^perpwatch: /, "");
  if (status === 2)
    throw new CommandFailed(
      `${text}\n\nInstalled, and not started. Mend ${command.config}, then run \`perpwatch service install\` again`,
      2,
    );
  const failure = setUpFailure(status, command.unit);
  if (failure !== null)
    throw new CommandFailed(
      `${text === "" ? "" : `${text}\n\n`}Installed, and not started: ${failure}. What ran before runs on`,
    );
  for (const [, warning] of text.matchAll(/^warning: (.*)$/gm)) note(`perpwatch check warns: ${warning}`);
  if (status !== 0)
    note(
      `perpwatch check ended with ${status === null ? "nothing: systemd-run was not found" : `status ${status}`}: a rule test fails, ` +
        `or the configuration could not be checked. The service is started all the same${text === "" ? "" : `\n${text}`}`,
    );
}

function imageOption({ image }: Machine): readonly string[] {
  return image === null ? [] : [`--root=${image}`];
}

/** With --root these programs read all files of a folder in the image: a path would be one of this machine. */
function inImage({ image }: Machine, file: string): readonly string[] {
  return image === null ? [file] : [path.basename(file)];
}
