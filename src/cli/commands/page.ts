/** `perpwatch page`: access to the status page. */
import { accessSync, constants, lstatSync } from "node:fs";
import path from "node:path";
import type { Command } from "commander";
import { errorCode } from "../../domain/error-code.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  hint,
  print,
  printJson,
} from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, noDaemon } from "../daemon.ts";
import { hiddenLines } from "../terminal/hidden-input.ts";
import { counted } from "../terminal/print.ts";

interface PasswordOptions extends CommonOptions {
  readonly file?: string;
}

interface Link {
  readonly url: string;
  readonly expiresMs: number | null;
}

export function pageCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "page", "log in to the status page, and end its sessions", [
    "page",
    "page password",
    "page logout",
  ]);
  declare(group, {
    usage: "link",
    summary: "print a link that logs a browser in, once and within 10 minutes",
    about: "The session of that browser ends 30 days after it was used last, or by Log out on the page.",
    examples: ["page link", "page"],
    isDefault: true,
  }).action((options: CommonOptions) => link(cli, options));
  declare(group, {
    usage: "password",
    summary: "print the line for the configuration that lets a password log in, too",
    about:
      "The password is asked for twice and not shown; where there is no terminal it is read from standard input. The line holds\n" +
      "its hash (scrypt), not the password; with --file the hash goes into a file, and the line names it.",
    examples: ["page password", "page password --file ./page-password"],
  })
    .option(
      "--file <file>",
      "write the hash into this file, which only you can read then; a file that holds such a hash alone is replaced",
    )
    .action((options: PasswordOptions) => password(cli, options));
  declare(group, {
    usage: "logout",
    summary: "end all sessions of the page; tokens stay valid",
    examples: ["page logout"],
  }).action((options: CommonOptions) => logout(cli, options));
}

async function link(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<Link>(place, "POST", "/api/v1/access/links", {});
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { url, expiresMs } = answer.body;
  if (options.json) return printJson(cli, { url, expiresMs });
  hint(cli, expiresMs === null ? "The page needs no login:" : "This link logs in once, within 10 minutes:");
  print(cli, url);
}

async function password(cli: Cli, options: PasswordOptions): Promise<void> {
  const { file } = options;
  if (file !== undefined) await mustBeReplaceable(path.resolve(file));
  const { hashPassword, maxPasswordLength, minPasswordLength } = await import("../../web/access/password.ts");
  const check = ({ length }: string) => {
    if (length < minPasswordLength || length > maxPasswordLength)
      throw new CommandFailed(
        `a password has ${minPasswordLength} to ${maxPasswordLength} characters: several words make one that can be kept in mind`,
        2,
      );
  };
  const questions = ["New password (not shown): ", "Once more: "];
  const [first = "", second = first, ...more] = await hiddenLines(cli, questions, check);
  if (more.length > 0 || first !== second)
    throw new CommandFailed("the two are not the same; nothing was made", 2);
  const passwordHash = await hashPassword(first);
  if (file !== undefined) {
    const { replaceFile } = await import("../../files/index.ts");
    replaceFile(path.resolve(file), `${passwordHash}\n`);
  }
  if (options.json) return printJson(cli, file === undefined ? { passwordHash } : { passwordHashFile: file });
  const { reloadAct } = await import("../reload-act.ts");
  const act = await reloadAct(cli, options.config);
  hint(cli, `Put this into config.yaml, below dashboard:, if it does not stand there; then ${act}:`);
  print(cli, file === undefined ? `passwordHash: "${passwordHash}"` : `passwordHashFile: ${file}`);
}

/** Maximum size of a file with a hash and its line end, bytes. */
const maxHashFile = 512;

/** @throws {CommandFailed} status 2 where a hash cannot be written, or the file contains something else */
async function mustBeReplaceable(file: string): Promise<void> {
  const [{ readTextFile }, { parsePasswordHash }] = await Promise.all([
    import("../../files/index.ts"),
    import("../../web/access/password.ts"),
  ]);
  const folder = path.dirname(file);
  const wrong = wrongFolder(folder);
  if (wrong !== null) throw new CommandFailed(`${file} cannot be written: ${wrong}`, 2);
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isFile()) throw new CommandFailed(`${file} is no regular file, and is not replaced`, 2);
  const read = readTextFile(file, { largestBytes: maxHashFile, from: "anyones" });
  if ("text" in read && parsePasswordHash(read.text.replace(/\r?\n$/, "")) !== null) return;
  throw new CommandFailed(
    `${file} holds something else than the hash of a password, and is not replaced: name another file`,
    2,
  );
}

/** @returns the reason why no file can be created in a folder; null: it can */
function wrongFolder(folder: string): string | null {
  try {
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return `there is no folder ${folder}`;
    if (code === "ENOTDIR") return `${folder} is no folder`;
    if (code === "EACCES") return `this user may not write to ${folder}`;
    return `${folder}: ${code}`;
  }
}

async function logout(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<{ ended: number }>(place, "POST", "/api/v1/access/sessions/end", {});
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  print(cli, `${counted(answer.body.ended, "session")} ended`);
}
