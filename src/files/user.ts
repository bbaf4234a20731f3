/** The user of this process, and names of users and groups. */
import fs from "node:fs";
import { isPrivateGroup, type User } from "./judge.ts";

/** Returns the user of this process; null on systems without user ids, where nothing is checked. */
export function currentUser(): User | null {
  const uid = process.geteuid?.();
  if (uid === undefined) return null;
  return {
    uid,
    isPrivate(gid) {
      // The accounts of macOS are in no file, and all people share the group `staff`.
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

/** Returns false for a user unknown to this machine or container. */
export function hasName(uid: number): boolean {
  return nameOf("passwd", uid) !== null;
}

/** Returns a user's name for chown, else the id. */
export function chownName(uid: number): string {
  return nameOf("passwd", uid) ?? String(uid);
}

/** Like `userName`, for a group. */
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

/** Empty if the file cannot be read; a container may have none. */
function textOf(file: string): string {
  try {
    return fs.readFileSync(`/etc/${file}`, "utf8");
  } catch {
    return "";
  }
}
