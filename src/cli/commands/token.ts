/** `perpwatch token`: the credentials of programs for the local address. */
import type { Command } from "commander";
import { type Rights, type TokenStatus, tokenNameForm, tokenNameRule } from "../../domain/access.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  hint,
  print,
  printJson,
} from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, noDaemon } from "../daemon.ts";
import { counted, paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import { durationFrom, oneOf } from "../terminal/values.ts";

interface NewOptions extends CommonOptions {
  readonly rights: Rights;
  readonly expires?: number;
}

interface Made {
  readonly token: string;
  readonly name: string;
  readonly rights: Rights;
  readonly expiresMs: number | null;
}

const path = "/api/v1/access/tokens";

export function tokenCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "token", "tokens with which programs use the local address", [
    "token new grafana",
    "token list",
    "token revoke grafana",
  ]);
  declare(group, {
    usage: "new <name>",
    summary: "make a token for a program; it is shown this once",
    about:
      "The program sends it with each request, as the header Authorization: Bearer TOKEN. With read it may ask for everything,\n" +
      "with act also acknowledge, silence, and what else changes something. Only its hash is stored.",
    examples: ["token new grafana", "token new pager --rights act --expires 90d"],
  })
    .option("--rights <rights>", "what it may do: read or act", oneOf(["read", "act"]), "read")
    .option("--expires <duration>", "for so long, such as 90d; default: until it is revoked", durationFrom)
    .action((name: string, options: NewOptions) => make(cli, name, options));
  declare(group, {
    usage: "list",
    summary: "tokens with their rights, and when they were used last",
    examples: ["token list", "token list --json"],
    isDefault: true,
  }).action((options: CommonOptions) => list(cli, options));
  declare(group, {
    usage: "revoke <name>",
    summary: "end a token now",
    examples: ["token revoke grafana"],
  }).action((name: string, options: CommonOptions) => revoke(cli, name, options));
}

async function make(cli: Cli, name: string, options: NewOptions): Promise<void> {
  if (!tokenNameForm.test(name)) throw new CommandFailed(`"${name}" will not do: ${tokenNameRule}`, 2);
  const place = await locate(cli, options.config);
  const wish = {
    name,
    rights: options.rights,
    ...(options.expires === undefined ? {} : { forMs: options.expires }),
  };
  const answer = await ask<Made>(place, "POST", path, wish);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  const { token, rights, expiresMs } = answer.body;
  const until = expiresMs === null ? "until it is revoked" : `until ${formatTime(expiresMs, place.timezone)}`;
  hint(cli, `token ${name}, to ${rights}, ${until}. It is shown this once:`);
  print(cli, token);
}

async function list(cli: Cli, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<{ tokens: readonly TokenStatus[] }>(place, "GET", path);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  const { tokens } = answer.body;
  if (options.json) return printJson(cli, { tokens });
  const nowMs = Date.now();
  const paint = paintFor(cli.out);
  const rows = tokens.map(({ name, rights, createdMs, expiresMs, usedMs }) => [
    name,
    rights,
    ago(createdMs, nowMs),
    usedMs === null ? "never" : ago(usedMs, nowMs),
    expiresMs === null
      ? "never"
      : expiresMs <= nowMs
        ? paint("red", "expired")
        : `in ${formatDurationMs(rounded(expiresMs - nowMs))}`,
  ]);
  if (rows.length > 0) print(cli, table(["token", "rights", "made", "last used", "expires"], rows, paint));
  print(
    cli,
    rows.length === 0 ? "no token; perpwatch token new NAME makes one" : `\n${counted(rows.length, "token")}`,
  );
}

async function revoke(cli: Cli, name: string, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask(place, "POST", `${path}/${encodeURIComponent(name)}/revoke`, {});
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, { name, result: "revoked" });
  print(cli, `${name} is revoked`);
}

function ago(atMs: number, nowMs: number): string {
  return nowMs - atMs < 60_000 ? "just now" : `${formatDurationMs(rounded(nowMs - atMs))} ago`;
}

/** Rounds to two units at most. */
function rounded(ms: number): number {
  const unit = ms > 2 * 86_400_000 ? 86_400_000 : ms > 7_200_000 ? 3_600_000 : 60_000;
  return Math.max(unit, Math.round(ms / unit) * unit);
}
