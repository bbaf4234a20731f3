/** Symbols are compared without case. Their upper-case forms are cached, as every answer needs them. */
const known = new Map<string, string>();
/** The exchange lists a few hundred. */
const maxKnown = 4_096;

export function symbolKey(symbol: string): string {
  let key = known.get(symbol);
  if (key === undefined) {
    key = symbol.toUpperCase();
    if (known.size >= maxKnown) known.clear();
    known.set(symbol, key);
  }
  return key;
}
