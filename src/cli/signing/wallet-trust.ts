/** `perpwatch wallet trust`: the form of login text that wallets sign, one that was refused, and its acceptance. */
import { createHash } from "node:crypto";
import { formFile } from "../../signer/form-file.ts";
import { exactLine } from "../../signer/form-lines.ts";
import {
  accepted,
  type FormStore,
  type KnownForms,
  type LoginFormKind,
  type RefusedForm,
} from "../../signer/login-forms.ts";
import { type Cli, CommandFailed, type CommonOptions, print, printJson } from "../command.ts";
import { orDemo, signingPart } from "../configuration.ts";
import { consent } from "../terminal/consent.ts";
import { oneLine, paintFor } from "../terminal/print.ts";

export interface TrustOptions extends CommonOptions {
  /** Accept all that can be accepted. */
  readonly yes?: boolean;
  /** Accept the form of this identifier, and no other. */
  readonly accept?: string;
}

type Acceptable = RefusedForm & { readonly form: string };

export async function trust(cli: Cli, options: TrustOptions): Promise<void> {
  const { part } = await signingPart(cli, orDemo(cli, options.config));
  const file = formFile({ state: part.signer.state, formerState: part.formerState });
  const known = await file.load();
  const { text, memo, refused } = known;
  const agreed = agreedTo(refused.filter(isAcceptable), options);
  if (options.json) {
    for (const { kind } of agreed) await accept(file, known, kind);
    const identified = refused.map((one) => (isAcceptable(one) ? { ...one, id: idOf(one) } : one));
    return printJson(cli, { pinned: { text, memo }, refused: identified, trusted: agreed.length > 0 });
  }
  if (refused.length === 0) return print(cli, shownTrusted(known).join("\n"));
  let declined: unknown = null;
  const shown = options.accept === undefined ? refused : agreed;
  for (const [index, one] of shown.entries()) {
    print(cli, [...(index > 0 ? [""] : []), ...shownRefused(known, one, paintFor(cli.out))].join("\n"));
    if (!isAcceptable(one)) continue;
    try {
      await consent(
        cli,
        "\nAll wallets will sign texts of the new form.",
        agreed.includes(one),
        `The new form of the ${named[one.kind]} was not accepted`,
        `--accept ${idOf(one)}`,
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

const isAcceptable = (one: RefusedForm): one is Acceptable => one.form !== null;

/**
 * Names a form that a person looked at: another one that was refused meanwhile has another identifier. 64 hex digits: whoever can choose
 * two forms finds two of which fewer digits are the same.
 */
const idOf = ({ kind, form }: Pick<Acceptable, "kind" | "form">): string =>
  createHash("sha256").update(`${kind}\n${form}`).digest("hex");

/** @returns the forms that the options accept, without a question */
function agreedTo(refused: readonly Acceptable[], { yes, accept }: TrustOptions): readonly Acceptable[] {
  if (accept === undefined) return yes === true ? refused : [];
  const agreed = refused.filter((one) => idOf(one) === accept);
  if (agreed.length > 0) return agreed;
  throw new CommandFailed(
    `no refused form has the identifier "${oneLine(accept)}": it was accepted, or another one was refused since; see: perpwatch wallet trust`,
  );
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
    `Its identifier is ${idOf({ kind, form })}.`,
  ];
}

/** Numbered. */
function linesOf(form: string): readonly string[] {
  return form
    .split("\n")
    .map((line, index) => `  ${String(index + 1).padStart(2)}  ${exactLine(line)}`.trimEnd());
}
