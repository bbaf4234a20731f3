/** Shared by commands that build transactions: the wallet, the fee payer, the ledger, and the output. */
import type { NamedInstruction } from "../../contract/index.ts";
import type { DaemonSettings, WalletSettings } from "../../daemon/settings.ts";
import type { Exchange } from "../../exchange/index.ts";
import type { Cost } from "../../ledger/onboarding.ts";
import type { Reviewed } from "../../ledger/review.ts";
import type { Ledger } from "../../ledger/rpc.ts";
import type { WalletSigner } from "../../signer/signer.ts";
import { CommandFailed } from "../command.ts";
import { unknownName } from "../daemon.ts";
import type { Paint } from "../terminal/print.ts";
import type { Signing } from "./signing.ts";

/** @throws {CommandFailed} status 2 unless exactly one wallet is meant */
export function walletNamed(settings: DaemonSettings, name: string | undefined): WalletSettings {
  const { wallets } = settings;
  if (name === undefined) {
    const [only] = wallets;
    if (only !== undefined && wallets.length === 1) return only;
    const names = wallets.map((it) => it.name).join(", ");
    throw new CommandFailed(`say which wallet with --wallet; configured: ${names}`, 2);
  }
  const found = wallets.find((it) => it.name === name);
  if (found) return found;
  throw unknownName(
    "wallet",
    name,
    wallets.map((it) => it.name),
  );
}

/**
 * The fee payer.
 * @throws {CommandFailed} status 2 when there is none
 * @throws {BadKey}
 */
export async function feePayerOf(
  wallet: WalletSettings,
  signing: Pick<Signing, "feePayer">,
): Promise<WalletSigner> {
  const payer = (await signing.feePayer()) ?? wallet.key;
  if (payer !== null) return payer;
  throw new CommandFailed(
    `${wallet.name} has no key here, so it cannot pay: name a key file that can, with --fee-payer`,
    2,
  );
}

/**
 * The configured ledger; otherwise that of an exchange on this machine, which is simulated and has its own.
 * @throws {CommandFailed} status 2 where there is none
 */
export async function openLedger({ ledger, exchange }: DaemonSettings): Promise<Ledger> {
  const { createLedger } = await import("../../ledger/rpc.ts");
  if (ledger !== null) return createLedger(ledger);
  if (new URL(exchange.baseUrl).protocol === "http:")
    return createLedger({ rpcUrl: `${exchange.baseUrl.replace(/\/+$/, "")}/rpc` });
  const example = "ledger: { rpcUrl: https://… }";
  throw new CommandFailed(
    `this asks the ledger, and ledger.rpcUrl is not configured: name a node of it with ${example}`,
    2,
  );
}

/** Ends the session of this command. A failed logout is ignored. */
export async function signOut(exchange: Exchange, wallet: WalletSettings): Promise<void> {
  const session = exchange.sessions.of(wallet.name);
  if (session?.peek() != null) await session.logout().catch(() => {});
}

const lamportsPerSol = 1_000_000_000n;

/** `0.0134 SOL`, exactly. */
export function sol(lamports: bigint): string {
  const size = lamports < 0n ? -lamports : lamports;
  const fraction = String(size % lamportsPerSol)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${lamports < 0n ? "-" : ""}${size / lamportsPerSol}${fraction === "" ? "" : `.${fraction}`} SOL`;
}

/** One line for each fact, aligned. */
export function facts(rows: readonly (readonly [string, string])[], paint: Paint): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${paint("gray", name.padEnd(width))}  ${value}`).join("\n");
}

/** The closing lines: the signers and the costs. */
export function closing(
  reviewed: Reviewed,
  cost: Cost,
  names: ReadonlyMap<string, string>,
): (readonly [string, string])[] {
  const known = (pubkey: string) => {
    const name = names.get(pubkey);
    return name === undefined ? pubkey : `${pubkey} (${name})`;
  };
  return [
    ["fee payer", known(reviewed.feePayer)],
    ...reviewed.signers.map((pubkey) => ["signer", known(pubkey)] as const),
    ["costs", `${sol(cost.lamports)}, as the ledger foresees it; ${sol(cost.left)} stay with the fee payer`],
  ];
}

/** All accounts that an instruction names, with their rights. */
export function accountRows({ accounts }: NamedInstruction): string[] {
  return accounts.map(({ name, pubkey, isSigner, isWritable }) => {
    const rights = [isWritable ? "written" : "read", ...(isSigner ? ["signs"] : [])].join(", ");
    return `     ${pubkey.padEnd(44)}  ${name} (${rights})`;
  });
}
