/**
 * The protocol between a signer and its clients, over a stream that only they can use: one JSON object per line.
 *
 *   ► {"id":1,"do":"load"}  (look, renew)                 ◄ {"id":1,"keys":[{"reference":"file /…","address":"…"}],"closed":""}
 *   ► {"id":2,"do":"sign","wallet":"…","act":{…}}         ◄ {"id":2,"signed":"…"}
 *   ► {"id":3,"do":"sessionKey","wallet":"…"}             ◄ {"id":3,"sessionKey":"… (base64)"}
 *                                                         ◄ {"id":2,"refused":"…","see":"…"}
 *                                                         ◄ {"id":2,"unavailable":"…"}
 *                                                         ◄ {"id":2,"failed":"…"}
 */
import type { Duplex } from "node:stream";
import { z } from "zod";
import { signingAct } from "./signer.ts";

const id = z.int().min(0);
const wallet = z.string().max(44);
const text = z.string().max(8_192);

/**
 * Kinds of reading the signer's configuration:
 *
 *   load    reads the file and uses it from then on: the file is loaded
 *   look    reads the file and returns its keys, without using it; opens no keystore
 *   renew   reads the keys of the loaded configuration again, since missing files and keystores may exist now
 */
export const readKind = z.enum(["load", "look", "renew"]);
export type ReadKind = z.infer<typeof readKind>;

export const requestForm = z.discriminatedUnion("do", [
  z.strictObject({ id, do: readKind }),
  z.strictObject({ id, do: z.literal("sign"), wallet, act: signingAct }),
  z.strictObject({ id, do: z.literal("sessionKey"), wallet }),
]);
export type Request = z.infer<typeof requestForm>;

/** A request of another version of perpwatch. */
export const foreignRequest = z.looseObject({ id, do: z.string().max(64) });

const keyAnswer = z.union([
  z.strictObject({ reference: text, address: wallet }),
  z.strictObject({ reference: text, problem: text }),
]);

export const replyForm = z.union([
  /** `closed`: the reason why the keystore is not open; empty: it is open, or none is used. */
  z.strictObject({ id, keys: z.array(keyAnswer), closed: text }),
  z.strictObject({ id, signed: text }),
  z.strictObject({ id, sessionKey: z.string().length(44) }),
  /** Also for a configuration that is not loaded while the earlier one stays in use. */
  z.strictObject({ id, refused: text, see: text }),
  z.strictObject({ id, unavailable: text }),
  /** An unexpected error. */
  z.strictObject({ id, failed: text }),
]);
export type Reply = z.infer<typeof replyForm>;

/** Maximum lengths of lines; a reply to `load` grows with the number of wallets. */
export const maxRequestBytes = 65_536;
export const maxReplyBytes = 4_194_304;

/** Formats a message; bigints are written as text. */
export const lineOf = (value: Request | Reply): string =>
  `${JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one))}\n`;

/**
 * Calls `onLine` for each line of a stream. A longer line destroys the stream.
 * @param maxBytes per line
 */
export function readLines(stream: Duplex, maxBytes: number, onLine: (line: string) => void): void {
  let parts: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      parts.push(rest.subarray(0, end));
      const line = Buffer.concat(parts);
      parts = [];
      length = 0;
      rest = rest.subarray(end + 1);
      if (line.length > maxBytes) return void stream.destroy();
      onLine(line.toString("utf8"));
    }
    if (rest.length === 0) return;
    parts.push(rest);
    length += rest.length;
    if (length > maxBytes) stream.destroy();
  });
}

/** Parses a line; undefined if it does not have the form. */
export function parsedLine<Form extends z.ZodType>(form: Form, line: string): z.infer<Form> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const parsed = form.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
