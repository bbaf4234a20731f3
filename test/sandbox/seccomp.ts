/** The system call filter of a unit as a program for the kernel (classic BPF), as systemd makes it from the same settings. */
import { execFileSync } from "node:child_process";

export interface CallFilter {
  /** `@system-service`, `~@privileged @resources`, …, in the order of the unit. */
  readonly callSets: readonly string[];
  /** `AF_UNIX`, …: all others are refused. */
  readonly families: readonly string[];
}

const [loadWord, isEqual, isAtLeast, hasBits, give] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [atNumber, atArchitecture, atFirstArgument] = [0, 4, 16];
const [allow, kill, fail] = [0x7fff_0000, 0x8000_0000, 0x0005_0000];
const [eperm, enosys, eafnosupport] = [1, 38, 97];
const architectures: Readonly<Record<string, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
const familyNumbers: Readonly<Record<string, number>> = {
  AF_UNIX: 1,
  AF_INET: 2,
  AF_INET6: 10,
  AF_NETLINK: 16,
};
/** Flags of clone() that make namespaces. */
const newNamespaces = 0x7e02_0080;
/** Calls that make or join namespaces: RestrictNamespaces= refuses them. */
const namespaceCalls = ["unshare", "setns"];

/** An instruction: its code, the instructions to skip when true and when false, and its constant. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, constant: number];

/**
 * Returns the program as bytes. It needs the programs systemd-analyze (names of the sets) and scmp_sys_resolver (numbers on this
 * machine).
 */
export function filterProgram({ callSets, families }: CallFilter): Buffer {
  const numbers = numbersOf([...namesOf(callSets), "socket", "clone", "clone3", ...namespaceCalls]);
  const number = (name: string) => {
    const found = numbers.get(name);
    if (found === undefined) throw new Error(`the system call ${name} has no number here`);
    return found;
  };
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`no filter is made for ${process.arch}`);
  const refuse = (error: number): Instruction => [give, 0, 0, fail | error];
  /** Instructions for one call. */
  const upon = (name: string, then: readonly Instruction[]): readonly Instruction[] => [
    [isEqual, 0, then.length, number(name)],
    ...then,
  ];
  const special = ["socket", "clone", "clone3", ...namespaceCalls];
  const plain = [...numbers].filter(([name]) => !special.includes(name));
  const instructions: readonly Instruction[] = [
    [loadWord, 0, 0, atArchitecture],
    [isEqual, 1, 0, architecture],
    [give, 0, 0, kill],
    [loadWord, 0, 0, atNumber],
    // The second numbering of x86-64 (x32).
    [isAtLeast, 0, 1, 0x4000_0000],
    refuse(eperm),
    ...upon("socket", [
      [loadWord, 0, 0, atFirstArgument],
      ...families.flatMap((one): Instruction[] => [
        [isEqual, 0, 1, familyNumbers[one]!],
        [give, 0, 0, allow],
      ]),
      refuse(eafnosupport),
    ]),
    // The flags of clone3() lie in memory, which no filter reads: libraries take clone() then.
    ...upon("clone3", [refuse(enosys)]),
    ...upon("clone", [
      [loadWord, 0, 0, atFirstArgument],
      [hasBits, 0, 1, newNamespaces],
      refuse(eperm),
      [give, 0, 0, allow],
    ]),
    ...plain.flatMap(([, call]): Instruction[] => [
      [isEqual, 0, 1, call],
      [give, 0, 0, allow],
    ]),
    refuse(eperm),
  ];
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, constant]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(constant >>> 0, index * 8 + 4);
  }
  return bytes;
}

/** The calls that the sets leave: each set adds, one with ~ takes away. */
function namesOf(callSets: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const line of callSets) {
    const takesAway = line.startsWith("~");
    for (const set of line.replace("~", "").split(" "))
      for (const name of membersOf(set)) takesAway ? names.delete(name) : names.add(name);
  }
  return names;
}

function membersOf(set: string): readonly string[] {
  const text = execFileSync("systemd-analyze", ["syscall-filter", set], { encoding: "utf8" });
  const members = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && line !== set && !line.startsWith("#"));
  return members.flatMap((one) => (one.startsWith("@") ? membersOf(one) : [one]));
}

/** Numbers of the calls that this machine has. */
function numbersOf(names: readonly string[]): ReadonlyMap<string, number> {
  const each = 'for name; do printf "%s %s\\n" "$name" "$(scmp_sys_resolver "$name")"; done';
  const text = execFileSync("/bin/sh", ["-c", each, "sh", ...new Set(names)], { encoding: "utf8" });
  const rows = text
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  // Calls of other machines have negative numbers.
  return new Map(
    rows.flatMap(([name, call]) => (Number(call) >= 0 && call !== "" ? [[name!, Number(call)]] : [])),
  );
}
