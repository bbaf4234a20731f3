/** The `exchange:` section of the configuration. */
import { z } from "zod";
import { PUBLIC_BASE_URL } from "../contract/program.ts";
import { isLoopbackHost } from "../domain/loopback.ts";
import { AUTO_START_PER_SECOND } from "./requests/rate-control.ts";

/** Plain HTTP would expose tokens on the network; it is allowed on this machine. */
const baseUrl = z
  .string()
  .default(PUBLIC_BASE_URL)
  .superRefine((text, context) => {
    const wrong = (message: string) => context.addIssue({ code: "custom", message, input: text });
    if (!URL.canParse(text)) return wrong("has to be a URL such as https://exchange.example");
    const url = new URL(text);
    if (url.protocol !== "https:" && url.protocol !== "http:") return wrong("has to begin with https://");
    if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
      return wrong("has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost)");
    }
    if (url.username !== "" || url.password !== "") return wrong("may not hold a user name or password");
    if (url.search !== "" || url.hash !== "") return wrong("may not have a query (?…) or fragment (#…)");
    if (/\/v1\/?$/.test(url.pathname)) return wrong("is given without /v1, which every path begins with");
  });

/** A text other than `auto` gets the same error as an invalid number. */
const requestsPerSecond = z.literal("auto").or(z.number().min(0.1).max(10_000)).default("auto");

export const exchangeSettings = z.strictObject({
  /** Origin of the API, optionally with a path before `/v1`. */
  baseUrl,
  /**
   * The host that the text of a login has to name (`app.exchange.example`); left out: the first form seen is trusted.
   */
  loginDomain: z
    .string()
    .regex(/^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/i, "has to be a host name such as app.exchange.example")
    .transform((text) => text.toLowerCase())
    .optional(),
  /** `auto`: streams in addition to polls; `off`: everything is polled. */
  streams: z.enum(["auto", "off"]).default("auto"),
  /** Ceiling for the whole daemon, which 429 answers lower; `auto`: the rate that the exchange grants. */
  requestsPerSecond,
});
export type ExchangeSettings = z.output<typeof exchangeSettings>;

/** Returns the rate for which schedules are planned before the exchange has answered, requests a second. */
export function plannedPerSecond({ requestsPerSecond }: Pick<ExchangeSettings, "requestsPerSecond">): number {
  return requestsPerSecond === "auto" ? AUTO_START_PER_SECOND : requestsPerSecond;
}
