/** Judges owner and mode of a file, folder or socket; pure. The system's answers are injected. */

export interface Rights {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

export interface User {
  readonly uid: number;
  /** Returns true if nobody but this user and root is in the group. */
  isPrivate(gid: number): boolean;
}

export interface Demand {
  /** Holds a secret: others must not read it either. */
  readonly secret?: boolean;
  /** A user who may own it, beside root and this user. */
  readonly owner?: number;
  /** Nobody can write to its file system. */
  readonly readOnly?: boolean;
}

/** `by`: the group, or every user of the machine. */
export type Fault =
  | { readonly kind: "owner" }
  | { readonly kind: "writable" | "readable"; readonly by: "group" | "everybody" };

const groupWrites = 0o020;
const everybodyWrites = 0o002;
const groupReads = 0o040;
const everybodyReads = 0o004;
const sticky = 0o1000;

/** Returns the first reason not to trust a file; null where only this user and root can change it (and read it, if secret). */
export function faultOf(rights: Rights, user: User, demand: Demand = {}): Fault | null {
  const { uid, gid, mode } = rights;
  // A read-only mount has the modes and owners of where it comes from: in a container of root's, the host's. A service that is not
  // root's may see all disks read-only, and their owners change them meanwhile.
  const isFixed = demand.readOnly === true && (uid === 0 || user.uid === 0);
  if (!isFixed) {
    if (uid !== user.uid && uid !== 0 && uid !== demand.owner) return { kind: "owner" };
    if ((mode & everybodyWrites) !== 0) return { kind: "writable", by: "everybody" };
    if ((mode & groupWrites) !== 0 && !user.isPrivate(gid)) return { kind: "writable", by: "group" };
  }
  if (demand.secret !== true) return null;
  if ((mode & everybodyReads) !== 0) return { kind: "readable", by: "everybody" };
  // Root alone gives root's file to a group: that is how a service reads it.
  if ((mode & groupReads) !== 0 && uid !== 0 && !user.isPrivate(gid))
    return { kind: "readable", by: "group" };
  return null;
}

/** Returns the reason why others can swap the files in a folder; null for /tmp, where each can swap only their own. */
export function folderFaultOf(rights: Rights, user: User, demand: Demand = {}): Fault | null {
  const mode = (rights.mode & sticky) === 0 ? rights.mode : rights.mode & ~(groupWrites | everybodyWrites);
  return faultOf({ ...rights, mode }, user, { ...demand, secret: false });
}

export interface AccountTexts {
  /** /etc/passwd */
  readonly passwd: string;
  /** /etc/group */
  readonly group: string;
  /** /etc/nsswitch.conf */
  readonly sources: string;
}

/**
 * Returns true if a group has no member but the user and root. Where accounts also come from a directory service, the files
 * do not name all members: then only the user's own group, which has the user's number, and root's are private.
 */
export function isPrivateGroup(gid: number, uid: number, { passwd, group, sources }: AccountTexts): boolean {
  const users = fieldsOf(passwd).map(([name = "", , id, primary]) => ({
    name,
    uid: Number(id),
    gid: primary,
  }));
  const own = users.filter((one) => one.uid === uid || one.uid === 0).map(({ name }) => name);
  const members = fieldsOf(group)
    .filter(([, , id]) => id === String(gid))
    .flatMap(([, , , names = ""]) => names.split(",").filter((name) => name !== ""));
  if (members.some((name) => !own.includes(name) && name !== "root")) return false;
  // System accounts such as sync and halt have root's group as theirs.
  if (gid === 0) return true;
  if (users.some((one) => one.gid === String(gid) && one.uid !== uid && one.uid !== 0)) return false;
  return gid === uid || !/^[ \t]*(passwd|group):.*\b(sss|ldap|winbind|nis|nisplus|hesiod)\b/m.test(sources);
}

function fieldsOf(text: string): readonly string[][] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.trimEnd().split(":"));
}
