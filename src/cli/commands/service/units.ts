/** Unit files from the templates in deploy/, which are units for Node in /usr/bin and the program in /opt/perpwatch. */
import path from "node:path";
import { CommandFailed } from "../../command.ts";
import { credentialName } from "../../signing/passphrase.ts";

/** The program as a service runs it. */
export interface Program {
  /** The path of Node. */
  readonly node: string;
  /** The folder of the checkout or the package. */
  readonly folder: string;
  /** src/main.ts in it, or dist/main.js. */
  readonly main: string;
}

/** The form in which the passphrase of the keystore is stored; `none`: the signer gets it elsewhere, or runs locked. */
export type Credential = "sealed" | "file" | "none";

export const credentialPaths = {
  sealed: `/etc/credstore.encrypted/${credentialName}`,
  file: `/etc/credstore/${credentialName}`,
} as const;

/** Folders hidden by ProtectHome= and PrivateTmp=. */
const hiddenHomes = ["/home", "/root", "/run/user"];
const hiddenFolders = [...hiddenHomes, "/tmp", "/var/tmp"];

/** @throws {CommandFailed} for paths that would need escaping in a unit */
export function checkPaths(paths: readonly string[]): void {
  const odd = paths.find((one) => !/^[\w@+=,./-]+$/.test(one));
  if (odd === undefined) return;
  throw new CommandFailed(
    `${odd}: a unit can only name paths of letters, digits and @ + = , . _ - /; move it, for example to /opt/perpwatch`,
  );
}

/** Creates a system unit from its template. */
export function systemUnit(template: string, program: Program, credential: Credential): string {
  const seen = isBelow(program.node, [program.folder]) ? [program.folder] : [program.folder, program.node];
  const hidden = seen.filter((one) => isBelow(one, hiddenFolders));
  const homes = hidden.some((one) => isBelow(one, hiddenHomes)) ? "tmpfs" : "yes";
  const binds = hidden.map((one) => `\nBindReadOnlyPaths=${one}`).join("");
  return withProgram(template, program)
    .replace(/^ProtectHome=yes$/m, `ProtectHome=${homes}${binds}`)
    .replace(/^LoadCredentialEncrypted=.*$/m, credentialLine(credential));
}

export interface UserPlace {
  readonly config: string;
  /** The folder of the user's configurations, with the passphrase in perpwatch/. */
  readonly home: string;
}

/** Creates the unit of a user's own service manager from its template. */
export function userUnit(
  template: string,
  program: Program,
  { config, home }: UserPlace,
  credential: Credential,
) {
  return withProgram(template, program)
    .replace(/^(ExecStart=.* --config ).*$/m, `$1${config}`)
    .replace(/^WorkingDirectory=.*$/m, `WorkingDirectory=${path.dirname(config)}`)
    .replace(/^LoadCredential=.*$/m, (line) => (credential === "none" ? noCredential : line))
    .replaceAll("=%E/", `=${home}/`)
    .replaceAll(/([:-])%E\//g, `$1${home}/`);
}

/** The configuration that an installed unit names. */
export function configOf(unit: string): string {
  return /^ExecStart=.* --config (\S+)/m.exec(unit)?.[1] ?? "";
}

function withProgram(template: string, { node, main }: Program): string {
  return template.replace(/^ExecStart=.*$/m, (line) =>
    line.replace("/usr/bin/node", node).replace("/opt/perpwatch/src/main.ts", main),
  );
}

const noCredential =
  "# The passphrase is named in the configuration, or missing: `perpwatch service install` says so.";

function credentialLine(credential: Credential): string {
  if (credential === "none")
    return "# No passphrase is sealed: see the output of `perpwatch service install`.";
  const setting = credential === "sealed" ? "LoadCredentialEncrypted" : "LoadCredential";
  return `${setting}=${credentialName}:${credentialPaths[credential]}`;
}

function isBelow(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => file === folder || file.startsWith(`${folder}/`));
}

/** Settings of a unit that also apply to another command of the same service. */
const sharedSettings = [
  ...["User", "Group", "WorkingDirectory", "Environment", "EnvironmentFile", "UMask", "LimitCORE"],
  ...["LoadCredential", "LoadCredentialEncrypted", "StateDirectory", "StateDirectoryMode"],
  ...["NoNewPrivileges", "CapabilityBoundingSet", "ProtectSystem", "ProtectHome", "BindReadOnlyPaths"],
  ...["PrivateTmp", "PrivateNetwork", "MemorySwapMax"],
];

/**
 * The settings of an installed unit for another command of the same service, in the form of `systemd-run --property`.
 */
export function propertiesOf(unit: string): readonly string[] {
  return unit
    .split("\n")
    .filter((line) => sharedSettings.includes(line.slice(0, line.indexOf("="))))
    .map((line) => `--property=${line}`);
}

/** Node and its arguments before the program's own: from the ExecStart of an installed unit. */
export function commandOf(unit: string): readonly string[] {
  const [, line = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const words = line.split(" ");
  const main = words.findIndex((word) => /\/main\.[jt]s$/.test(word));
  return words.slice(0, main + 1);
}
