/** Reads a secret: from a terminal without echo, otherwise from standard input. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { type Cli, CommandFailed } from "../command.ts";
import { boundedInput } from "./bounded-input.ts";

const maxBytes = 64 * 1_024;

/**
 * @param questions asked on a terminal one after the other
 * @param check throws if the first answer is not acceptable; no further question is asked then
 * @throws {CommandFailed} when the input is cancelled, or standard input is too long
 */
export async function hiddenLines(
  cli: Cli,
  questions: readonly string[],
  check: (first: string) => void = () => {},
): Promise<readonly string[]> {
  if (cli.in.isTTY !== true) {
    const lines = (await boundedInput(cli.in, maxBytes)).replace(/\r?\n$/, "").split(/\r?\n/);
    check(lines[0]!);
    return lines;
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: cli.in, output: silent, terminal: true });
  // Buffers lines that are pasted at once.
  const given = lines[Symbol.asyncIterator]();
  lines.once("SIGINT", () => lines.close());
  const answers: string[] = [];
  try {
    for (const question of questions) {
      cli.err.write(question);
      const line = await given.next();
      cli.err.write("\n");
      if (line.done === true) throw new CommandFailed("given up; nothing was made");
      if (answers.length === 0) check(line.value);
      answers.push(line.value);
    }
  } finally {
    lines.close();
  }
  return answers;
}
