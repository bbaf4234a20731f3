/** `perpwatch service run`: runs commands as the user of a service, with its folders, secrets and passphrase. */
import { commandOf, propertiesOf } from "./units.ts";

/** Subcommands of `wallet` that the signer's user has to run. */
const signerWords = ["new", "import", "export", "passphrase", "trust"];

/** The unit whose user runs a command. */
export function unitFor([group, word]: readonly string[]): "perpwatch.service" | "perpwatch-signer.service" {
  const isSigners = group === "wallet" && signerWords.includes(word ?? "");
  return isSigners ? "perpwatch-signer.service" : "perpwatch.service";
}

export interface ServiceCommand {
  /** The text of the installed unit. */
  readonly unit: string;
  readonly args: readonly string[];
  /** The configuration, if the arguments name none. */
  readonly config: string;
  /** The unit is one of the user's own service manager. */
  readonly user?: boolean;
  /** The streams are a terminal. */
  readonly onTerminal?: boolean;
}

/** The command line that runs a command as the service of a unit. */
export function asService({ unit, args, config, user = false, onTerminal = false }: ServiceCommand) {
  const named = args.some((one) => /^(-c|--config)/.test(one)) ? [] : ["--config", config];
  const manager = user ? ["--user"] : [];
  const options = ["--quiet", "--collect", "--wait", onTerminal ? "--pty" : "--pipe", ...propertiesOf(unit)];
  return ["systemd-run", ...manager, ...options, "--", ...commandOf(unit), ...args, ...named];
}

/**
 * Explains an exit status by which systemd says that it could not set up a service, such as 203 (EXEC) and 243 (CREDENTIALS).
 * @returns null: the command itself ended with it
 */
export function setUpFailure(status: number | null, unit: string): string | null {
  // The highest of them is 245. 255 is a command that a signal ended.
  if (status === null || status < 200 || status > 245) return null;
  const failure = `systemd cannot set up the service (status ${status}; \`man systemd.exec\` has them, and the journal the reason)`;
  const [node, main] = [commandOf(unit)[0], commandOf(unit).at(-1)];
  if (status !== 203 || node === undefined || main === undefined) return failure;
  const [, user = "its user"] = /^User=(.*)$/m.exec(unit) ?? [];
  return `${failure}: ${user} cannot execute ${node}. It has to be there, and it, ${main} and the folders of both have to be readable by every user`;
}
