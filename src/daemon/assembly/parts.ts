/**
 * The parts of the daemon by the stages that create them: store, exchange, engine, delivery, collection, answers. A stage gets
 * the parts of earlier stages. Later stages listen to the signals of earlier ones.
 */

import type { Channel } from "../../channels/channel.ts";
import type { CommandLine } from "../../channels/message/command-line.ts";
import type { Collectors } from "../../collect/index.ts";
import type { Acknowledger, Digest, Drills, HandOvers, InboxAudits, Outbox } from "../../deliver/index.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import type { DaemonStatus } from "../../domain/status.ts";
import type { Changes } from "../../domain/stored/changes.ts";
import type { Ask } from "../../domain/stored/changes-builder.ts";
import type { Signal } from "../../domain/structures/signal.ts";
import type { WatchSettings } from "../../engine/settings.ts";
import type { BadRecordReport, Exchange, SessionChange } from "../../exchange/index.ts";
import type { History } from "../../history/index.ts";
import type { IngestLoop } from "../../ingest/loop.ts";
import type { AlertAnswers } from "../answers/alert-answers.ts";
import type { DaemonReport } from "../answers/daemon-report.ts";
import type { Silencing } from "../answers/silencing.ts";
import type { DaemonSource } from "../daemon-source.ts";
import type { DaemonDeps } from "../deps.ts";
import type { Heartbeat } from "../heartbeat.ts";
import type { LoopLag } from "../loop-lag.ts";
import type { Pace } from "../settings/pace.ts";
import type { DaemonSettings } from "../settings.ts";
import type { SteadyClock } from "../steady-clock.ts";
import type { LastTurn } from "../upkeep.ts";

/** Signals that later stages listen to. */
export interface Signals {
  readonly session: Signal<[SessionChange]>;
  readonly badRecord: Signal<[BadRecordReport]>;
  /** The changes are in history. */
  readonly committed: Signal<[Changes]>;
  /** The changes could not be committed for too long. */
  readonly stuck: Signal<[Changes]>;
  readonly asked: Signal<[Ask]>;
  readonly degraded: Signal<[degraded: boolean, why: string]>;
  /** Notifications of a wallet were acknowledged. */
  readonly acknowledged: Signal<[wallet: string]>;
  /** An unrecoverable error occurred. */
  readonly broken: Signal<[error: unknown]>;
}

/** Settings that a reload replaces while the parts keep running. */
export interface LiveSettings {
  rotas: DaemonSettings["rotas"];
  templates: DaemonSettings["templates"];
  stormFold: DaemonSettings["routing"]["stormFold"];
}

export interface Basics {
  readonly settings: DaemonSettings;
  readonly deps: DaemonDeps;
  readonly log: DaemonDeps["log"];
  /** The machine's own clock, uncorrected. */
  readonly machine: Clock;
  readonly random: Random;
  /** The author of messages, with the machine's name. */
  readonly sender: string;
  /** The path of the database: it distinguishes daemons of one machine. */
  readonly instance: string;
  readonly signals: Signals;
  readonly live: LiveSettings;
  readonly messageOptions: { readonly commandLine?: CommandLine; readonly json?: true };
  /**
   * The status that chats show. Channels are created before the parts that it reports, and receive commands after all are started.
   * @throws Error until then
   */
  readonly status: () => DaemonStatus;
  /** Registers work of a stop; it is done in reverse order. */
  readonly onStop: (undo: () => Promise<void> | void) => void;
}

export interface StoreParts {
  readonly store: History;
  /** The daemon's clock: the machine's, corrected to the exchange's. */
  readonly clock: SteadyClock;
  /** The end of the previous run, ms; null: there was none. */
  readonly lastAliveMs: number | null;
}

export interface ExchangeParts {
  readonly exchange: Exchange;
  readonly startedMs: number;
}

export interface EngineParts {
  readonly ingest: IngestLoop;
  readonly watchSettings: (from: DaemonSettings) => WatchSettings;
  readonly alertAnswers: AlertAnswers;
  readonly silencing: Silencing;
}

export interface DeliveryParts {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly outbox: Outbox;
  readonly acknowledger: Acknowledger;
  readonly drills: Drills;
  readonly handOvers: HandOvers;
}

export interface CollectionParts {
  readonly collectors: Collectors;
  readonly audits: InboxAudits;
}

export type CollectingParts = Basics &
  StoreParts &
  ExchangeParts &
  EngineParts &
  DeliveryParts &
  CollectionParts;

export interface AnswerParts {
  readonly report: DaemonReport;
  readonly digest: Digest;
  readonly source: DaemonSource;
  readonly heartbeat: Heartbeat | null;
  readonly lastTurn: LastTurn;
  readonly loopLag: LoopLag;
  readonly pace: Pace;
}

export type DaemonParts = CollectingParts & AnswerParts;
