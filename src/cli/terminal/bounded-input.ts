/** Reads standard input up to a limit. */
import { CommandFailed } from "../command.ts";

/** @throws {CommandFailed} when it is longer than `maxBytes`; the rest is not read */
export async function boundedInput(input: NodeJS.ReadStream, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of input as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length <= maxBytes) continue;
    input.destroy();
    throw new CommandFailed(`more than ${maxBytes / 1_024} KiB came over standard input`, 2);
  }
  return Buffer.concat(parts).toString("utf8");
}
