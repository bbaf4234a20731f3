/** The part of a scenario's configuration that says when something is due. */
import { durationMs } from "./duration.ts";

export interface Span {
  readonly least: number;
  readonly most: number;
}

interface Sections {
  readonly timezone: string;
  readonly exchange: { readonly requestsPerSecond: number | "auto"; readonly streams: "auto" | "off" };
  readonly schedules: Readonly<Record<string, { readonly every: string; readonly whenStreaming?: string }>>;
  readonly ruleOverrides: Readonly<Record<string, Override>>;
}

interface Override {
  readonly for?: string;
  readonly keepFiringFor?: string;
  readonly value?: string;
  readonly when?: string;
  readonly resolveWhen?: string;
  readonly levels?: unknown;
}

export class Terms {
  readonly accountsMs: number;
  readonly pricesMs: number;
  /** The longest interval between two readings of a history or an inbox. */
  readonly historiesMs: number;
  readonly #first: Sections;
  /** Requests a second at most; null: as many as the exchange grants. */
  readonly ceiling: number | null;
  readonly streams: boolean;
  readonly timezone: string;
  /** Another configuration was in use for some of the time. */
  readonly changed: boolean;
  readonly #overrides: readonly Sections["ruleOverrides"][];
  readonly #windows = new Map<string, number | null>();

  /** @param sections of config.yaml, of each version that was in use */
  constructor(sections: readonly Readonly<Record<string, unknown>>[]) {
    const all = sections as unknown as readonly Sections[];
    this.#first = all[0]!;
    this.accountsMs = this.everyMs("traderState");
    this.pricesMs = this.everyMs("markets");
    this.historiesMs = inboxMs;
    const { requestsPerSecond, streams } = all[0]!.exchange;
    this.ceiling = requestsPerSecond === "auto" ? null : requestsPerSecond;
    this.streams = streams !== "off";
    this.timezone = all[0]!.timezone;
    this.changed = all.length > 1;
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
    const own = this.#windows.get(rule) ?? this.#windowOf(rule);
    this.#windows.set(rule, own);
    return own ?? shippedMs;
  }

  /** Null: it is that of the shipped rule. */
  #windowOf(rule: string): number | null {
    const { value, when } = this.#overrides[0]?.[rule] ?? {};
    const found = /"(\d+[smh])"/.exec(value ?? when ?? "");
    return found ? ms(found[1]!) : null;
  }

  /** The durations that a rule's conditions compare with, in their order, ms. */
  durations(rule: string, shippedMs: readonly number[]): readonly number[] {
    const found = [...textOf(this.#overrides[0]?.[rule]).matchAll(/duration\("(\w+)"\)/g)];
    return found.length === 0 ? shippedMs : found.map(([, text]) => ms(text!));
  }

  /** The least count at which a rule's condition holds. */
  least(rule: string, shipped: number): number {
    return Number(/>= (\d+)/.exec(this.#overrides[0]?.[rule]?.when ?? "")?.[1] ?? shipped);
  }

  /** The figures above which a rule's condition holds, and below which it is gone. */
  bounds(rule: string, shipped: readonly [on: number, off: number]): readonly [on: number, off: number] {
    const { when, resolveWhen } = this.#overrides[0]?.[rule] ?? {};
    const [on, off] = [when, resolveWhen].map((text) => /[<>] ([\d.]+)$/.exec(text ?? "")?.[1]);
    return on === undefined || off === undefined ? shipped : [Number(on), Number(off)];
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

/** Its conditions in one text. */
const textOf = ({ levels, when }: Override = {}): string =>
  [...Object.values((levels ?? {}) as Record<string, { readonly when: string }>), { when: when ?? "" }]
    .map((one) => one.when)
    .join(" ");

/** Beside the stream the inbox is read so often. */
const inboxMs = 30_000;

/** Texts are few, and read with each observation. */
const known = new Map<string, number>();

function ms(text: string): number {
  const before = known.get(text);
  if (before !== undefined) return before;
  const found = durationMs(text);
  if (Number.isNaN(found)) throw new Error(`no duration: ${text}`);
  known.set(text, found);
  return found;
}
