/**
 * Recorded runs: databases that daemons left in scenarios with crashes, reloads and faults, and what is decided when their recordings are
 * replayed. A change of the structure must not change a word of it.
 *
 *   node test/recorded/record.ts SEED…   plays scenarios and writes their runs
 *   node test/recorded/record.ts         decides the runs that are there anew, where a change of what is decided was meant
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { titleOf } from "../../src/alerts/pending/reported.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { leadOf } from "../../src/channels/message/lead.ts";
import { render } from "../../src/channels/message.ts";
import { watchSettingsOf } from "../../src/daemon/settings/watch.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { openStore } from "../../src/history/index.ts";
import { backtest } from "../../src/replay/backtest.ts";
import { settingsOf } from "../truth/config.ts";

export const runsFolder = path.join(import.meta.dirname, "runs");

/** The configuration of a run, without secrets. */
export interface RecordedRun {
  readonly seed: number;
  readonly startMs: number;
  /** Names of the wallets that signed in. */
  readonly signing: readonly string[];
  /** Sections of config.yaml, in which each wallet is watched by its address alone. */
  readonly sections: Readonly<Record<string, unknown>>;
}

/** Seeds of the runs that are there. */
export function recordedSeeds(): readonly number[] {
  const files = fs.readdirSync(runsFolder).filter((name) => name.endsWith(".json"));
  return files.map((name) => Number.parseInt(name, 10)).sort((a, b) => a - b);
}

export interface Decided {
  /** Each change of an alert, without the numbers of its rows. */
  readonly changes: readonly object[];
  readonly messages: readonly object[];
  /** The texts of the messages that were sent live, as mail has them. */
  readonly mails: readonly string[];
}

/** The decisions of a replay of the run, and the texts of its stored messages. */
export async function decide(run: RecordedRun): Promise<Decided> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-recorded-"));
  try {
    const file = path.join(folder, "perpwatch.db");
    fs.writeFileSync(file, brotliDecompressSync(fs.readFileSync(fileOf(run.seed, "db.br"))), { mode: 0o600 });
    return await decideFrom(file, run);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function decideFrom(file: string, { startMs, signing, sections }: RecordedRun): Promise<Decided> {
  const settings = settingsOf(sections);
  const watched = watchSettingsOf(settings, settings, startMs);
  const wallets = watched.wallets.map((one) => ({ ...one, watchOnly: !signing.includes(one.name) }));
  const history = openStore({ path: file });
  try {
    const { journal } = await backtest({
      settings: { ...watched, wallets },
      rulesFor: () => settings.ruleSet,
      history,
      fromMs: 0,
      toMs: Number.MAX_SAFE_INTEGER,
    });
    const messages = journal.messages.map(({ atMs, receiver, changes, covers, folded, quiet }) => ({
      ...{ atMs, receiver, folded, quiet, covers: covers.length },
      lead: changes[0] === undefined ? "" : leadOf(changes[0]),
      title: titleOf(changes, folded),
    }));
    const mails = (await history.messages({})).map((message) => {
      const { subject, text } = mailParts(render(message));
      return `${message.receiver} ${message.status}\n${subject}\n${text}`;
    });
    return { changes: journal.changes.map(withoutNumbers), messages, mails };
  } finally {
    await history.close();
  }
}

export function withoutNumbers({
  kind,
  atMs,
  alert,
  details,
  happenedMs,
  stands,
  quietIfAcknowledged,
}: AlertChange) {
  const { id: _, ...rest } = alert;
  return { kind, atMs, alert: rest, details, happenedMs, stands, quietIfAcknowledged };
}

/** A line each, so that a difference shows. */
export function linesOf({ changes, messages, mails }: Decided): readonly string[] {
  return [...changes, ...messages, ...mails].map((one) => JSON.stringify(one));
}

export function fileOf(seed: number, end: "json" | "db.br" | "jsonl.br"): string {
  return path.join(runsFolder, `${seed}.${end}`);
}

export function readRun(seed: number): RecordedRun {
  return JSON.parse(fs.readFileSync(fileOf(seed, "json"), "utf8")) as RecordedRun;
}

export function decidedBefore(seed: number): readonly string[] {
  return brotliDecompressSync(fs.readFileSync(fileOf(seed, "jsonl.br")))
    .toString("utf8")
    .trimEnd()
    .split("\n");
}
