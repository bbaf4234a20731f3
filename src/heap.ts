/**
 * How much garbage may gather. By itself V8 lets the heap grow to a multiple of what lives in it, which is fast; a daemon that
 * watches thousands of wallets beside other programs would take several times the memory that it needs. The size of the
 * young generation belongs to it, and can be chosen only when a process begins (launch.mjs).
 */
import v8 from "node:v8";

/** In percent of what lives: collecting takes about a twentieth of a core with 5,000 wallets at 5 s. */
const growthPercent = 30;

/** To be called when all is loaded: what was compiled before under other flags is not taken from its cache. */
export function keepHeapSmall(): void {
  v8.setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}
