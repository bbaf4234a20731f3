/** Exact decimals: conversion between text and the world's integers. */

export { parseDecimal, scaledRound, shortDecimal as writeDecimal } from "../contract/index.ts";

/** Quote lots in one USD. */
export const usdDecimals = 6;

export const abs = (value: bigint): bigint => (value < 0n ? -value : value);
export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const sign = (value: bigint): -1n | 0n | 1n => (value < 0n ? -1n : value > 0n ? 1n : 0n);

/** Divides and rounds half away from zero; `by` is positive. */
export function divideRound(value: bigint, by: bigint): bigint {
  const half = (abs(value) * 2n + by) / (by * 2n);
  return value < 0n ? -half : half;
}

/** Micro-dollars of one unit, if `baseLots` have the value `quoteLots`; rounded down. */
export function microPerUnit(quoteLots: bigint, baseLots: bigint, baseLotsDecimals: number): bigint {
  const up = 10n ** BigInt(Math.max(0, baseLotsDecimals));
  const down = 10n ** BigInt(Math.max(0, -baseLotsDecimals));
  return (abs(quoteLots) * up) / (abs(baseLots) * down);
}

/** Divides non-negative numbers and rounds up. */
export function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
