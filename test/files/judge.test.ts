/** Owner and mode: who else could change a file, replace it in its folder, or read its secret. */
import { describe, expect, test } from "vitest";
import {
  type AccountTexts,
  type Demand,
  faultOf,
  folderFaultOf,
  isPrivateGroup,
  type User,
} from "../../src/files/judge.ts";

const ann: User = { uid: 1000, isPrivate: (gid) => gid === 1000 };
const root: User = { uid: 0, isPrivate: (gid) => gid === 0 };

type Case = readonly [
  what: string,
  uid: number,
  gid: number,
  mode: number,
  demand: Demand,
  fault: string | null,
];

const said = (fault: ReturnType<typeof faultOf>) =>
  fault === null ? null : "by" in fault ? `${fault.kind} by ${fault.by}` : fault.kind;

describe("a file", () => {
  test.each<Case>([
    ["one's own", 1000, 1000, 0o600, {}, null],
    ["one's own, readable by all", 1000, 1000, 0o644, {}, null],
    ["one's own, writable by the private group (umask 002)", 1000, 1000, 0o664, {}, null],
    ["one's own, writable by a shared group", 1000, 50, 0o664, {}, "writable by group"],
    ["one's own, writable by all", 1000, 1000, 0o602, {}, "writable by everybody"],
    ["root's", 0, 0, 0o644, {}, null],
    ["root's, writable by a shared group", 0, 50, 0o664, {}, "writable by group"],
    ["root's, writable by all", 0, 0, 0o666, {}, "writable by everybody"],
    ["root's, on a read-only mount that knows no modes", 0, 0, 0o777, { readOnly: true }, null],
    [
      "one's own on a read-only mount, writable by all",
      1000,
      1000,
      0o777,
      { readOnly: true },
      "writable by everybody",
    ],
    ["another user's", 1001, 1001, 0o600, {}, "owner"],
    ["another user's, readable by all", 1001, 1001, 0o644, {}, "owner"],
    ["another user's who may own it", 1001, 1001, 0o644, { owner: 1001 }, null],
    [
      "that of a user who may own it, writable by all",
      1001,
      1001,
      0o646,
      { owner: 1001 },
      "writable by everybody",
    ],
    ["a secret", 1000, 1000, 0o600, { secret: true }, null],
    ["a secret, readable by the private group", 1000, 1000, 0o640, { secret: true }, null],
    ["a secret, readable by a shared group", 1000, 50, 0o640, { secret: true }, "readable by group"],
    ["a secret, readable by all", 1000, 1000, 0o604, { secret: true }, "readable by everybody"],
    ["a secret that root gave to a group of services", 0, 50, 0o640, { secret: true }, null],
    ["a secret of root, readable by all", 0, 0, 0o644, { secret: true }, "readable by everybody"],
    ["a secret volume with a group of its own", 0, 2000, 0o440, { secret: true }, null],
    ["the same, readable by all", 0, 2000, 0o444, { secret: true, readOnly: true }, "readable by everybody"],
  ])("%s", (_, uid, gid, mode, demand, fault) => {
    expect(said(faultOf({ uid, gid, mode }, ann, demand))).toBe(fault);
  });

  test("of any user but root is refused by root, who would obey it", () => {
    expect(said(faultOf({ uid: 1000, gid: 1000, mode: 0o600 }, root))).toBe("owner");
    expect(faultOf({ uid: 1000, gid: 1000, mode: 0o600 }, root, { owner: 1000 })).toBeNull();
  });

  test("of the host's user is taken by root on a read-only mount, and its secret if nobody else reads it", () => {
    const mounted = { readOnly: true } as const;
    expect(faultOf({ uid: 1000, gid: 1000, mode: 0o664 }, root, mounted)).toBeNull();
    expect(folderFaultOf({ uid: 1000, gid: 1000, mode: 0o775 }, root, mounted)).toBeNull();
    const secret = { ...mounted, secret: true };
    expect(faultOf({ uid: 1000, gid: 1000, mode: 0o600 }, root, secret)).toBeNull();
    expect(said(faultOf({ uid: 1000, gid: 1000, mode: 0o644 }, root, secret))).toBe("readable by everybody");
    // The sandbox of a service is read-only as a whole.
    expect(said(faultOf({ uid: 1001, gid: 1001, mode: 0o600 }, ann, mounted))).toBe("owner");
  });
});

describe("a folder", () => {
  test.each<Case>([
    ["one's own", 1000, 1000, 0o755, {}, null],
    ["/tmp", 0, 0, 0o1777, {}, null],
    ["for all, without the sticky bit", 0, 0, 0o777, {}, "writable by everybody"],
    ["of a shared group", 1000, 50, 0o775, {}, "writable by group"],
    ["of a shared group, sticky", 1000, 50, 0o1775, {}, null],
    ["another user's, sticky: the owner may remove anything", 1001, 1001, 0o1777, {}, "owner"],
    ["of a secret: its files are judged themselves", 1000, 1000, 0o755, { secret: true }, null],
  ])("%s", (_, uid, gid, mode, demand, fault) => {
    expect(said(folderFaultOf({ uid, gid, mode }, ann, demand))).toBe(fault);
  });
});

describe("a group is private", () => {
  const texts: AccountTexts = {
    passwd: [
      "root:x:0:0:root:/:/bin/sh",
      "sync:x:5:0:sync:/sbin:/bin/sync",
      "ann:x:1000:1000::/home/ann:/bin/sh",
      "bob:x:1001:100::/home/bob:/bin/sh",
      "eve:x:1002:100::/home/eve:/bin/sh",
    ].join("\n"),
    group: ["root:x:0:", "users:x:100:", "ann:x:1000:", "desk:x:50:ann,bob", "mine:x:51:ann,root"].join("\n"),
    sources: "passwd: files systemd\ngroup: files systemd\n",
  };
  const directory = { ...texts, sources: "passwd: files sss\ngroup: files\n" };
  const none: AccountTexts = { passwd: "", group: "", sources: "" };

  test.each<readonly [what: string, gid: number, uid: number, texts: AccountTexts, isPrivate: boolean]>([
    ["with the user's number", 1000, 1000, texts, true],
    ["with the user and root as members", 51, 1000, texts, true],
    ["root's", 0, 1000, texts, true],
    ["not with another member", 50, 1000, texts, false],
    ["not where it is the first group of others", 100, 1001, texts, false],
    [
      "not with the user's number and another member",
      1000,
      1000,
      { ...texts, group: "ann:x:1000:www" },
      false,
    ],
    ["not root's with members", 0, 1000, { ...texts, group: "root:x:0:bob" }, false],
    ["that no file knows, as a volume's in a container", 2000, 1000, texts, true],
    ["in a container without accounts", 2000, 1234, none, true],
    ["not where a directory service may know members", 2000, 1000, directory, false],
    ["with the user's number, beside a directory service", 1000, 1000, directory, true],
  ])("%s", (_, gid, uid, accounts, isPrivate) => {
    expect(isPrivateGroup(gid, uid, accounts)).toBe(isPrivate);
  });
});
