/**
 * The stream's `exchange` channel: the complete configuration, then its changes in numbered messages.
 *
 *   control call ─► world.exchangeSequence + 1 ─► changes(): one delta for each number, with the differences since the last one
 */
import { zstdCompressSync } from "node:zlib";
import type { WireFor } from "../../contract/index.ts";
import type { SnapshotEncoding } from "../../contract/stream/stream-messages.ts";
import type { Context } from "../server/answers/context.ts";
import { exchangeAnswers } from "../server/answers/exchange.ts";
import { bits } from "../server/answers/prices.ts";
import type { World } from "../state.ts";
import { present } from "../world.ts";

const channel = "exchange";
const snapshotOf = exchangeAnswers.exchangeSnapshot as (
  args: object,
  context: Pick<Context, "world">,
) => WireFor<"exchangeSnapshot">;

export interface ExchangeFeed {
  /** The complete state, on which the next delta builds. */
  snapshot(encoding: SnapshotEncoding): object;
  /** The changes since the last call, oldest first. */
  changes(): object[];
}

/** The last sent state of everything that can change. */
interface SentState {
  readonly sequence: number;
  readonly exchange: WireFor<"exchangeSnapshot">["exchange"];
  readonly statuses: ReadonlyMap<string, string>;
}

export function createExchangeFeed(world: World): ExchangeFeed {
  const now = (): SentState => ({
    sequence: world.exchangeSequence,
    exchange: snapshotOf({}, { world }).exchange,
    statuses: new Map([...world.markets.values()].map((it) => [it.spec.symbol, it.status])),
  });
  let sent = now();

  function changes(): object[] {
    if (sent.sequence === world.exchangeSequence) return [];
    const [before, after] = [sent, now()];
    sent = after;
    const header = { channel, messageType: "delta", version: 1, ...present(world) };
    const messages: object[] = [];
    // A number without a message would be a gap: earlier numbers are sent empty, the last one contains the differences.
    for (let sequence = before.sequence + 1; sequence < after.sequence; sequence++) {
      messages.push({ ...header, sequenceNumber: String(sequence), ops: [] });
    }
    const ops = [...statusOps(before, after), ...marketOps(before, after)];
    messages.push({ ...header, sequenceNumber: String(after.sequence), ops });
    return messages;
  }

  function snapshot(encoding: SnapshotEncoding): object {
    const whole = { ...snapshotOf({}, { world }), reason: "snapshot" };
    if (encoding === "json") return { channel, messageType: "snapshot", ...whole };
    const { exchange: _exchange, markets: _markets, spotCollaterals: _spot, ...header } = whole;
    const payload = zstdCompressSync(JSON.stringify(whole)).toString("base64");
    return { channel, messageType: "encodedSnapshot", ...header, encoding, payload };
  }

  return { snapshot, changes };
}

function statusOps({ exchange: before }: SentState, { exchange: after }: SentState): object[] {
  const [previousBits, newBits] = [bits(before), bits(after)];
  const withdrawalsAvailable = after.withdrawalsAvailable ?? true;
  if (previousBits === newBits && (before.withdrawalsAvailable ?? true) === withdrawalsAvailable) return [];
  const previousFeatures = before.exchangeStatusFeatures ?? [];
  const newFeatures = after.exchangeStatusFeatures ?? [];
  return [
    {
      kind: "exchangeStatusChanged",
      previousBits,
      newBits,
      previousFeatures,
      newFeatures,
      enabledFeatures: newFeatures.filter((it) => !previousFeatures.includes(it)),
      disabledFeatures: previousFeatures.filter((it) => !newFeatures.includes(it)),
      active: after.active,
      gated: after.gated,
      withdrawalsAvailable,
    },
  ];
}

const marketOps = (before: SentState, after: SentState): object[] =>
  [...after.statuses].flatMap(([symbol, newMarketStatus]) => {
    const previousMarketStatus = before.statuses.get(symbol) ?? newMarketStatus;
    if (previousMarketStatus === newMarketStatus) return [];
    return [{ kind: "marketStatusChanged", symbol, previousMarketStatus, newMarketStatus }];
  });
