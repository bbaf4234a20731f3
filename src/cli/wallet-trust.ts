/** `perpwatch wallet trust`: the form of login text that wallets sign, one that was refused, and its acceptance. */
import { formFile } from "../signer/form-file.ts";
import { exactLine } from "../signer/form-lines.ts";
import {
  accepted,
  type FormStore,
  type KnownForms,
  type LoginFormKind,
  type RefusedForm,
} from "../signer/login-forms.ts";
import { type Cli, CommandFailed, type CommonOptions, print, printJson } from "./command.ts";
import { orDemo, signingPart } from "./configuration.ts";
import { consent } from "./consent.ts";
import { oneLine, paintFor } from "./print.ts";

export async function trust(cli: Cli, options: CommonOptions & { readonly yes?: boolean }): Promise<void> {
  const { part } = await signingPart(cli, orDemo(cli, options.config));
  const file = formFile({ state: part.signer.state, formerState: part.formerState });
  const known = await file.load();
  const { text, memo, refused } = known;
  const kinds = refused.filter(({ form }) => form !== null).map(({ kind }) => kind);
  if (options.json) {
    if (options.yes === true) for (const kind of kinds) await accept(file, known, kind);
    const trusted = options.yes === true && kinds.length > 0;
    return printJson(cli, { pinned: { text, memo }, refused, trusted });
  }
  if (refused.length === 0) return print(cli, shownTrusted(known).join("\n"));
  let declined: unknown = null;
  for (const [index, one] of refused.entries()) {
    print(cli, [...(index > 0 ? [""] : []), ...shownRefused(known, one, paintFor(cli.out))].join("\n"));
    if (one.form === null) continue;
    try {
      const question = "\nAll wallets will sign texts of the new form.";
      await consent(
        cli,
        question,
        options.yes === true,
        `The new form of the ${named[one.kind]} was not accepted`,
      );
    } catch (error) {
      declined = error;
      continue;
    }
    await accept(file, known, one.kind);
    print(cli, "Accepted. Wallets sign in within a minute.");
  }
  if (declined !== null) throw declined;
}

const named = { text: "login text", memo: "memo of login transactions" } as const;

/** Trusts the refused form of a kind that a person has seen, and leaves all else as it is by now. */
async function accept(file: FormStore, seen: KnownForms, kind: LoginFormKind): Promise<void> {
  const refusedIn = ({ refused }: KnownForms) => refused.find((one) => one.kind === kind)?.form;
  await file.change((now) => {
    const after = accepted(now, kind);
    if (after === null || refusedIn(now) !== refusedIn(seen) || now[kind] !== seen[kind])
      throw new CommandFailed("the trusted or the refused form was changed meanwhile; look at it again");
    return after;
  });
}

const refusedForGood = [
  "No wallet may sign such a text: it cannot be accepted. Wallets stay signed out, and what is public is watched on.",
  "If the exchange announced another way of login, look for a newer version of perpwatch, and try `login: transaction` of the wallet.",
  "If it did not, somebody may answer in its place: check `exchange.baseUrl` and the network.",
];

function shownTrusted({ text, memo }: KnownForms): string[] {
  const titled = [
    ["Wallets sign logins of this form, and no other:", text],
    ["Memos of login transactions have this form, and no other:", memo],
  ] as const;
  const lines = titled.flatMap(([title, form]) => (form === null ? [] : [title, "", ...linesOf(form), ""]));
  return lines.length === 0 ? ["No login text is recorded yet."] : lines.slice(0, -1);
}

function shownRefused(
  known: KnownForms,
  { kind, form, reason, text }: RefusedForm,
  paint: ReturnType<typeof paintFor>,
): string[] {
  const pinned = known[kind];
  const before = pinned === null ? [] : ["", "Trusted:", ...linesOf(pinned)];
  const title = paint("yellow", `Refused: ${oneLine(reason)}.`);
  if (form === null) {
    const shown = text === undefined ? [] : ["", "Now, as it came:", ...linesOf(text)];
    return [title, ...before, ...shown, "", ...refusedForGood];
  }
  return [
    ...[title, ...before, "", "Now:"],
    ...linesOf(form),
    ...["", "{address}, {nonce …} and {time} stand for what differs from login to login."],
  ];
}

/** Numbered. */
function linesOf(form: string): readonly string[] {
  return form
    .split("\n")
    .map((line, index) => `  ${String(index + 1).padStart(2)}  ${exactLine(line)}`.trimEnd());
}
