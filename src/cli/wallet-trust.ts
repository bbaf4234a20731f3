/** `perpwatch wallet trust`: the form of login text that wallets sign, one that was refused, and its acceptance. */
import { userInfo } from "node:os";
import type { LoginFormStatus } from "../domain/ports.ts";
import { type Cli, type CommonOptions, print, printJson } from "./command.ts";
import { locate } from "./configuration.ts";
import { consent } from "./consent.ts";
import { ask, noDaemon } from "./daemon.ts";
import { paintFor } from "./print.ts";

export async function trust(cli: Cli, options: CommonOptions & { readonly yes?: boolean }): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<LoginFormStatus>(place, "GET", "/api/v1/login-form");
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { pinned, refused } = answer.body;
  const isAccepted = refused !== null && (options.yes === true || !options.json);
  if (!options.json) print(cli, shown(answer.body, paintFor(cli.out)).join("\n"));
  if (isAccepted) {
    if (!options.json)
      await consent(cli, "\nAll wallets will sign texts of the new form.", options.yes === true);
    await ask(place, "POST", "/api/v1/login-form/trust", { form: refused.form, by: userInfo().username });
  }
  if (options.json) printJson(cli, { pinned, refused, trusted: isAccepted });
  else if (isAccepted) print(cli, "Accepted. Wallets sign in within a minute.");
}

function shown({ pinned, refused }: LoginFormStatus, paint: ReturnType<typeof paintFor>): string[] {
  const indented = (form: string) => form.split("\n").map((line) => `  ${line}`);
  if (refused === null)
    return pinned === null
      ? ["No login text was seen yet."]
      : ["Wallets sign login texts of this form, and no other:", "", ...indented(pinned)];
  const reason = `Refused: ${refused.reason}.`;
  const places = "{address}, {nonce} and {time} stand for what differs from login to login.";
  if (pinned === null) return [paint("yellow", reason), "", ...indented(refused.form), "", places];
  const [before, after] = [pinned.split("\n"), refused.form.split("\n")];
  return [
    ...[paint("yellow", reason), ""],
    ...before.map((line) => (after.includes(line) ? `  ${line}` : paint("red", `- ${line}`))),
    ...["", "The new form:", ""],
    ...after.map((line) => (before.includes(line) ? `  ${line}` : paint("green", `+ ${line}`))),
    ...["", places],
  ];
}
