/** A transaction sent for the signature of the exchange's onboarder: its check and its execution. */
import { differences, MAX_POSITIONS, type NamedInstruction, readRegister } from "../../contract/index.ts";
import {
  BadTransaction,
  brokenSignatures,
  type LedgerTransaction,
  missingSigners,
  readTransaction,
  signTransaction,
} from "../../wallet/ledger-transaction.ts";
import { NotFound } from "../server/answers/context.ts";
import type { World } from "../state.ts";
import { execute, prepare, TransactionRefused } from "./execution.ts";
import { isRecent } from "./ledger.ts";

export interface Wanted {
  readonly feePayer: string;
  readonly instructions: readonly NamedInstruction[];
  /** From the request; it has to equal the transaction's. */
  readonly recentBlockhash?: string;
}

const COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111";

const bad = (why: string, code = "invalid_transaction") => new NotFound(why, 400, code);

function read(wire: string): LedgerTransaction {
  try {
    return readTransaction(wire);
  } catch (error) {
    if (error instanceof BadTransaction)
      throw bad(`The transaction is malformed: ${error.message}`, "malformed_transaction");
    throw error;
  }
}

export const feePayerOf = (wire: string): string => read(wire).feePayer;

/** Maximum positions that a transaction's register instruction requests; the default without one. */
export function requestedPositions(wire: string): number {
  for (const { data } of read(wire).instructions) {
    const room = readRegister(data)?.maxPositions;
    if (room !== undefined) return room;
  }
  return MAX_POSITIONS;
}

/**
 * Parses a transaction that equals the wanted one and lacks only the onboarder's signature.
 * @throws {NotFound} 400
 */
export function checkTransaction(wire: string, wanted: Wanted, world: World): LedgerTransaction {
  const transaction = read(wire);
  const { feePayer, blockhash } = transaction;
  // A wallet may add Compute Budget instructions.
  const instructions = transaction.instructions.filter(({ programId }) => programId !== COMPUTE_BUDGET);
  const onboarder = world.ledger.onboarder.address;
  if (feePayer !== wanted.feePayer) throw bad(`The fee payer is ${feePayer} instead of ${wanted.feePayer}`);
  if (wanted.recentBlockhash !== undefined && blockhash !== wanted.recentBlockhash)
    throw bad("recent_blockhash is not the transaction's");
  if (instructions.length !== wanted.instructions.length) {
    throw bad(
      `The transaction has ${instructions.length} instructions instead of ${wanted.instructions.length}`,
    );
  }
  for (const [index, asked] of wanted.instructions.entries()) {
    const isLast = index === wanted.instructions.length - 1;
    const [first] = differences(asked, instructions[index]!, { rights: "atLeast", moreSigners: isLast });
    if (first !== undefined) throw bad(`Instruction ${index} (${asked.kind}): ${first}`);
  }
  if (transaction.accounts.some((it) => it.pubkey === onboarder && it.isWritable))
    throw bad("The onboarder would pay");
  for (const missing of missingSigners(transaction)) {
    if (missing !== onboarder) throw bad(`The signature of ${missing} is missing`, "signature_missing");
  }
  for (const broken of brokenSignatures(transaction))
    throw bad(`The signature of ${broken} does not hold`, "signature_invalid");
  if (!isRecent(world, blockhash)) throw bad("The blockhash is not recent", "blockhash_not_recent");
  return transaction;
}

/**
 * Signs as the onboarder, checks that it pays nothing, and executes.
 * @returns the signature
 * @throws {NotFound} 400
 */
export function submit(world: World, transaction: LedgerTransaction): string {
  const { onboarder } = world.ledger;
  const signed = signTransaction(transaction, onboarder);
  try {
    const cost = prepare(world, signed).lamports.get(onboarder.address) ?? 0n;
    if (cost !== 0n) throw bad("The onboarder would pay");
    return execute(world, signed);
  } catch (error) {
    if (error instanceof TransactionRefused)
      throw bad(`The transaction failed in simulation: ${error.message}`, "simulation_failed");
    throw error;
  }
}
