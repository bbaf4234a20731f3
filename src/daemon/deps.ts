/** The surroundings of a daemon: its log, its clock, and stand-ins for what lies outside of the process. */
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
  /** The form of commands here, for messages that name one; default `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** The stream of console channels. */
  readonly out?: Writable & { readonly isTTY?: boolean };
  /** They write a JSON line for each message. */
  readonly json?: boolean;
  /** Aborted while it starts: the start is given up, and what was started is stopped again. */
  readonly signal?: AbortSignal;
  /** Told of labelled steps on the way of an observation, for tests that stop the process at one. */
  readonly probe?: (step: "observed" | "judged" | "committed" | Parameters<Probe>[0]) => void | Promise<void>;
  /** `trouble`: the reason why nothing can be signed now; empty: it can. Default: the keys are in this process. */
  readonly signer?: { readonly trouble: string };
  readonly outside?: Outside;
}

/** Stand-ins for what lies outside of the process, for simulations. What is left out is the real thing. */
export interface Outside {
  /** Carries requests to the exchange. */
  readonly dispatcher?: HttpDispatcher;
  /** Opens connections of its stream. */
  readonly openSocket?: OpenSocket;
  readonly openStore?: typeof openStore;
  readonly createChannel?: typeof createChannel;
  readonly createDashboard?: typeof createDashboard;
  /** The machine's name, as messages give it. */
  readonly host?: string;
  /** Draws the ids of fire drills. */
  readonly newId?: () => string;
}
