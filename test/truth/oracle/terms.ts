/** The part of a scenario's configuration that says when something is due. */
import { parseDurationMs } from "../../../src/domain/duration.ts";

export interface Span {
  readonly least: number;
  readonly most: number;
}

interface Sections {
  readonly schedules: {
    readonly traderState: { readonly every: string };
    readonly markets: { readonly every: string };
  };
  readonly ruleOverrides: Readonly<
    Record<string, { readonly for?: string; readonly keepFiringFor?: string; readonly value?: string }>
  >;
}

export class Terms {
  readonly accountsMs: number;
  readonly pricesMs: number;
  /** The longest interval between two readings of a history or an inbox. */
  readonly historiesMs: number;
  readonly #overrides: readonly Sections["ruleOverrides"][];

  /** @param sections of config.yaml, of each version that was in use */
  constructor(sections: readonly Readonly<Record<string, unknown>>[]) {
    const all = sections as unknown as readonly Sections[];
    const { traderState, markets } = all[0]!.schedules;
    this.accountsMs = ms(traderState.every);
    this.pricesMs = ms(markets.every);
    this.historiesMs = inboxMs;
    this.#overrides = all.map(({ ruleOverrides }) => ruleOverrides);
  }

  /** The one window over which a rule's value looks back, ms. */
  windowMs(rule: string, shippedMs: number): number {
    const found = /"(\d+[smh])"/.exec(this.#overrides[0]?.[rule]?.value ?? "");
    return found ? ms(found[1]!) : shippedMs;
  }

  /** `for` and `keepFiringFor` of a rule, over all versions. */
  of(rule: string, shipped: { readonly forMs: number; readonly keepMs: number }) {
    const span = (name: "for" | "keepFiringFor", shippedMs: number): Span => {
      const all = this.#overrides.map((overrides) => {
        const text = overrides[rule]?.[name];
        return text === undefined ? shippedMs : ms(text);
      });
      return { least: Math.min(...all), most: Math.max(...all) };
    };
    return { forMs: span("for", shipped.forMs), keepMs: span("keepFiringFor", shipped.keepMs) };
  }
}

/** Beside the stream the inbox is read so often. */
const inboxMs = 30_000;

function ms(text: string): number {
  const found = parseDurationMs(text);
  if (found === undefined || found === null || Number.isNaN(found)) throw new Error(`no duration: ${text}`);
  return found;
}
