/** The stored knowledge about an ending that waits for an explanation. */

import { z } from "zod";
import { type Ending, endings as endingKinds } from "../../domain/alerts/alert.ts";
import { KeptKind, keptNumber } from "../../domain/stored/kept.ts";
import type { AlertText } from "../live-alert.ts";
import { keptText } from "../texts/kept-text.ts";

/** Stored so that a restart does not lose the possible reasons of the end. */
export interface KeptEnding {
  readonly fallback: Ending;
  readonly fromMs: number;
  /** Absent in databases of earlier versions. */
  readonly fromSlot?: number;
  readonly goneMs: number;
  readonly goneSlot?: number;
  readonly another: boolean;
  /** The text of a recovery at that time. Absent: it is no recovery, or an earlier version wrote it. */
  readonly text?: AlertText;
  /** The condition that recovered, as of `judgedAs`. Absent: none did, or an earlier version wrote it. */
  readonly judgedAs?: string;
  /** Size of the position when it was last seen, in units, and its side. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** True if fills showed that its last part was closed by a liquidation or a deleveraging. */
  readonly taken?: boolean;
}

/** By alert. */
export const keptEnding: KeptKind<KeptEnding, number> = new KeptKind(
  "ending/{}",
  z.object({
    fallback: z.enum(endingKinds),
    fromMs: keptNumber,
    fromSlot: keptNumber.exactOptional(),
    goneMs: keptNumber,
    goneSlot: keptNumber.exactOptional(),
    another: z.boolean(),
    text: keptText.exactOptional(),
    judgedAs: z.string().exactOptional(),
    size: keptNumber.optional(),
    side: z.string().optional(),
    taken: z.boolean().exactOptional(),
  }),
);
