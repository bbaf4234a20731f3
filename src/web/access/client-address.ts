/** The client's address, for throttling and logs. It grants no rights. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** `203.0.113.7:4711`, `[2001:db8::1]`, `[2001:db8::1]:4711`: some proxies append a port. */
const withPort = /^(?:(?<v4>[\d.]+):\d{1,5}|\[(?<v6>[\da-f]*:[\da-f:.]*)\](?::\d{1,5})?)$/i;

/** @param behindProxy true: the last entry of X-Forwarded-For counts, which the proxy wrote; false: headers are ignored */
export function clientAddress({ headers, socket }: IncomingMessage, behindProxy: boolean): string {
  const own = socket.remoteAddress ?? "unknown";
  if (!behindProxy) return own;
  const [forwarded] = [headers["x-forwarded-for"] ?? []].flat().slice(-1);
  const last = forwarded?.split(",").at(-1)?.trim() ?? "";
  const { v4, v6 } = withPort.exec(last)?.groups ?? {};
  const address = v4 ?? v6 ?? last;
  return isIP(address) === 0 ? own : address;
}

/** Maps addresses that one host can choose freely to one: an IPv6 /64, and IPv4 in either form. */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("%")[0]!.toLowerCase().split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  // An IPv4 tail stands for two groups.
  const taken = first.length + last.length + (last.at(-1)?.includes(".") ? 1 : 0);
  const whole =
    tail === undefined ? first : [...first, ...Array<string>(Math.max(0, 8 - taken)).fill("0"), ...last];
  return `${whole
    .slice(0, 4)
    .map((part) => part.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
