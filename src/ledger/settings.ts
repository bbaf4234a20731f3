/** The `ledger:` section of the configuration: the address of a node. Only onboarding and stop losses need it. */
import { z } from "zod";
import { isLoopbackHost } from "../domain/loopback.ts";

/** The address often holds a key of its provider, so it is secret and no message repeats it. */
const rpcUrl = z.string().superRefine((text, context) => {
  const wrong = (message: string) => context.addIssue({ code: "custom", message, input: "" });
  if (!URL.canParse(text)) return wrong("has to be a URL such as https://rpc.example");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return wrong("has to begin with https://");
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return wrong("has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost)");
  }
  if (url.username !== "" || url.password !== "") return wrong("may not hold a user name or password");
});

export const ledgerSettings = z.strictObject({ rpcUrl });
export type LedgerSettings = z.output<typeof ledgerSettings>;
