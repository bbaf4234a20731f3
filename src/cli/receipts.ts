/** The receipts of an alert as a table: the first known time, then the delay of each step. */

import { type Receipt, type ReceiptStep, receiptSteps } from "../domain/alerts/receipt.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import type { Paint } from "./terminal/print.ts";
import { table } from "./terminal/table.ts";

/** Clocks may differ by less than this without being wrong. */
const clockToleranceMs = 1_000;

/** Column titles that differ from the names of steps. */
const titles: Partial<Record<ReceiptStep, string>> = { owed: "pending", sealed: "finalized" };

export function receiptTable(
  receipts: readonly Receipt[],
  time: (ms: number) => string,
  paint: Paint,
): string {
  const rows = receipts.map((receipt) => [
    receipt.receiver,
    receipt.kind,
    ...receiptSteps.map((step) => stepText(receipt, step, time, paint)),
  ]);
  return table(["receipt", "of", ...receiptSteps.map((step) => titles[step] ?? step)], rows, paint);
}

function stepText(receipt: Receipt, step: ReceiptStep, time: (ms: number) => string, paint: Paint): string {
  const { atMs, afterMs, status, acknowledgement } = receipt;
  const at = atMs[step];
  const after = afterMs[step];
  if (at !== null) return after === undefined ? time(at) : laterText(after);
  if (step === "accepted" && status === "dead") return paint("red", "given up");
  if (step === "accepted") return paint("yellow", "not yet");
  if (step === "acknowledged" && acknowledgement !== null)
    return acknowledgement.status === "left" ? `left: ${acknowledgement.reason}` : acknowledgement.status;
  return "–";
}

/**
 * A negative delay comes from differing clocks: the exchange's differs from ours, and ours may have been set in
 * between.
 */
function laterText(afterMs: number): string {
  if (afterMs >= 0) return `+${formatDurationMs(afterMs)}`;
  return afterMs > -clockToleranceMs ? "at once" : formatDurationMs(afterMs);
}
