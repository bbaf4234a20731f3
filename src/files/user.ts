/** The user of this process, and the names of users. */
import fs from "node:fs";
import { isPrivateGroup, type User } from "./judge.ts";

/** Returns the user of this process; null on systems without user numbers, where nothing is judged. */
export function currentUser(): User | null {
  const uid = process.geteuid?.();
  if (uid === undefined) return null;
  return {
    uid,
    isPrivate(gid) {
      // The accounts of macOS stand in no file, and all people share the group `staff`.
      if (process.platform === "darwin") return gid === 0;
      const [passwd, group, sources] = ["passwd", "group", "nsswitch.conf"].map(textOf);
      return isPrivateGroup(gid, uid, { passwd: passwd!, group: group!, sources: sources! });
    },
  };
}

/** Returns `ann (1000)`, or `1000` for a user without a name. */
export function userName(uid: number): string {
  const name = nameOf("passwd", uid);
  return name === null ? String(uid) : `${name} (${uid})`;
}

/** Returns false for a user whom this machine, or this container, does not know. */
export function hasName(uid: number): boolean {
  return nameOf("passwd", uid) !== null;
}

/** Returns the name of a user as chown takes it, else the number. */
export function chownName(uid: number): string {
  return nameOf("passwd", uid) ?? String(uid);
}

/** As `userName`, of a group. */
export function groupName(gid: number): string {
  const name = nameOf("group", gid);
  return name === null ? String(gid) : `${name} (${gid})`;
}

function nameOf(file: "passwd" | "group", id: number): string | null {
  const line = textOf(file)
    .split("\n")
    .find((one) => one.split(":")[2] === String(id));
  return line?.split(":")[0] || null;
}

/** Empty where it cannot be read: a container may have none. */
function textOf(file: string): string {
  try {
    return fs.readFileSync(`/etc/${file}`, "utf8");
  } catch {
    return "";
  }
}
