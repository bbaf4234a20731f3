/**
 * The stream's `exchange` channel: everything that is configured, then what of it changes, in numbered messages.
 *
 *   control call ─► world.exchangeSequence + 1 ─► changes(): one delta a number, with what differs since the last one
 */
import { zstdCompressSync } from "node:zlib";
import type { WireFor } from "../contract/index.ts";
import type { SnapshotEncoding } from "../contract/stream/stream-messages.ts";
import type { Context } from "./answers/context.ts";
import { exchangeAnswers } from "./answers/exchange.ts";
import { bits } from "./answers/prices.ts";
import type { World } from "./state.ts";
import { present } from "./world.ts";

const channel = "exchange";
const snapshotOf = exchangeAnswers.exchangeSnapshot as (
  args: object,
  context: Pick<Context, "world">,
) => WireFor<"exchangeSnapshot">;

export interface ExchangeFeed {
  /** The whole, as the next delta builds on it. */
  snapshot(encoding: SnapshotEncoding): object;
  /** The changes since the last call, oldest first. */
  changes(): object[];
}

/** The last report of what can change. */
interface Told {
  readonly sequence: number;
  readonly exchange: WireFor<"exchangeSnapshot">["exchange"];
  readonly statuses: ReadonlyMap<string, string>;
}

export function createExchangeFeed(world: World): ExchangeFeed {
  const now = (): Told => ({
    sequence: world.exchangeSequence,
    exchange: snapshotOf({}, { world }).exchange,
    statuses: new Map([...world.markets.values()].map((it) => [it.spec.symbol, it.status])),
  });
  let told = now();

  function changes(): object[] {
    if (told.sequence === world.exchangeSequence) return [];
    const [before, after] = [told, now()];
    told = after;
    const header = { channel, messageType: "delta", version: 1, ...present(world) };
    const messages: object[] = [];
    // A number without a message would be a gap: earlier ones go out empty, the last one says what is different.
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

function statusOps({ exchange: before }: Told, { exchange: after }: Told): object[] {
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

const marketOps = (before: Told, after: Told): object[] =>
  [...after.statuses].flatMap(([symbol, newMarketStatus]) => {
    const previousMarketStatus = before.statuses.get(symbol) ?? newMarketStatus;
    if (previousMarketStatus === newMarketStatus) return [];
    return [{ kind: "marketStatusChanged", symbol, previousMarketStatus, newMarketStatus }];
  });
