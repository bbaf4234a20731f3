import { describe, expect, test } from "vitest";
import { oneLine, table, tableWithin } from "../../src/cli/print.ts";
import { timeFrom } from "../../src/cli/values.ts";

describe("times on the command line", () => {
  const nowMs = Date.UTC(2026, 2, 1, 12, 0, 0, 500);
  const good: [text: string, ms: number][] = [
    ["now", nowMs],
    ["90m", nowMs - 5_400_000],
    ["2026-03-01", Date.UTC(2026, 2, 1)],
    ["2026-03-01T12:00:00Z", Date.UTC(2026, 2, 1, 12)],
    ["2026-03-01T12:00:00.250+02:00", Date.UTC(2026, 2, 1, 10, 0, 0, 250)],
    ["1772366400", 1_772_366_400_000],
    ["1772366400123", 1_772_366_400_123],
  ];
  test.each(good)("%s", (text, ms) => expect(timeFrom(text, nowMs)).toBe(ms));

  // Without its zone a time would depend on the machine.
  const bad = ["", "yesterday", "2026-03-01T12:00:00", "2026-13-01", "12", "-5m", "2026-03-01 12:00:00Z"];
  test.each(bad)("not %j", (text) => expect(() => timeFrom(text, nowMs)).toThrow(/Expected a time such as/));
});

describe("tables", () => {
  const paint = (tint: string, text: string) => (tint === "red" ? `\u001b[31m${text}\u001b[39m` : text);

  test("columns align, whatever colours or letters are in them", () => {
    const rows = [
      ["main", paint("red", "12"), "x"],
      ["ünï", "1,234", ""],
    ];
    expect(table(["name", { title: "n", right: true }, "rest"], rows, paint)).toBe(
      ["NAME      N  REST", "main     \u001b[31m12\u001b[39m  x", "ünï   1,234"].join("\n"),
    );
  });

  test("what is wider than the terminal stands below its row, broken between its parts", () => {
    const rows = [
      ["1", "fired", "mark $132.10 · liq $126.55 · margin 78 %"],
      ["2", "ended", ""],
    ];
    const heads = [{ title: "n", right: true }, "step", "figures"];
    expect(tableWithin(heads, rows, paint, 32)).toBe(
      ["N  STEP", "1  fired", "    mark $132.10 · liq $126.55 ·", "    margin 78 %", "2  ended"].join("\n"),
    );
    for (const width of [undefined, 60])
      expect(tableWithin(heads, rows, paint, width)).toBe(table(heads, rows, paint));
  });

  test("nothing from outside moves the cursor or begins a line", () => {
    expect(oneLine("a\nb\tc\u001b[2Jd\u001b]0;title\u0007e\u009bf\u001b[31mred")).toBe(
      "a b c [2Jd ]0;title e f\u001b[31mred",
    );
  });
});
