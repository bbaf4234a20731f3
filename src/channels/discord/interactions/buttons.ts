/** Buttons as Discord components: at most 5 rows of 5, ids of 100 characters, labels of 80. Pure. */
import type { Message } from "../../../domain/alerts/delivery.ts";
import * as buttons from "../../buttons.ts";

export interface ButtonRow {
  readonly type: 1;
  readonly components: readonly {
    readonly type: 2;
    readonly style: number;
    readonly label: string;
    readonly custom_id: string;
  }[];
}

const styles = { primary: 1, secondary: 2 } as const;

export function buttonsOf(message: Message, over?: ReadonlySet<number>): ButtonRow[] {
  return buttons.buttonsOf(message, over).map((row) => ({
    type: 1,
    components: row.map(({ label, id, primary }) => ({
      ...{ type: 2, style: primary ? styles.primary : styles.secondary },
      ...{ label, custom_id: id },
    })),
  }));
}
