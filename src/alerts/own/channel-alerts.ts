/**
 * Reports a channel that cannot be used, and its recovery, on the other channels; also pending deliveries of a removed
 * channel.
 */
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert } from "../live-alert.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const channelRule = "ChannelBroken" satisfies BuiltInRule;
const droppedRule = "MessagesDropped" satisfies BuiltInRule;

export class ChannelAlerts implements OwnAlert {
  readonly observes = ["channel", "dropped"] as const;
  readonly raises = [channelRule, droppedRule] as const;
  readonly #alerts: AlertBook;
  readonly #isConfigured: (channel: string) => boolean;
  readonly #broken = new Map<string, LiveAlert>();

  /** @param isConfigured returns true for the name of a configured channel */
  constructor(alerts: AlertBook, isConfigured: (channel: string) => boolean) {
    this.#alerts = alerts;
    this.#isConfigured = isConfigured;
  }

  get broken(): number {
    return this.#broken.size;
  }

  restore(live: LiveAlert): Over | null {
    const { channel } = live.alert.labels;
    if (channel === undefined || !this.#isConfigured(channel)) return { ending: "noLongerWatched" };
    this.#broken.set(channel, live);
    return null;
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    if (seen.kind === "channel") this.#take(seen, builder);
    else if (seen.kind === "dropped") this.#dropped(seen, builder);
  }

  #take(seen: Observation & { readonly kind: "channel" }, builder: ChangesBuilder): void {
    const known = this.#broken.get(seen.channel);
    if (seen.working) {
      if (!known) return;
      this.#broken.delete(seen.channel);
      this.#alerts.end(builder, known, "recovered", {
        summary: `The channel ${seen.channel} takes messages again`,
        description: known.alert.description,
        value: null,
        dataAtMs: builder.atMs,
        details: [["Channel", seen.channel]],
      });
      return;
    }
    if (known) return;
    const live = this.#alerts.fire(
      builder,
      newAlert(builder.atMs, {
        rule: channelRule,
        labels: { channel: seen.channel },
        severity: "critical",
        summary: `The channel ${seen.channel} does not take messages`,
        description: `${seen.detail}. What is owed there waits and is sent when it works again; until then this channel is deaf.`,
        details: [["Channel", seen.channel]],
        except: [seen.channel],
      }),
    );
    this.#broken.set(seen.channel, live);
  }

  #dropped(seen: Observation & { readonly kind: "dropped" }, builder: ChangesBuilder): void {
    const { channel, messages } = seen;
    const [were, they] =
      messages === 1 ? ["1 message to", "It was"] : [`${messages} messages to`, "They were"];
    this.#alerts.recordEvent(
      builder,
      newAlert(builder.atMs, {
        rule: droppedRule,
        labels: { channel },
        severity: "warning",
        summary: `${were} ${channel} ${messages === 1 ? "was" : "were"} dropped: no channel of this name is configured`,
        description: `${they} owed when perpwatch stopped. Now: \`perpwatch alerts\` shows what fires; if the channel was removed by mistake, put it back.`,
        details: [["Channel", channel]],
        except: [channel],
      }),
      `${droppedRule}:${channel}:${builder.atMs}`,
      null,
      true,
    );
  }
}
