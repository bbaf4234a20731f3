/**
 * Preloaded into the daemon: moves its wall clock by DESK_SHIFT_MS, so that the desk's day begins where the script wants it.
 * Monotonic time and timers are the machine's own.
 */
const shiftMs = Number(process.env.DESK_SHIFT_MS ?? 0);
const machineNow = Date.now;
const now = (): number => machineNow() + shiftMs;

globalThis.Date = new Proxy(Date, {
  construct: (target, parts, self) => Reflect.construct(target, parts.length === 0 ? [now()] : parts, self),
  get: (target, name, self) => (name === "now" ? now : Reflect.get(target, name, self)),
});
