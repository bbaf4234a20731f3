/** Checks owner and mode of a file, folder or socket. Pure; the system's answers are injected. */

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
  /** Contains a secret: others must not read it either. */
  readonly secret?: boolean;
  /** A user who may own it, besides root and this user. */
  readonly owner?: number;
  /** Its file system is mounted read-only. */
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

/** Returns the first fault of a file; null if only this user and root can change it (and read it, if secret). */
export function faultOf(rights: Rights, user: User, demand: Demand = {}): Fault | null {
  const { uid, gid, mode } = rights;
  // A read-only mount keeps modes and owners of its source; in a container of root's these are the host's. A service of
  // another user may see all disks read-only while their owners can still change them.
  const isFixed = demand.readOnly === true && (uid === 0 || user.uid === 0);
  if (!isFixed) {
    if (uid !== user.uid && uid !== 0 && uid !== demand.owner) return { kind: "owner" };
    if ((mode & everybodyWrites) !== 0) return { kind: "writable", by: "everybody" };
    if ((mode & groupWrites) !== 0 && !user.isPrivate(gid)) return { kind: "writable", by: "group" };
  }
  if (demand.secret !== true) return null;
  if ((mode & everybodyReads) !== 0) return { kind: "readable", by: "everybody" };
  // Only root can assign root's file to a group, which lets a service read it.
  if ((mode & groupReads) !== 0 && uid !== 0 && !user.isPrivate(gid))
    return { kind: "readable", by: "group" };
  return null;
}

/**
 * Returns the fault that lets others replace files in a folder; null for /tmp, where each user can replace only their
 * own.
 */
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
 * Returns true if a group has no member besides the user and root. If accounts also come from a directory service, the
 * files do not list all members; then only root's group and the user's own group (with the user's number) are private.
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
  // System accounts such as sync and halt have root's group.
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
