/** The environment of a daemon: its log, its clock, and replacements for everything outside the process. */
import type { Writable } from "node:stream";
import type { Logger } from "pino";
import type { CommandLine } from "../channels/message/command-line.ts";
import type { createChannel } from "../channels/registry.ts";
import type { Probe } from "../deliver/index.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { HttpDispatcher, OpenSocket } from "../exchange/index.ts";
import type { openStore } from "../history/index.ts";
import type { createDashboard } from "../web/index.ts";

export interface DaemonDeps {
  readonly log: Logger;
  /** The machine's own clock, uncorrected. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** The form of commands in messages; default `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** The stream of console channels. */
  readonly out?: Writable & { readonly isTTY?: boolean };
  /** Console channels write a JSON line for each message. */
  readonly json?: boolean;
  /** Aborted during the start: the start is cancelled, and started parts are stopped again. */
  readonly signal?: AbortSignal;
  /** Called at labelled steps of an observation, for tests that stop the process there. */
  readonly probe?: (step: "observed" | "judged" | "committed" | Parameters<Probe>[0]) => void | Promise<void>;
  /**
   * `trouble`: the reason why nothing can be signed now; empty: signing works. Default: the keys are in this process.
   */
  readonly signer?: { readonly trouble: string };
  readonly outside?: Outside;
}

/** Replacements for everything outside the process, for simulations. Default of each: the real implementation. */
export interface Outside {
  /** Carries requests to the exchange. */
  readonly dispatcher?: HttpDispatcher;
  /** Opens connections of its stream. */
  readonly openSocket?: OpenSocket;
  readonly openStore?: typeof openStore;
  readonly createChannel?: typeof createChannel;
  readonly createDashboard?: typeof createDashboard;
  /** The machine's name in messages. */
  readonly host?: string;
  /** Creates the ids of fire drills. */
  readonly newId?: () => string;
}
