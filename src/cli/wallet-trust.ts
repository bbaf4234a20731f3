/** `perpwatch wallet trust`: the form of login text that wallets sign, one that was refused, and its acceptance. */
import { formFile } from "../signer/form-file.ts";
import { accepted, type KnownForms } from "../signer/login-forms.ts";
import { type Cli, CommandFailed, type CommonOptions, print, printJson } from "./command.ts";
import { orDemo, signingPart } from "./configuration.ts";
import { consent } from "./consent.ts";
import { paintFor } from "./print.ts";

export async function trust(cli: Cli, options: CommonOptions & { readonly yes?: boolean }): Promise<void> {
  const { part } = await signingPart(cli, orDemo(cli, options.config));
  const file = formFile(part.signer.state);
  const known = await file.load();
  const after = accepted(known);
  const isAccepted = after !== null && (options.yes === true || !options.json);
  if (!options.json) print(cli, shown(known, paintFor(cli.out)).join("\n"));
  if (isAccepted) {
    if (!options.json)
      await consent(cli, "\nAll wallets will sign texts of the new form.", options.yes === true);
    // The exchange may have changed it while it was read.
    const now = await file.load();
    if (now.refused?.form !== known.refused?.form)
      throw new CommandFailed("another form was refused meanwhile; look at it again");
    await file.save(after);
  }
  const { refused } = known;
  const pinned = known[refused?.kind ?? (known.text === null ? "memo" : "text")];
  if (options.json) printJson(cli, { pinned, refused, trusted: isAccepted });
  else if (isAccepted) print(cli, "Accepted. Wallets sign in within a minute.");
}

function shown({ text, memo, refused }: KnownForms, paint: ReturnType<typeof paintFor>): string[] {
  if (refused === null) {
    const named = [
      ["Wallets sign logins of this form, and no other:", text],
      ["Memos of login transactions have this form, and no other:", memo],
    ] as const;
    const lines = named.flatMap(([title, form]) => (form === null ? [] : [title, "", ...linesOf(form), ""]));
    return lines.length === 0 ? ["No login text was seen yet."] : lines.slice(0, -1);
  }
  const pinned = refused.kind === "text" ? text : memo;
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
