/** Deposits, withdrawals, transfers and notifications that the daemon was told of, and when their histories were read. */
import type { Event } from "../../../src/domain/event.ts";
import type { Observation } from "../../../src/domain/observation.ts";

/** The sources over whose events rules look back. */
export const eventSources: readonly string[] = ["collateral", "notifications"];

export class Events {
  /** Times of the newest readings since the start, as `source wallet`, also of fills; the daemon's clock, ms. */
  readonly readMs = new Map<string, number>();
  /** By wallet and kind, then by key: kept over lives. */
  readonly #all = new Map<string, Map<Event["kind"], Map<string, Event>>>();

  forget(): void {
    this.readMs.clear();
  }

  /** @returns true if it tells of something new */
  take({
    source,
    wallet,
    events,
    atMs,
    live,
    wholeMs = atMs,
  }: Observation & { readonly kind: "events" }): boolean {
    if (wallet === null || (source !== "fills" && !eventSources.includes(source))) return false;
    if (!live && wholeMs !== null) this.readMs.set(`${source} ${wallet}`, wholeMs);
    if (source === "fills") return false;
    for (const event of events) this.keep(event);
    return events.length > 0;
  }

  keep(event: Event): void {
    const wallet = event.wallet ?? "";
    const kinds = this.#all.get(wallet) ?? new Map<Event["kind"], Map<string, Event>>();
    const known = kinds.get(event.kind) ?? new Map<string, Event>();
    this.#all.set(wallet, kinds.set(event.kind, known.set(event.key, event)));
  }

  /** Those of a wallet (`w1`) or of an account of it (`w1/0.0`) within a time that ends now. @param windowMs infinite: all */
  of(subject: string, kind: Event["kind"], windowMs: number, nowMs: number): readonly Event[] {
    const [wallet = "", account] = subject.split("/");
    const known = this.#all.get(wallet)?.get(kind);
    if (known === undefined) return [];
    return [...known.values()].filter(
      ({ happenedMs, pdaIndex, subaccount }) =>
        happenedMs > nowMs - windowMs && (account === undefined || account === `${pdaIndex}.${subaccount}`),
    );
  }
}
