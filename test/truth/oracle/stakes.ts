/** Positions as they were when their accounts were read last, against what alerts about missing data say is at stake. */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import { claimProblem } from "./claim.ts";
import { duration, durationClaims } from "./duration.ts";
import { type Claim, percent } from "./predicate.ts";
import { priceOf } from "./seen.ts";
import { accountOf, symbolOf, type View, walletOf } from "./view.ts";

interface Reading {
  /** A fraction; infinite: it cannot be liquidated; NaN: what it rests on was not known yet. */
  readonly distance: number;
  readonly side: string;
  /** The least distance at that time and at prices since, a fraction; NaN as above. */
  least: number;
  /** The mark at that time, USD; undefined: not known. */
  readonly mark: number | undefined;
  /** The daemon's clock. */
  readonly atMs: number;
}

/** A position is near liquidation within so many daily moves of its market. */
const nearMoves = 3;
/** The least that any market is taken to move in a day, and the move of one of which it is not known. */
const leastMove = 0.01;
const unknownMove = 0.1;
const nearAtLeast = nearMoves * leastMove;
/** The part of a distance by which it may be off. */
const tiny = 1e-6;
/** Readings of a position that are kept: its account may be read again while an alert is written. */
const kept = 3;
const lead = /^(\S+) (\S+) (long|short) (?:was (\S+ ?%) from liquidation|had no liquidation price) /;
/** A change of price since the reading, as a source tells it. */
const movedText = new RegExp(String.raw`^, (mark|price \([a-z ]+\)) (unchanged|(up|down) ${percent}) since`);
const worstText = new RegExp(`; ${percent} from liquidation at the worst price since`);
/** Prices that were read within this come still, ms. */
const stillMs = 2_000;
/** Accounts that were not read for so long are missing for more than that, ms. */
const longMs = 40_000;
const unpriced = /no read of the exchange succeeds|No data[^(]*: no [^(]*prices/;
/** Half of the last digit of a change that is told as none. */
const unmoved = 0.00005;
/** The wallets that a line names. */
const ofWallets = /^[a-z' -]+ of ([\w, ]+) \(schedule /;
const accountsMissing = /^[a-z ]+ of ([\w, ]+) \(schedule traderState\)/;

export class Stakes {
  /** By position, the newest last. */
  readonly #readings = new Map<string, Reading[]>();
  /** Own wallets with their PDA indices, as `w1/0.`. */
  readonly #own: readonly string[];
  #isLost = false;
  /** Those of which everything was read. */
  readonly #whole = new Set<string>();
  /** The largest daily move that a market was said to have, a fraction. */
  readonly #moves = new Map<string, number>();

  constructor(wallets: Outcome["plan"]["world"]["wallets"]) {
    this.#own = wallets
      .filter((one) => !isWhale(one))
      .flatMap(({ name, pdaIndices }) => pdaIndices.map((index) => `${name}/${index}.`));
  }

  /** @param isLost what was read is not recorded: the daemon knows it */
  forget(isLost: boolean): void {
    this.#readings.clear();
    this.#whole.clear();
    this.#moves.clear();
    this.#isLost = isLost;
  }

  /** Notes the positions of accounts that were read just now: a part leaves the others as they were read before. */
  note({ wallet, pdaIndex, told, atMs }: Observation & { readonly kind: "accounts" }, view: View): void {
    const prefix = `${wallet}/${pdaIndex}.`;
    if (told === undefined) this.#whole.add(prefix);
    const isTold = (name: string): boolean =>
      name.startsWith(prefix) && (told === undefined || told.includes(Number(name.slice(prefix.length))));
    const held = new Set([...view.positions(), ...view.whalePositions()]);
    for (const subject of this.#readings.keys())
      if (subject.startsWith(prefix) && !held.has(subject)) this.#readings.delete(subject);
    for (const subject of held) {
      const position = isTold(accountOf(subject)) ? view.state(subject) : undefined;
      if (!position) continue;
      const side = position.baseLots > 0n ? "long" : "short";
      const distance = view.position(subject)?.figures.distance ?? Number.NaN;
      const readings = (this.#readings.get(subject) ?? []).filter((one) => one.side === side);
      readings.push({ distance, least: distance, side, mark: view.mark(symbolOf(subject)), atMs });
      this.#readings.set(subject, readings.slice(-kept));
    }
  }

  /** Notes the daily move of a market, a fraction; null: its candles do not tell. */
  noteMove({ symbol, dailyVolatility }: Observation & { readonly kind: "external" }): void {
    const known = this.#moves.get(symbol) ?? leastMove;
    this.#moves.set(symbol, Math.max(known, dailyVolatility ?? unknownMove));
  }

  /** The largest distance from liquidation that may have counted as near in a market, a fraction. */
  #nearOf(symbol: string): number {
    return nearMoves * (this.#moves.get(symbol) ?? unknownMove);
  }

  /** Prices or terms were read: what was not known of the newest readings is taken by them, and how near positions came since. */
  fill(view: View): void {
    for (const [subject, readings] of this.#readings) {
      const newest = readings.at(-1)!;
      const distance = view.position(subject)?.figures.distance ?? Number.NaN;
      if (Number.isNaN(newest.distance))
        readings[readings.length - 1] = {
          ...newest,
          distance,
          least: distance,
          mark: view.mark(symbolOf(subject)),
        };
      else for (const one of readings) if (distance < one.least) one.least = distance;
    }
  }

  /** Statements of an alert about missing data about them that are not true. */
  problems({ kind, alert, details }: AlertChange, view: View): readonly string[] {
    const problems: string[] = [];
    const [begins, wallet, symbol = "", side, text] = lead.exec(alert.summary) ?? [];
    if (begins !== undefined) {
      const wrong = [...this.#readings]
        .filter(
          ([subject]) => walletOf(subject) === wallet && symbolOf(subject) === symbol && this.#isOwn(subject),
        )
        .flatMap(([subject, all]) => {
          const now = view.position(subject)?.figures.distance;
          const ofSide = all.filter((one) => one.side === side);
          return ofSide.map((one) => ({
            ...one,
            distance: Number.isNaN(one.distance) ? (now ?? one.distance) : one.distance,
          }));
        })
        .filter(({ distance }) =>
          text === undefined ? distance === Number.POSITIVE_INFINITY : Number.isFinite(distance),
        )
        .map((reading) => [
          ...leadClaims(alert, symbol, reading, view).flatMap(claimProblem),
          ...(this.#isNearSince(symbol, reading) && !worstText.test(alert.summary)
            ? [`how near it came since then: ${reading.least}`]
            : []),
        ]);
      if (wrong.length === 0) problems.push(`${wallet} held no ${side} of ${symbol} when it was read last`);
      else if (wrong.every((one) => one.length > 0)) problems.push(...wrong.at(-1)!);
    }
    if (alert.severity === "critical")
      return kind === "fired" && !this.#isAtStake(details, view)
        ? [...problems, "less: nothing is at stake"]
        : problems;
    if (kind === "fired" && !this.#isLost)
      problems.push(...this.#unread(details).map((name) => `critical: ${name} was never read`));
    for (const [name, row] of details) {
      const wallets = name === "Not read" ? (accountsMissing.exec(row)?.[1]?.split(", ") ?? []) : [];
      for (const [subject, readings] of this.#readings)
        if (
          wallets.includes(walletOf(subject)) &&
          readings.every(({ least }) => least < nearAtLeast * (1 - tiny))
        )
          problems.push(
            `critical: ${accountOf(subject)} was ${readings.at(-1)!.least} from liquidation in ${symbolOf(subject)}`,
          );
    }
    return problems;
  }

  /** True if a position surely was not near at a reading, and surely at a mark since. */
  #isNearSince(symbol: string, { distance, least }: Reading): boolean {
    return distance > this.#nearOf(symbol) * (1 + tiny) && least < nearAtLeast * (1 - tiny);
  }

  /** Own wallets with their PDA indices that an alert names and of which nothing was read since the start. */
  #unread(details: AlertChange["details"]): readonly string[] {
    const rows = details.flatMap(([name, row]) => (name === "Not read" ? [row] : []));
    const named = rows.flatMap((row) => ofWallets.exec(row)?.[1]?.split(", ") ?? []);
    return this.#own.filter((one) => named.includes(one.slice(0, one.indexOf("/"))) && !this.#whole.has(one));
  }

  /** Nobody is told of the position of a stranger because data are missing. */
  #isOwn(subject: string): boolean {
    return this.#own.some((one) => subject.startsWith(one));
  }

  /** True if a position may be liquidated of which something is missing, or that nobody knows. */
  #isAtStake(details: AlertChange["details"], view: View): boolean {
    if (this.#own.some((one) => !this.#whole.has(one))) return true;
    const rows = details.flatMap(([name, row]) => (name === "Not read" ? [row] : []));
    // A row that is left out may be of any source.
    if (
      rows.length > 0 &&
      rows.every((row) => /\(schedule (?!traderState|markets|marketConfig|traderView)/.test(row))
    )
      return false;
    return [...this.#readings].some(
      ([subject, readings]) =>
        this.#isOwn(subject) &&
        readings.some(
          (one) => !(leastOf(one, symbolOf(subject), view) > this.#nearOf(symbolOf(subject)) * (1 + tiny)),
        ),
    );
  }
}

/** The least distance since a reading, by other prices than marks as well, a fraction. */
function leastOf({ distance, least, mark, side }: Reading, symbol: string, view: View): number {
  if (mark === undefined || !Number.isFinite(distance)) return least;
  const way = side === "short" ? -1 : 1;
  const liquidation = mark * (1 - way * distance);
  const others = ["price (order book)", "price (other venues)"].flatMap((source) => {
    const price = priceBy(source, symbol, view);
    return price === undefined ? [] : [Math.max(0, (way * (price - liquidation)) / price)];
  });
  return Math.min(least, ...others);
}

/** All that the lead of a text says of a position, where it rests on that reading of it. */
function leadClaims(
  { summary }: AlertChange["alert"],
  symbol: string,
  reading: Reading,
  view: View,
): readonly Claim[] {
  const { distance, mark, atMs, least } = reading;
  const [found = "", , , , text] = lead.exec(summary) ?? [];
  const of = { summary, description: "" };
  const pricedMs = view.seen.readMs.get(priceOf + symbol) ?? view.nowMs;
  const age = new RegExp(`liquidation (?:price )?${duration}ago`);
  const ages = durationClaims(of, "age of the last reading", age, view.nowMs - Math.min(atMs, pricedMs));
  const rest = summary.slice(found.length).replace(/^.*? ago/, "");
  const [, source = "", what, way, share] = movedText.exec(rest) ?? [];
  const price = priceBy(source, symbol, view);
  const moved: Claim[] = [];
  // Prices that come still tell how far the position's price has moved. Where accounts come now and then, no source may count as still there.
  const isPriced = view.nowMs - atMs > longMs && view.nowMs - pricedMs <= stillMs && !unpriced.test(summary);
  if (what === undefined && mark !== undefined && isPriced)
    moved.push({ name: "move since then", text: "nothing", among: ["how far its price has moved"] });
  if (what !== undefined && mark !== undefined && price !== undefined) {
    const truth = price / mark - 1;
    if (share === undefined) {
      const word = Math.abs(truth) < unmoved * (1 + tiny) ? what : "moved";
      moved.push({ name: "move since then", text: what, among: [word] });
    } else {
      moved.push({ name: "direction since then", text: way!, among: [truth < 0 ? "down" : "up"] });
      moved.push({ name: "move since then", text: share, truth: Math.abs(truth), room: tiny });
    }
  }
  const worst = worstText.exec(summary)?.[1];
  // Which prices counted is the daemon's to say: either of both may be meant.
  const truths = [least, leastOf(reading, symbol, view)];
  const isMarks =
    worst !== undefined &&
    claimProblem({ name: "", text: worst, truth: truths[0]!, room: tiny }).length === 0;
  if (worst !== undefined)
    moved.push({
      name: "least distance since then",
      text: worst,
      truth: isMarks ? truths[0]! : truths[1]!,
      room: tiny,
    });
  const far: Claim[] =
    text === undefined ? [] : [{ name: "distance at the last reading", text, truth: distance, room: tiny }];
  return [...far, ...ages, ...moved];
}

/** The price that a source tells now, USD; undefined: not known. */
function priceBy(source: string, symbol: string, view: View): number | undefined {
  const { seen } = view;
  if (source === "mark") return view.mark(symbol);
  if (source === "price (order book)") {
    const depth = seen.markets.depths.get(symbol);
    return depth && (depth.bestBid + depth.bestAsk) / 2;
  }
  return source === "price (other venues)" ? (seen.markets.elsewhere.get(symbol) ?? undefined) : undefined;
}
