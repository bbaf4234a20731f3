/** Exact rational arithmetic for oracles: numerator over positive denominator. */

export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

export const rational = (n: bigint, d = 1n): Rational => ({ n, d });

/** Returns value × 10^exponent. */
export function shifted({ n, d }: Rational, exponent: number): Rational {
  return exponent >= 0 ? { n: n * 10n ** BigInt(exponent), d } : { n, d: d * 10n ** BigInt(-exponent) };
}

/** A decimal text as the rational that it writes. */
export function ofText(text: string): Rational {
  const [whole = "", fraction = ""] = text.split(".");
  return { n: BigInt(whole + fraction), d: 10n ** BigInt(fraction.length) };
}

/** The exact value of a finite double. */
export function ofDouble(value: number): Rational {
  let n = value;
  let d = 1n;
  while (!Number.isInteger(n)) {
    n *= 2;
    d *= 2n;
  }
  return { n: BigInt(n), d };
}

export const same = (a: Rational, b: Rational): boolean => a.n * b.d === b.n * a.d;

/** |a − b| ≤ |b| × parts / 10^15 */
export function close(a: Rational, b: Rational, parts: bigint): boolean {
  const difference = a.n * b.d - b.n * a.d;
  const size = b.n * a.d;
  const abs = (it: bigint) => (it < 0n ? -it : it);
  return abs(difference) * 10n ** 15n <= abs(size) * parts;
}
