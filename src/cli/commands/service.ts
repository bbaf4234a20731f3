/** `perpwatch service`: the daemon and its signer as services of systemd. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Command, Option } from "commander";
import { readTextFile, userName } from "../../files/index.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  namedConfig,
  print,
  printJson,
} from "../command.ts";
import {
  type Installation,
  installSystem,
  installUser,
  unitFolder,
  userUnitFile,
} from "./service/install.ts";
import { Machine, refusalOf, runProgram, type Step } from "./service/machine.ts";
import { removeSystem, removeUser } from "./service/remove.ts";
import { asService, setUpFailure, unitFor } from "./service/run.ts";
import { configOf } from "./service/units.ts";

interface ServiceOptions extends CommonOptions {
  readonly user?: boolean;
  readonly dryRun?: boolean;
  readonly root?: string;
}

/** The folder of the program: the checkout or the package. */
const programFolder = path.join(import.meta.dirname, "..", "..", "..");

export function serviceCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "service", "the daemon and its signer as services of systemd", [
    "service install",
    "service run status",
  ]);
  withInstallOptions(
    declare(group, {
      usage: "install",
      summary: "install, or upgrade, and start the services",
      about:
        "System services, as root: users perpwatch and perpwatch-signer, /etc/perpwatch/config.yaml (a copy of --config, where there is\n" +
        "none), a passphrase for the keystore that is sealed by systemd-creds, and two units that are started and enabled. A second run\n" +
        "writes the units anew and restarts them; configuration and passphrase stay. Each change and each command is printed.\n\n" +
        "--user: one service of your own service manager, with the configuration where it is and the passphrase in a file.",
      examples: ["service install", "service install --user", "service install --dry-run"],
    }).addOption(
      new Option(
        "--with-key <key>",
        "the key that seals the passphrase; tpm2: lost with a change of the firmware",
      )
        .choices(["host", "tpm2", "host+tpm2"])
        .default("host"),
    ),
  ).action((options: ServiceOptions & { readonly withKey: string }, command: Command) => {
    runSteps(cli, options, (machine, note) => {
      const installation = installationOf(options, command, machine, note, cli.env.SUDO_UID);
      if (options.user === true) installUser(installation, userFolder(cli));
      else installSystem(installation);
    });
  });
  withInstallOptions(
    declare(group, {
      usage: "remove",
      summary: "stop the services and remove their units; configuration, history and keys stay",
      about: "The sealed passphrase goes, too, unless a keystore is there, which nothing else opens.",
      examples: ["service remove", "service remove --user"],
      needsNoConfig: true,
    }),
  ).action((options: ServiceOptions) => {
    runSteps(cli, options, (machine, note) => {
      if (options.user === true) removeUser(machine, userFolder(cli), note);
      else removeSystem(machine, note);
    });
  });
  group.enablePositionalOptions();
  declare(group, {
    usage: "run <words...>",
    summary: "run a command of perpwatch as the user of the services, with their configuration and secrets",
    about:
      "Commands about keys (wallet new, import, export, passphrase, trust) run as the signer, which has the passphrase of the\n" +
      "keystore; all others as the daemon.",
    examples: ["service run status", "service run wallet import", "service run -- alerts --limit 5"],
    needsNoConfig: true,
  })
    .option("--user", "the service of this user alone")
    .passThroughOptions()
    .action((words: readonly string[], { user = false }: ServiceOptions) => {
      cli.status = runAsService(cli, words, user);
    });
}

function withInstallOptions(command: Command): Command {
  return command
    .option("--user", "a service of this user alone")
    .option("--dry-run", "print all of it and change nothing")
    .option(
      "--root <dir>",
      "for builders of images: install into the system below this folder, and start nothing",
    );
}

/** Runs `work` on this machine and prints its steps and notes. */
function runSteps(
  cli: Cli,
  options: ServiceOptions,
  work: (machine: Machine, note: (text: string) => void) => void,
): void {
  const { user = false, dryRun: isDry = false, root } = options;
  if (user && root !== undefined) throw new CommandFailed("--user and --root exclude each other", 2);
  if (!isDry && root === undefined) mustRunSystemd(user);
  const steps: Step[] = [];
  const notes: string[] = [];
  const machine = new Machine({
    runner: runProgram,
    root: root === undefined ? "/" : path.resolve(root),
    isImage: root !== undefined,
    isDry,
    report: (step) => {
      steps.push(step);
      if (options.json !== true)
        print(cli, `${step.do.padEnd(7)}${step.do === "run" ? step.command : step.path}`);
    },
  });
  // System folders are readable by all; secret files are created with their own mode.
  const umask = process.umask(0o022);
  try {
    work(machine, (text) => void notes.push(text));
  } finally {
    process.umask(umask);
    // Notes state what is left to do, also after a failed step.
    if (options.json !== true && notes.length > 0)
      print(cli, `\n${notes.map((text) => `- ${text}.`).join("\n")}`);
  }
  if (options.json === true) printJson(cli, { dryRun: isDry, steps, notes });
  else if (isDry) print(cli, "\nNothing was changed (--dry-run).");
}

function mustRunSystemd(user: boolean): void {
  const here = {
    platform: process.platform,
    isBooted: existsSync("/run/systemd/system"),
    uid: process.getuid?.() ?? 0,
  };
  const refusal = refusalOf(here, user);
  if (refusal !== null) throw new CommandFailed(refusal);
}

function installationOf(
  options: ServiceOptions & { readonly withKey: string },
  command: Command,
  machine: Machine,
  note: (text: string) => void,
  sudoUid: string | undefined,
): Installation {
  const config = path.resolve(options.config);
  const main = import.meta.filename.endsWith(".ts") ? "src/main.ts" : "dist/main.js";
  // If an image contains the program itself, the program has another path when the image runs.
  const { image } = machine;
  const pathInImage = (file: string) =>
    image !== null && file.startsWith(`${image}/`) ? file.slice(image.length) : file;
  return {
    machine,
    program: {
      node: pathInImage(process.execPath),
      folder: pathInImage(programFolder),
      main: pathInImage(path.join(programFolder, main)),
    },
    template: (name) => readFileSync(path.join(programFolder, "deploy", name), "utf8"),
    config: {
      path: config,
      text: existsSync(config) ? configText(config, sudoUid) : null,
      isNamed: namedConfig(command),
    },
    newPassphrase: () => randomBytes(32).toString("base64url"),
    withKey: options.withKey,
    note,
  };
}

const maxConfigBytes = 1_024 * 1_024;

/**
 * @param sudoUid the user who called sudo, who may own the configuration
 * @throws {CommandFailed} if another user owns it or others can write it: as root's copy it would be trusted
 */
function configText(file: string, sudoUid: string | undefined): string {
  const found = readTextFile(file, {
    largestBytes: maxConfigBytes,
    ...(sudoUid !== undefined && { owner: "any" }),
  });
  if ("wrong" in found) throw new CommandFailed(`${file}: ${found.wrong}`, 2);
  if (![0, process.getuid?.(), Number(sudoUid)].includes(found.ownerUid))
    throw new CommandFailed(`${file}: it belongs to another user, ${userName(found.ownerUid)}`, 2);
  return found.text;
}

function userFolder({ env }: Cli): string {
  const { XDG_CONFIG_HOME: folder, HOME: home = "/" } = env;
  return folder === undefined || folder === "" ? path.join(home, ".config") : folder;
}

function runAsService(cli: Cli, words: readonly string[], user: boolean): number {
  mustRunSystemd(user);
  const file = user ? userUnitFile(userFolder(cli)) : path.join(unitFolder, unitFor(words));
  if (!existsSync(file))
    throw new CommandFailed(`${file} is not there: \`perpwatch service install\` installs the services`);
  const found = readTextFile(file, { largestBytes: maxConfigBytes });
  if ("wrong" in found) throw new CommandFailed(`${file} ${found.wrong}`);
  const unit = found.text;
  const onTerminal = cli.in.isTTY === true && cli.out.isTTY === true;
  const command = asService({ unit, args: words, config: configOf(unit), user, onTerminal });
  const { status } = runProgram(command, { onTerminal: true });
  if (status === null) throw new CommandFailed("systemd-run was not found");
  const failure = setUpFailure(status, unit);
  if (failure !== null) throw new CommandFailed(failure);
  return status;
}
