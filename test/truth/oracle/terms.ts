/** The part of a scenario's configuration that says when something is due. */
import { parseDurationMs } from "../../../src/domain/duration.ts";

export interface Span {
  readonly least: number;
  readonly most: number;
}

interface Sections {
  readonly exchange: { readonly streams: string };
  readonly schedules: Readonly<Record<string, { readonly every: string; readonly whenStreaming?: string }>>;
  readonly ruleOverrides: Readonly<
    Record<
      string,
      {
        readonly for?: string;
        readonly keepFiringFor?: string;
        readonly value?: string;
        readonly when?: string;
      }
    >
  >;
}

export class Terms {
  readonly accountsMs: number;
  readonly pricesMs: number;
  /** The longest interval between two readings of a history or an inbox. */
  readonly historiesMs: number;
  readonly #first: Sections;
  readonly #overrides: readonly Sections["ruleOverrides"][];

  /** @param sections of config.yaml, of each version that was in use */
  constructor(sections: readonly Readonly<Record<string, unknown>>[]) {
    const all = sections as unknown as readonly Sections[];
    this.#first = all[0]!;
    this.accountsMs = this.everyMs("traderState");
    this.pricesMs = this.everyMs("markets");
    this.historiesMs = inboxMs;
    this.#overrides = all.map(({ ruleOverrides }) => ruleOverrides);
  }

  /** The interval at which a source is read, ms. */
  everyMs(source: string): number {
    const { exchange, schedules } = this.#first;
    const { every, whenStreaming } = schedules[source]!;
    return ms(exchange.streams === "off" ? every : (whenStreaming ?? every));
  }

  /** The one window over which a rule looks back, ms. */
  windowMs(rule: string, shippedMs: number): number {
    const { value, when } = this.#overrides[0]?.[rule] ?? {};
    const found = /"(\d+[smh])"/.exec(value ?? when ?? "");
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
