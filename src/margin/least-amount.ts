/**
 * The least amount that is enough, found by doubling and bisection. If the amounts that are enough are not one range, the result is
 * the lower end of one of the ranges.
 *
 * @param isEnough called about a hundred times
 * @param first the first guess, positive
 * @param max the largest amount, positive
 * @returns 0: nothing is needed; null: `max` is not enough either
 */
export function leastAmount(
  isEnough: (amount: bigint) => boolean,
  first: bigint,
  max: bigint,
): bigint | null {
  if (isEnough(0n)) return 0n;
  if (!isEnough(max)) return null;
  let low = 0n;
  let high = first < max ? first : max;
  while (high < max && !isEnough(high)) {
    low = high;
    high = high * 2n < max ? high * 2n : max;
  }
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}
