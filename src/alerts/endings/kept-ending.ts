/** The knowledge about an ending that waits to be explained, as history keeps it. */

import { z } from "zod";
import { type Ending, endings as endingKinds } from "../../domain/alert.ts";
import { KeptKind, keptNumber } from "../../domain/kept.ts";
import type { AlertText } from "../live-alert.ts";
import { keptText } from "../texts/kept-text.ts";

/** Kept so that a restart does not forget why an alert may have ended. */
export interface KeptEnding {
  readonly fallback: Ending;
  readonly fromMs: number;
  /** Absent in databases of earlier versions. */
  readonly fromSlot?: number;
  readonly goneMs: number;
  readonly goneSlot?: number;
  readonly another: boolean;
  /** The text of a recovery as it was then. Absent: it is none, or an earlier version wrote it. */
  readonly text?: AlertText;
  /** The condition that recovered, as of `judgedAs`. Absent: none did, or an earlier version wrote it. */
  readonly judgedAs?: string;
  /** Size of the position when it was last seen, in units, and its side. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** Fills told that the last of it went in a liquidation or a deleveraging. */
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
