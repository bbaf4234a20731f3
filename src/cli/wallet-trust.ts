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
  const form = refused?.form ?? null;
  const isAccepted = form !== null && (options.yes === true || !options.json);
  if (!options.json) print(cli, shown(answer.body, paintFor(cli.out)).join("\n"));
  if (isAccepted) {
    if (!options.json)
      await consent(cli, "\nAll wallets will sign texts of the new form.", options.yes === true);
    await ask(place, "POST", "/api/v1/login-form/trust", { form, by: userInfo().username });
  }
  if (options.json) printJson(cli, { pinned, refused, trusted: isAccepted });
  else if (isAccepted) print(cli, "Accepted. Wallets sign in within a minute.");
}

function shown({ pinned, refused }: LoginFormStatus, paint: ReturnType<typeof paintFor>): string[] {
  if (refused === null)
    return pinned === null
      ? ["No login text was seen yet."]
      : ["Wallets sign logins of this form, and no other:", "", ...linesOf(pinned)];
  const before = pinned === null ? [] : ["", "Trusted:", ...linesOf(pinned)];
  const reason = paint("yellow", `Refused: ${refused.reason}.`);
  if (refused.form === null)
    return [reason, ...before, "", "No wallet may sign such a text: it cannot be accepted."];
  return [
    ...[reason, ...before, "", "Now:"],
    ...linesOf(refused.form),
    ...["", "{address}, {nonce …} and {time} stand for what differs from login to login."],
  ];
}

/** Numbered, each character as it is: letters that look like others are written as their numbers. */
function linesOf(form: string): readonly string[] {
  return form.split("\n").map((line, index) => {
    const exact = line
      .replaceAll(/[^\x20-\x7e]/gu, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`)
      .replace(/ +$/, (spaces) => "\\u{20}".repeat(spaces.length));
    return `  ${String(index + 1).padStart(2)}  ${exact}`.trimEnd();
  });
}
