/** Reads the frames of one connection by the contract. An unreadable one is reported and does not affect the others. */
import { type ChannelName, type InboundFrame, parseJson, readFrame } from "../../contract/index.ts";
import { hideSecretsAtBeginning } from "../../domain/text/hidden-secrets.ts";
import { cleanText } from "../errors.ts";
import type { BadRecordReport } from "../requests/client.ts";

export type StreamMessage = Extract<InboundFrame, { kind: "message" }>;
export type StreamMisfit = Extract<InboundFrame, { kind: "misfit" }>;

export type Control = Extract<InboundFrame, { kind: "control" }>;

const maxKeptFrame = 65_536;

export interface FrameListener {
  readonly onMessage: (message: StreamMessage) => void;
  /** Called for an invalid or rejected message of a known channel: its data is lost. */
  readonly onMisfit: (misfit: StreamMisfit) => void;
  readonly onBadFrame: (report: BadRecordReport) => void;
}

export interface LinkFigures {
  /** Number of times that it was open. */
  opened: number;
  frames: number;
  badFrames: number;
  /** The number of frames of unknown channels, which are ignored. */
  unknownFrames: number;
}

export interface FramesOptions extends FrameListener {
  readonly wallet: string | null;
  readonly figures: LinkFigures;
  /** Called when a message of a channel was read, before it is taken. */
  readonly onRead: () => void;
  /** Returns the current secrets of the connection. */
  readonly secrets: () => readonly string[];
}

export class StreamFrames {
  readonly #options: FramesOptions;
  readonly #figures: LinkFigures;

  constructor(options: FramesOptions) {
    this.#options = options;
    this.#figures = options.figures;
  }

  /** Reads a frame, and passes on its data. @returns an answer to a subscription; null: it is none */
  read(text: string): Control | null {
    this.#figures.frames++;
    let frame: InboundFrame;
    try {
      frame = readFrame(parseJson(text));
    } catch {
      this.bad("frame", `${text.length} characters that are no JSON`, [], text);
      return null;
    }
    switch (frame.kind) {
      case "message":
        this.#options.onRead();
        this.#take(frame.channel, text, () => this.#options.onMessage(frame), frame.message);
        return null;
      case "misfit":
        this.bad(frame.channel, frame.problem.message, frame.problem.fields, text);
        this.#take(frame.channel, text, () => this.#options.onMisfit(frame));
        return null;
      case "control":
        return frame;
      case "unknown":
        this.#figures.unknownFrames++;
        return null;
    }
  }

  /** Processes a message so that an error does not affect the next frame, and `lost` data can be requested. */
  #take(channel: ChannelName, text: string, take: () => void, lost?: unknown): void {
    try {
      take();
    } catch (error) {
      const message = `could not be taken: ${error instanceof Error ? cleanText(error.message, this.#options.secrets()) : "failed"}`;
      this.bad(channel, message, [], text);
      if (lost === undefined) return;
      const misfit: StreamMisfit = {
        kind: "misfit",
        channel,
        frame: lost,
        problem: { endpoint: channel, message, fields: [] },
      };
      this.#take(channel, text, () => this.#options.onMisfit(misfit));
    }
  }

  /** Reports a frame that cannot be read or taken. */
  bad(channel: string, problem: string, fields: BadRecordReport["fields"], text: string | null): void {
    this.#figures.badFrames++;
    const secrets = this.#options.secrets();
    this.#options.onBadFrame({
      endpoint: `stream ${channel}`,
      wallet: this.#options.wallet,
      problem: problem.startsWith(`${channel}: `) ? `stream ${problem}` : `stream ${channel}: ${problem}`,
      fields,
      body: () => (text === null ? null : hideSecretsAtBeginning(text, secrets, maxKeptFrame)),
    });
  }
}
