/** Numbers as text: significant digits only, grouped, without exponents. */

/** The text in place of an unknown number. */
export const absentText = "–";

/** Maximum ratio that is written as a number; of a larger one, as of an account with hardly any collateral, only that it is larger. */
const maxRatio = 100;

/** The remainder of sums of doubles, far below the smallest amounts: it is written as 0. */
const restBelow = 1e-12;
/** The unit of dollars is a millionth; less than half of one is the remainder of a sum. */
const smallestUsd = 1e-6;

/** A fraction as a percentage: 0.0812 is `8.12%`, anything above 100 is `over 10,000%`. */
export function formatPercent(fraction: number): string {
  return bounded(fraction, formatRate);
}

/** A rate as a percentage, however large: a yearly one may be. */
export function formatRate(fraction: number): string {
  if (!Number.isFinite(fraction)) return infinite(fraction);
  return `${significant(withoutRest(fraction) * 100, 3)}%`;
}

/** A multiple such as leverage: `3.46×`, anything above 100 is `over 100×`. */
export function formatTimes(value: number): string {
  return bounded(value, (within) => `${significant(within, 3)}×`);
}

function bounded(ratio: number, write: (ratio: number) => string): string {
  if (ratio > maxRatio) return `over ${write(maxRatio)}`;
  return ratio < -maxRatio ? `below ${write(-maxRatio)}` : write(ratio);
}

const withoutRest = (value: number): number => (Math.abs(value) < restBelow ? 0 : value);

/** `$1,234.50`, `-$0.0042`, `$1,250,000`. Less than a cent has two digits that matter, to the millionth of a dollar. */
export function formatUsd(value: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const whole = Math.abs(value);
  const abs = whole < 0.01 ? Math.round(whole / smallestUsd) * smallestUsd : whole;
  const digits =
    abs >= 100_000 ? fixed(abs, 0) : abs >= 0.01 || abs === 0 ? fixed(abs, 2) : significant(abs, 2);
  return `${value < 0 && abs > 0 ? "-" : ""}$${digits}`;
}

/**
 * A price keeps five digits at least: `$60,400.00`, `$151.35`, `$0.0012345`. With its market's tick it has that market's digits:
 * `$60,400`, `$151.35`. One decimal alone is never written: `$93.10`. Averages and prices elsewhere may lie between two ticks.
 * @param tickUsd the smallest step of the market's price; left out or none: not known
 */
export function formatPrice(value: number, tickUsd?: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  const abs = Math.abs(value);
  const decimals = tickUsd === undefined ? null : decimalsOf(tickUsd);
  // A price of less than half a tick is not written as 0.
  if (decimals !== null && (abs >= tickUsd! / 2 || abs === 0))
    return `${value < 0 ? "-" : ""}$${fixed(abs, decimals === 1 ? 2 : decimals)}`;
  const digits = abs >= 100 || abs === 0 ? fixed(abs, 2) : significant(abs, 5).replace(/\.\d$/, "$&0");
  return `${value < 0 && abs > 0 ? "-" : ""}$${digits}`;
}

/** Base units and plain numbers: `180`, `0.25`, `1,234.5678`. */
export function formatAmount(value: number): string {
  const amount = withoutRest(value);
  if (Number.isInteger(amount)) return fixed(Math.abs(amount) === 0 ? 0 : amount, 0);
  return significant(amount, Math.abs(value) >= 1_000 ? 8 : 6);
}

const maxDecimals = 12;

/** Returns the number of decimals that write a tick exactly; null: there is none. */
function decimalsOf(tick: number): number | null {
  if (!(tick > 0) || !Number.isFinite(tick)) return null;
  for (let decimals = 0; decimals <= maxDecimals; decimals++) {
    const whole = tick * 10 ** decimals;
    if (Math.round(whole) > 0 && Math.abs(whole - Math.round(whole)) <= whole * 1e-9) return decimals;
  }
  return null;
}

function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  return grouped(value.toFixed(decimals));
}

/** Returns at least this many significant digits, no trailing zeros, no exponent. */
export function significant(value: number, digits: number): string {
  if (!Number.isFinite(value)) return infinite(value);
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.min(Math.max(digits - 1 - magnitude, 0), 20);
  const text = value.toFixed(decimals);
  return grouped(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

function infinite(value: number): string {
  return Number.isNaN(value) ? absentText : value > 0 ? "∞" : "-∞";
}

function grouped(text: string): string {
  if (text.includes("e")) return text;
  const [whole = "", rest] = text.split(".");
  const parts = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? parts : `${parts}.${rest}`;
}
