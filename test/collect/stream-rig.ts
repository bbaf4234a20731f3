/** Collectors on a stream of a simulator, with a line in between that a test can make lose, double and alter frames. */
import { expect } from "vitest";
import { FrameLine } from "../support/frame-line.ts";
import { type Booted, Rig, type RigOptions } from "./rig.ts";

/** Polls a minute apart: what happens between them is the stream's. */
export const seldom = Object.fromEntries(
  [
    ...["traderState", "markets", "traderView", "liquidations", "funding", "fundingRates", "collateral"],
    ...["orders", "fills", "pnl", "marketConfig", "exchangeStatus", "notifications"],
  ].map((source) => [source, { every: "1m" }]),
);

export class StreamRig implements AsyncDisposable {
  readonly rig: Rig;
  readonly line: FrameLine;
  booted!: Booted;

  private constructor(rig: Rig, line: FrameLine) {
    this.rig = rig;
    this.line = line;
  }

  /** Everything is polled once and streamed from then on. */
  static async start(options: Partial<RigOptions> = {}): Promise<StreamRig> {
    let line: FrameLine | undefined;
    const rig = await Rig.start({
      schedules: seldom,
      streams: async (url) => {
        line = await FrameLine.to(url);
        return line.url;
      },
      ...options,
    });
    const booted = await rig.boot();
    const own = new StreamRig(rig, line!);
    own.booted = booted;
    await own.until("streaming", () => {
      const connections = booted.collectors.streams()!.streams.status();
      const polled = booted.of("accounts").length > 0 && booted.of("marketConfig").length > 0;
      return (
        polled &&
        connections.every(
          (one) => (one.connected && one.lastToldMs !== null) || (one.wallet !== null && one.connected),
        )
      );
    });
    await own.pass(3_000);
    return own;
  }

  /** Time passes in small steps, and between them sockets have theirs. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await this.rig.clock.advance(50);
      await new Promise((next) => setTimeout(next, 1));
    }
  }

  /** @returns how long it took, ms of the test's clock */
  async until(what: string, met: () => boolean, limitMs = 20_000): Promise<number> {
    const fromMs = this.rig.clock.elapsedMs();
    while (!met()) {
      const tookMs = this.rig.clock.elapsedMs() - fromMs;
      if (tookMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
      await this.pass(50);
    }
    return this.rig.clock.elapsedMs() - fromMs;
  }

  get authority(): string {
    return this.rig.main.authority;
  }

  /** Newest sequence and collateral of subaccount 0, as it was observed. */
  get cross(): { readonly sequence: number; readonly collateral: bigint } {
    const [, row] = this.#rows.filter(([index]) => index === 0).at(-1)!;
    return row;
  }

  get #rows(): [number, { sequence: number; collateral: bigint }][] {
    return this.booted
      .of("accounts")
      .flatMap((one) =>
        one.subaccounts.map((row): [number, { sequence: number; collateral: bigint }] => [
          row.subaccount,
          { sequence: row.sequence, collateral: row.collateralQuoteLots },
        ]),
      );
  }

  get truth(): { readonly sequence: number; readonly collateral: bigint } {
    const { sequence, collateral } = this.rig.simulator.world.wallets
      .get(this.authority)!
      .accounts.get("0.0")!;
    return { sequence, collateral };
  }

  /** No observation of any subaccount is older than one before it. */
  expectForward(): void {
    const known = new Map<number, number>();
    for (const [index, { sequence }] of this.#rows) {
      expect(sequence).toBeGreaterThanOrEqual(known.get(index) ?? 0);
      known.set(index, sequence);
    }
    const places = this.booted.of("accounts").map(({ slot, slotIndex }) => slot * 1_000 + slotIndex);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  }

  deposit(usd: number): Promise<unknown> {
    return this.rig.call("collateral", { authority: this.authority, amount: String(usd) });
  }

  mark(price: number): Promise<unknown> {
    return this.rig.call("mark-price", { symbol: "SOL", price: String(price) });
  }

  marks(live?: boolean): number[] {
    return this.booted
      .of("prices")
      .filter((one) => live === undefined || (one.live === true) === live)
      .flatMap((one) => one.markets.filter((row) => row.symbol === "SOL").map((row) => row.markPriceUsd));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
    await this.line[Symbol.asyncDispose]();
  }
}
