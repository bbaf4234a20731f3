/** Asks for a person's consent before something is signed or sent. */
import { createInterface } from "node:readline";
import { type Cli, CommandFailed } from "../command.ts";

/**
 * Continues only after a typed `yes`, or with `given` (--yes). Any other answer, including the end of input, is a no.
 * @param undone the sentence after a no, without its full stop
 * @param otherwise the option that gives consent where nobody can be asked
 * @throws {CommandFailed} status 1 after a no; 2 where nobody can be asked
 */
export async function consent(
  cli: Pick<Cli, "in" | "err">,
  question: string,
  given: boolean,
  undone = "Nothing was signed or sent",
  otherwise = "--yes",
): Promise<void> {
  if (given) return;
  if (cli.in.isTTY !== true) {
    const fix = `Run this in a terminal, or again with ${otherwise}`;
    throw new CommandFailed(`${question.trim()}\n${undone}: nobody can be asked here. ${fix}.`, 2);
  }
  const lines = createInterface({ input: cli.in, output: cli.err, terminal: true });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.question(`${question} Type yes to go on: `, resolve);
      for (const end of ["close", "SIGINT"]) lines.once(end, () => resolve(""));
    });
    if (answer.trim() !== "yes") throw new CommandFailed(`${undone[0]!.toLowerCase()}${undone.slice(1)}`);
  } finally {
    lines.close();
  }
}
