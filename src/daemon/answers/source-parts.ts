/** The parts of the daemon that the local API, chats and rules ask. */
import type { Channel } from "../../channels/channel.ts";
import type { Collectors } from "../../collect/index.ts";
import type { Acknowledger, Digest, Drills, InboxAudits, Outbox } from "../../deliver/index.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Exchange } from "../../exchange/index.ts";
import type { History } from "../../history/index.ts";
import type { IngestLoop } from "../../ingest/loop.ts";
import type { Heartbeat } from "../heartbeat.ts";
import type { LoopLag } from "../loop-lag.ts";
import type { Pace } from "../settings/pace.ts";
import type { DaemonSettings } from "../settings.ts";

export interface SourceParts {
  readonly startedMs: number;
  readonly clock: Clock;
  readonly store: History;
  readonly exchange: Exchange;
  readonly ingest: IngestLoop;
  readonly outbox: Outbox;
  readonly digest: Digest;
  readonly acknowledger: Acknowledger;
  readonly drills: Drills;
  readonly audits: InboxAudits;
  readonly heartbeat: Heartbeat | null;
  readonly collectors: Collectors;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly settings: DaemonSettings;
  readonly loopLag: LoopLag;
  readonly databasePath: string;
  readonly pace: Pick<Pace, "stretched">;
  /** As of `DaemonDeps`. */
  readonly signer: { readonly trouble: string };
}
