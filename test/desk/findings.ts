/** Results of judging the desk: one row a scene, and each discrepancy with what is true instead. */

export const columns = [
  "expected",
  "sent",
  "late",
  "lost",
  "false",
  "false recovery",
  "wrong figures",
] as const;
export type Column = (typeof columns)[number];
export type Fault = Exclude<Column, "expected" | "sent">;

export interface Discrepancy {
  readonly scene: string;
  readonly fault: Fault;
  readonly atMs: number;
  readonly wallet: string;
  /** Text as it was sent; what should have been sent, where nothing was. */
  readonly text: string;
  readonly truth: string;
}

export class Findings {
  readonly discrepancies: Discrepancy[] = [];
  readonly #counts = new Map<string, Record<Column, number>>();

  row(scene: string): Record<Column, number> {
    let row = this.#counts.get(scene);
    if (!row) {
      row = { expected: 0, sent: 0, late: 0, lost: 0, false: 0, "false recovery": 0, "wrong figures": 0 };
      this.#counts.set(scene, row);
    }
    return row;
  }

  count(scene: string, column: "expected" | "sent"): void {
    this.row(scene)[column]++;
  }

  add(discrepancy: Discrepancy): void {
    this.row(discrepancy.scene)[discrepancy.fault]++;
    this.discrepancies.push(discrepancy);
  }

  get total(): Record<Column, number> {
    const total = {
      expected: 0,
      sent: 0,
      late: 0,
      lost: 0,
      false: 0,
      "false recovery": 0,
      "wrong figures": 0,
    };
    for (const row of this.#counts.values()) for (const column of columns) total[column] += row[column];
    return total;
  }

  table(scenes: readonly string[]): string {
    const rows = [
      ["scene", ...columns],
      ...scenes.map((scene) => [scene, ...columns.map((column) => String(this.row(scene)[column]))]),
      ["total", ...columns.map((column) => String(this.total[column]))],
    ];
    const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
    return rows
      .map((row) =>
        row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[at]!))).join("  "),
      )
      .join("\n");
  }
}
