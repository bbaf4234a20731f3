/**
 * The three instructions of the exchange's program that perpwatch knows, in bytes. The simulator and a referral's
 * activation are built from them; the exchange's own instructions are compared with them before they are signed.
 * Integers are little-endian; a discriminant is the first 8 bytes of SHA-256 of the instruction's name.
 *
 *   register    global:register_trader                  discriminant · u32 maxPositions · u32 preferences · u8 · u8
 *   onboard     global:set_trader_capabilities_delegated discriminant · u32 count · count × (u8 capability, u8 on)
 *   stopLoss    global:place_stop_loss                  discriminant · u64 trigger · u64 execution · u64 size · u8 × 3
 */
import { MAX_POSITIONS, PROGRAM_ID, SYSTEM_KEY } from "./program.ts";
import type { Instruction } from "./records/onboarding.ts";

/** The role of an account in an instruction. */
export interface NamedAccount {
  /** For people: `payer`, `trader account`. */
  readonly name: string;
  readonly pubkey: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

/** An instruction with the meanings of its accounts and bytes. */
export interface NamedInstruction {
  readonly kind: keyof typeof discriminants;
  readonly programId: string;
  readonly accounts: readonly NamedAccount[];
  readonly data: Uint8Array;
}

/** Hex. */
export const discriminants = {
  register: "4bf3e0a701053320",
  onboard: "cfaa111535235897",
  stopLoss: "ec2ea442eb5ca289",
} as const;

/** The hashed names of the discriminants. */
export const instructionNames = {
  register: "global:register_trader",
  onboard: "global:set_trader_capabilities_delegated",
  stopLoss: "global:place_stop_loss",
} as const satisfies Record<keyof typeof discriminants, string>;

/** The rights granted by a delegated onboarding: target numbers, in the order of the bytes. */
export const onboardedCapabilities = [
  { target: 0, name: "limit orders" },
  { target: 1, name: "market orders" },
  { target: 3, name: "risk-reducing trades" },
  { target: 2, name: "risk-increasing trades" },
  { target: 4, name: "deposits" },
  { target: 5, name: "withdrawals" },
] as const;

interface Program {
  /** The program's log address: derived from the program by the seed `log`. */
  readonly logAuthority: string;
  readonly globalConfig: string;
}

export interface RegisterParts extends Program {
  /** Pays for the account's rent. */
  readonly payer: string;
  readonly authority: string;
  readonly traderAccount: string;
  readonly maxPositions?: number;
  readonly pdaIndex?: number;
  readonly subaccount?: number;
}

export interface OnboardParts extends Program {
  readonly traderOnboarder: string;
  readonly permissionAccount: string;
  readonly traderAccount: string;
  readonly globalTraderIndex: readonly string[];
  readonly activeTraderBuffer: readonly string[];
  /** Signs too if it does not pay: a referral's authority. */
  readonly cosigner?: string | undefined;
}

export interface StopLossParts extends Program {
  /** Pays for the rent of the account that stores the stop loss. */
  readonly funder: string;
  readonly traderAccount: string;
  readonly perpAssetMap: string;
  readonly globalTraderIndex: readonly string[];
  readonly activeTraderBuffer: readonly string[];
  /** The market's account. */
  readonly orderbook: string;
  readonly spline: string;
  /** The owner of the position, or its delegate. */
  readonly positionAuthority: string;
  readonly stopLossAccount: string;
  readonly order: StopLossOrder;
}

/** A stop loss. A take profit has the other direction. */
export interface StopLossOrder {
  readonly triggerTicks: bigint;
  readonly executionTicks: bigint;
  /** Base lots; 0: the whole position at the time of the trigger. */
  readonly baseLots: bigint;
  /** The side of the closing order. */
  readonly side: "bid" | "ask";
  /** Triggers when the mark rises above, or falls below, the trigger price. */
  readonly direction: "above" | "below";
  readonly kind: "ioc" | "limit";
}

const read = (name: string, pubkey: string): NamedAccount => ({
  name,
  pubkey,
  isSigner: false,
  isWritable: false,
});
const write = (name: string, pubkey: string): NamedAccount => ({
  ...read(name, pubkey),
  isWritable: true,
});
const sign = (name: string, pubkey: string): NamedAccount => ({
  ...read(name, pubkey),
  isSigner: true,
});
const pay = (name: string, pubkey: string): NamedAccount => ({
  ...sign(name, pubkey),
  isWritable: true,
});

const traderIndex = (parts: Pick<OnboardParts, "globalTraderIndex" | "activeTraderBuffer">) => [
  ...parts.globalTraderIndex.map((it, index) => write(`global trader index ${index}`, it)),
  ...parts.activeTraderBuffer.map((it, index) => write(`active trader buffer ${index}`, it)),
];

/** Builds the creation of a trader account. */
export function registerInstruction(parts: RegisterParts): NamedInstruction {
  const { maxPositions = MAX_POSITIONS, pdaIndex = 0, subaccount = 0 } = parts;
  const data = writer("register", 18);
  data.view.setUint32(8, maxPositions, true);
  data.view.setUint32(12, 0, true);
  data.bytes.set([pdaIndex, subaccount], 16);
  return {
    kind: "register",
    programId: PROGRAM_ID,
    accounts: [
      read("program", PROGRAM_ID),
      read("log authority", parts.logAuthority),
      read("global configuration", parts.globalConfig),
      pay("payer", parts.payer),
      read("authority", parts.authority),
      write("trader account", parts.traderAccount),
      read("system program", SYSTEM_KEY),
    ],
    data: data.bytes,
  };
}

/** Builds the grant of all capabilities to a trader account by the exchange's onboarder. */
export function onboardInstruction(parts: OnboardParts): NamedInstruction {
  const count = onboardedCapabilities.length;
  const data = writer("onboard", 12 + 2 * count);
  data.view.setUint32(8, count, true);
  for (const [index, { target }] of onboardedCapabilities.entries())
    data.bytes.set([target, 1], 12 + 2 * index);
  return {
    kind: "onboard",
    programId: PROGRAM_ID,
    accounts: [
      read("program", PROGRAM_ID),
      read("log authority", parts.logAuthority),
      read("global configuration", parts.globalConfig),
      sign("onboarder", parts.traderOnboarder),
      write("permission account", parts.permissionAccount),
      write("trader account", parts.traderAccount),
      ...traderIndex(parts),
      ...(parts.cosigner === undefined ? [] : [sign("authority", parts.cosigner)]),
    ],
    data: data.bytes,
  };
}

/** Builds the placing of a stop loss, or a take profit, on a position. */
export function stopLossInstruction(parts: StopLossParts): NamedInstruction {
  const { order } = parts;
  const data = writer("stopLoss", 35);
  data.view.setBigUint64(8, order.triggerTicks, true);
  data.view.setBigUint64(16, order.executionTicks, true);
  data.view.setBigUint64(24, order.baseLots, true);
  data.bytes.set(
    [order.side === "bid" ? 0 : 1, order.direction === "above" ? 0 : 1, order.kind === "ioc" ? 0 : 1],
    32,
  );
  return {
    kind: "stopLoss",
    programId: PROGRAM_ID,
    accounts: [
      read("program", PROGRAM_ID),
      read("log authority", parts.logAuthority),
      write("global configuration", parts.globalConfig),
      pay("funder", parts.funder),
      write("trader account", parts.traderAccount),
      write("asset map", parts.perpAssetMap),
      ...traderIndex(parts),
      write("market", parts.orderbook),
      write("spline", parts.spline),
      sign("position authority", parts.positionAuthority),
      write("stop loss account", parts.stopLossAccount),
      read("system program", SYSTEM_KEY),
    ],
    data: data.bytes,
  };
}

/** Parses the bytes of a register instruction; null: another one. */
export function readRegister(data: Uint8Array) {
  if (kindOf(data) !== "register" || data.length !== 18) return null;
  const view = viewOf(data);
  return {
    maxPositions: view.getUint32(8, true),
    preferences: view.getUint32(12, true),
    pdaIndex: view.getUint8(16),
    subaccount: view.getUint8(17),
  };
}

/** Parses the bytes of a delegated onboarding to its capabilities, by target; null: another instruction. */
export function readOnboard(data: Uint8Array): readonly { target: number; on: boolean }[] | null {
  if (kindOf(data) !== "onboard" || data.length < 12) return null;
  const count = viewOf(data).getUint32(8, true);
  if (data.length !== 12 + 2 * count) return null;
  return Array.from({ length: count }, (_, index) => ({
    target: data[12 + 2 * index]!,
    on: data[13 + 2 * index] === 1,
  }));
}

/** Parses the bytes of a stop loss; null: another instruction. */
export function readStopLoss(data: Uint8Array): StopLossOrder | null {
  if (kindOf(data) !== "stopLoss" || data.length !== 35) return null;
  const view = viewOf(data);
  const [side, direction, kind] = [data[32]!, data[33]!, data[34]!];
  if (side > 1 || direction > 1 || kind > 1) return null;
  return {
    triggerTicks: view.getBigUint64(8, true),
    executionTicks: view.getBigUint64(16, true),
    baseLots: view.getBigUint64(24, true),
    side: side === 0 ? "bid" : "ask",
    direction: direction === 0 ? "above" : "below",
    kind: kind === 0 ? "ioc" : "limit",
  };
}

/** The kind of the exchange's instruction in the bytes; null: another one. */
export function kindOf(data: Uint8Array): NamedInstruction["kind"] | null {
  const head = hex(data.subarray(0, 8));
  for (const [kind, text] of Object.entries(discriminants))
    if (text === head) return kind as NamedInstruction["kind"];
  return null;
}

/** Returns an instruction in the API's form. */
export function instructionRecord({ programId, accounts, data }: NamedInstruction): Instruction {
  return {
    programId,
    keys: accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, isSigner, isWritable })),
    data: [...data],
  };
}

function writer(kind: keyof typeof discriminants, length: number) {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < 8; i++) bytes[i] = Number.parseInt(discriminants[kind].slice(2 * i, 2 * i + 2), 16);
  return { bytes, view: viewOf(bytes) };
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** An account of an instruction or a transaction. */
type GivenAccount = Omit<NamedAccount, "name">;

export interface Given {
  readonly programId: string;
  readonly accounts: readonly GivenAccount[];
  readonly data: Uint8Array;
}

/**
 * Returns descriptions of the differences between an instruction and the requested one; empty: they are equal.
 * @param rights `exact`: for an instruction alone. `atLeast`: for one in a transaction, where another instruction may
 *   give the same account wider rights
 * @param moreSigners accept further accounts at the end that only sign
 */
export function differences(
  asked: NamedInstruction,
  given: Given,
  { rights = "exact", moreSigners = false }: { rights?: "exact" | "atLeast"; moreSigners?: boolean } = {},
): string[] {
  const found: string[] = [];
  if (given.programId !== asked.programId)
    found.push(`program ${given.programId} instead of ${asked.programId}`);
  for (const [index, { name, ...account }] of asked.accounts.entries()) {
    const other = given.accounts[index];
    if (other === undefined) {
      found.push(`no account ${index} (${name})`);
    } else if (other.pubkey !== account.pubkey) {
      found.push(`account ${index} (${name}) is ${other.pubkey} instead of ${account.pubkey}`);
    } else {
      for (const right of ["isSigner", "isWritable"] as const) {
        if (other[right] === account[right] || (rights === "atLeast" && other[right])) continue;
        const verb = right === "isSigner" ? "sign" : "be written";
        found.push(`account ${index} (${name}) ${account[right] ? "does not" : "would"} ${verb}`);
      }
    }
  }
  for (const [index, account] of given.accounts.entries()) {
    if (index < asked.accounts.length) continue;
    const onlySigns = account.isSigner && !account.isWritable;
    if (!(moreSigners && onlySigns)) found.push(`account ${index} (${account.pubkey}) was not asked for`);
  }
  if (hex(given.data) !== hex(asked.data))
    found.push(`its data are ${hex(given.data)} instead of ${hex(asked.data)}`);
  return found;
}
