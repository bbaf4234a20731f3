import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { forTerminal, oneLine, paintFor, table, tableWithin } from "../../src/cli/print.ts";
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
  const terminal = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.WriteStream;
  const paint = paintFor(terminal);

  test("columns align, whatever colours or letters are in them", () => {
    const rows = [
      ["main", paint("red", "12"), "x"],
      ["ünï", "1,234", ""],
    ];
    const heads = ["name", { title: "n", right: true }, "rest"];
    expect(forTerminal(table(heads, rows, paint))).toBe(
      ["\u001b[90mNAME      N  REST\u001b[39m", "main     \u001b[31m12\u001b[39m  x", "ünï   1,234"].join(
        "\n",
      ),
    );
  });

  test("what is wider than the terminal stands below its row, broken between its parts", () => {
    const rows = [
      ["1", "fired", `mark $132.10 · ${paint("red", "liq $126.55")} · margin 78 %`],
      ["2", "ended", ""],
    ];
    const heads = [{ title: "n", right: true }, "step", "figures"];
    expect(stripVTControlCharacters(forTerminal(tableWithin(heads, rows, paint, 32)))).toBe(
      ["N  STEP", "1  fired", "    mark $132.10 · liq $126.55 ·", "    margin 78 %", "2  ended"].join("\n"),
    );
    for (const width of [undefined, 60])
      expect(tableWithin(heads, rows, paint, width)).toBe(table(heads, rows, paint));
  });

  test("nothing from outside moves the cursor, begins a line or paints", () => {
    const hostile = "a\nb\tc\u001b[2Jd\u001b]0;title\u0007e\u009bf\u001b[31mred";
    const harmless = "a b c[2Jd]0;titleef[31mred";
    expect(oneLine(hostile)).toBe(harmless);
    expect(forTerminal(table(["x"], [[hostile]], (_, text) => text))).toBe(`X\n${harmless}`);
    expect(forTerminal(hostile)).toBe("a\nb c[2Jd]0;titleef[31mred");
    expect(forTerminal(paint("red", `${hostile} ${paint("bold", "x")}`))).toBe(
      "\u001b[31ma\nb c[2Jd]0;titleef[31mred \u001b[1mx\u001b[22m\u001b[39m",
    );
  });
});
