/**
 * Reasons not to trust a file on this machine: another user owns it, others can change it, or others can read a secret
 * in it. Each reason is the end of a sentence that begins with the path, and contains the command that fixes it.
 */
import fs from "node:fs";
import path from "node:path";
import { type Demand, type Fault, faultOf, folderFaultOf, type Rights } from "./judge.ts";
import { chownName, currentUser, groupName, hasName, userName } from "./user.ts";

/** `secret`: others must not read it either; `owner`: another user who may own it. */
export type TrustOptions = Pick<Demand, "secret" | "owner"> & {
  /** The fix is mode 600 in any case. */
  readonly privately?: boolean;
};

/** Returns the reason not to trust an open file or a socket by its owner and mode; null: none. */
export function distrust(file: string, rights: Rights, options: TrustOptions = {}): string | null {
  const user = currentUser();
  if (user === null) return null;
  const demand = { ...options, readOnly: isReadOnly(file) };
  const fault = faultOf(rights, user, demand);
  return fault === null ? null : faultText(fault, file, rights, user.uid, demand);
}

/** Returns the reason not to trust the path to a file: a link or folder by which others can replace it; null: none. */
export function distrustedWay(file: string, options: TrustOptions = {}): string | null {
  const user = currentUser();
  if (user === null) return null;
  const given = path.resolve(file);
  const link = fs.lstatSync(given, { throwIfNoEntry: false });
  const folderOfLink = path.dirname(given);
  if (
    link?.isSymbolicLink() === true &&
    faultOf({ ...link, mode: 0 }, user, { ...options, readOnly: isReadOnly(folderOfLink) }) !== null
  )
    return `is a link of another user, ${userName(link.uid)}. Fix: name the file itself`;
  for (const folder of new Set([folderOfLink, path.dirname(realPath(given))])) {
    const stat = fs.statSync(folder, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const demand = { ...options, secret: false, readOnly: isReadOnly(folder) };
    const fault = folderFaultOf(stat, user, demand);
    if (fault !== null)
      return `can be swapped by others: its folder ${folder} ${faultText(fault, folder, stat, user.uid, demand)}, or use another folder`;
  }
  return null;
}

/**
 * Returns the reason not to trust a file or the path to it; null: none, or the file does not exist and its path is
 * safe.
 */
export function distrusted(file: string, options: TrustOptions = {}): string | null {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return (stat === undefined ? null : distrust(file, stat, options)) ?? distrustedWay(file, options);
}

/** Returns true if the process runs as root. */
export function isRoot(): boolean {
  return currentUser()?.uid === 0;
}

/** Returns true if the mount is read-only, for root too. */
function isReadOnly(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EROFS";
  }
}

function faultText(
  fault: Fault,
  file: string,
  rights: Rights,
  uid: number,
  { secret, readOnly, privately }: Demand & TrustOptions,
): string {
  const word = shellWord(file);
  const mode = (rights.mode & 0o7777).toString(8).padStart(4, "0");
  // Only root can change the files of others.
  const sudo = uid === 0 || rights.uid === uid ? "" : "sudo ";
  if (fault.kind === "owner") {
    const owner = userName(rights.uid);
    const consequence = uid === 0 ? ", who could have root do anything with it" : ", who can change it";
    return `belongs to another user, ${owner}${consequence}. Fix: ${
      // In a container the owner is a user of the host, who would lose the file.
      uid === 0 && !hasName(rights.uid)
        ? `run as that user (docker run --user ${rights.uid})`
        : `${sudo}chown ${chownName(uid)} ${word}`
    }`;
  }
  const by = fault.by === "group" ? `the group ${groupName(rights.gid)}` : "every user of this machine";
  const fix =
    fault.kind === "readable" && readOnly === true
      ? `mount it with mode ${rights.uid === 0 ? "0440" : "0600"}`
      : secret === true || privately === true
        ? // A service cannot read a file that only root may read.
          `${sudo === "" ? "" : `sudo chown ${chownName(uid)} ${word} && `}${sudo}chmod 600 ${word}`
        : `${sudo}chmod ${fault.by === "group" ? "g-w" : "go-w"} ${word}`;
  const verb = fault.kind === "readable" ? "read" : "changed";
  return `can be ${verb} by others than its owner: ${by} (mode ${mode}). Fix: ${fix}`;
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

/** Quotes a word for a shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
