/** Open changes of collateral as stored in history. */

import { z } from "zod";
import { keptNumber } from "../../../domain/stored/kept.ts";
import type { CashRecord, LooseRecord } from "../records/cash-record.ts";
import type { ExplainedFlow } from "./explained-flows.ts";
import type { OpenChange } from "./open-change.ts";
import type { PlacedFlow } from "./placed-flows.ts";
import type { Rough } from "./rough-changes.ts";

const number = keptNumber;
const optional = number.exactOptional();
const yes = z.literal(true).exactOptional();

const place = { account: z.string(), slot: number, index: optional };
const flow = z.object({
  ...place,
  kind: z.literal("flow"),
  usd: number,
  afterUsd: optional,
  unshown: yes,
  shown: yes,
  within: yes,
});
const fill = z.object({ ...place, kind: z.literal("fill"), symbol: z.string(), units: number, usd: number });
const handed = z.object({
  market: z.object({ symbol: z.string(), units: number }).nullable(),
  side: z.enum(["long", "short"]).exactOptional(),
  entryUsd: number,
  changeUsd: number,
});
const takeover = z.object({ ...place, kind: z.literal("takeover"), handed: handed.exactOptional() });
const sale = z.object({ ...place, kind: z.literal("sale"), assetIndex: number, units: number, usd: number });

const record: z.ZodType<CashRecord> = z.discriminatedUnion("kind", [flow, fill, takeover, sale]);
const loose: z.ZodType<LooseRecord> = z.discriminatedUnion("kind", [flow, fill]);

const traded = z.object({
  units: number,
  price: number,
  slack: number,
  unshown: z.boolean().exactOptional(),
});
const change: z.ZodType<OpenChange> = z
  .object({
    account: z.string(),
    cashUsd: number,
    traded: z.record(z.string(), traded),
    unpriced: z.array(z.string()).exactOptional(),
    slackUsd: number,
    gone: z.array(z.string()).exactOptional(),
    fromSlot: number,
    toSlot: number,
    fromIndex: optional,
    toIndex: optional,
    atMs: number,
    untilMs: optional,
    // Earlier versions did not store these two.
    readMs: optional,
    waitedMs: optional,
    flowUsd: number,
    taken: z.record(z.coerce.number(), z.object({ units: number, usd: number })).exactOptional(),
    unlisted: z.boolean().exactOptional(),
    reportedUsd: optional,
    withinUsd: optional,
    reportedWithinUsd: optional,
    beforeUsd: optional,
    ofOneSlot: z.boolean().exactOptional(),
    reopened: z.boolean().exactOptional(),
    late: z.array(fill).exactOptional(),
    guessed: z.boolean().exactOptional(),
    movedBeside: z.boolean().exactOptional(),
  })
  .transform((one) => ({ ...one, readMs: one.readMs ?? one.atMs, waitedMs: one.waitedMs ?? 0 }));
const rough: z.ZodType<Rough> = z.object({
  change,
  read: z.array(loose),
  usd: number,
  atMs: number,
  held: z.boolean(),
});
const explained = z.object({ sinceMs: number, atMs: number, usd: number, paidUsd: optional });
const placed = z.object({ sinceMs: number, untilMs: number, atMs: number, usd: number });

export interface KeptChanges {
  readonly open: readonly OpenChange[];
  readonly ahead: readonly CashRecord[];
  /** Absent: none. */
  readonly settled?: readonly OpenChange[];
  /** Absent: none. */
  readonly explained?: readonly ExplainedFlow[];
  /** Records in the slots of newest states that no change shows yet. Absent: none. */
  readonly loose?: readonly LooseRecord[];
  /** Absent: none. */
  readonly looseTakeovers?: readonly CashRecord[];
  /** Explained changes whose fills are still missing. Absent: none. */
  readonly rough?: readonly Rough[];
  /** Absent: none. */
  readonly placed?: readonly PlacedFlow[];
  /** The time at which a flow was last read that no open change shows, ms. Absent: none was. */
  readonly unplacedMs?: number;
}

/** The changes as read at a start: earlier versions stored fewer fields. */
export type RestoredChanges = { readonly [K in keyof KeptChanges]?: KeptChanges[K] | undefined };

/** The fields of `KeptChanges`. Earlier versions stored profit without them. */
export const changesShape = {
  open: z.array(change).exactOptional(),
  ahead: z.array(record).exactOptional(),
  settled: z.array(change).exactOptional(),
  explained: z.array(explained).exactOptional(),
  loose: z.array(loose).exactOptional(),
  looseTakeovers: z.array(record).exactOptional(),
  rough: z.array(rough).exactOptional(),
  placed: z.array(placed).exactOptional(),
  unplacedMs: optional,
} satisfies Record<keyof KeptChanges, z.ZodType>;
