import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { forTerminal, oneLine, type Paint, paintFor, type Tint } from "../../src/cli/terminal/print.ts";
import { table } from "../../src/cli/terminal/table.ts";
import { timeFrom } from "../../src/cli/terminal/values.ts";

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
  const plain: Paint = Object.assign((_: Tint, text: string) => text, { width: 100 });

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

  /** The output of a terminal with this number of columns, and the colours left open at the end of each line. */
  const shown = (columns: number, ...[heads, rows]: [Parameters<typeof table>[0], string[][]]) => {
    const narrow: Paint = Object.assign((tint: Tint, text: string) => paint(tint, text), { width: columns });
    const text = forTerminal(table(heads, rows, narrow));
    for (const line of text.split("\n"))
      expect(line.split("\u001b[31m").length, line).toBe(
        line.split("\u001b[39m").length - (line.split("\u001b[90m").length - 1),
      );
    return stripVTControlCharacters(text).split("\n");
  };

  test("a long text is wrapped in its column, between words, and keeps its colour", () => {
    const parts = "mark $132.10 · liquidation $126.55 · margin ratio 78 %";
    expect(shown(48, ["step", "figures"], [["fired", parts]]).slice(1)).toEqual([
      "fired  mark $132.10 · liquidation $126.55 ·",
      "       margin ratio 78 %",
    ]);
    const rows = [
      ["1", "fired", paint("red", "mark price $132.10, liquidation price $126.55, margin ratio 78 %")],
      ["2", "ended", "x"],
    ];
    expect(shown(55, [{ title: "n", right: true }, "step", "figures"], rows)).toEqual([
      "N  STEP   FIGURES",
      "1  fired  mark price $132.10, liquidation price",
      "          $126.55, margin ratio 78 %",
      "2  ended  x",
    ]);
  });

  test("a text with less than 40 characters of space is written below its row", () => {
    const text = "main: SOL long is 2.57 % from liquidation, and this is the rest";
    const at = "2026-03-01 12:00:00 UTC";
    const id = "notification:event:312:4:0:1:2";
    expect(shown(60, ["fired", "id", { title: "summary", text: true }], [[at, id, text]])).toEqual([
      "FIRED                    ID",
      `${at}  ${id}`,
      "    main: SOL long is 2.57 % from liquidation, and this is",
      "    the rest",
    ]);
  });

  test("heads are wrapped before cells, and figures that do not fit are written below with their titles", () => {
    const heads = [
      "position",
      { title: "unrealized profit", right: true },
      { title: "data age", right: true },
    ];
    const rows = [["main/0.0/SOL", "-$1,200.00", "2s"]];
    expect(shown(30, heads, rows)).toEqual([
      "POSITION      UNREALIZED  DATA",
      "                  PROFIT   AGE",
      "main/0.0/SOL  -$1,200.00    2s",
    ]);
    expect(shown(24, heads, rows)).toEqual([
      "POSITION      UNREALIZED",
      "                  PROFIT",
      "main/0.0/SOL  -$1,200.00",
      "    data age 2s",
    ]);
  });

  test("no word is cut, whatever the width", () => {
    const id = "x".repeat(50);
    expect(shown(20, ["id", ""], [[id, id]])).toEqual(["ID", id, `    ${id}`]);
  });

  test("tables take the columns of the terminal, and 100 where it is narrower or there is none", () => {
    for (const [columns, width] of [
      [160, 160],
      [60, 100],
      [undefined, 100],
    ] as const)
      expect(
        paintFor(Object.assign(new PassThrough(), { columns }) as unknown as NodeJS.WriteStream).width,
      ).toBe(width);
  });

  test("nothing from outside moves the cursor, begins a line or paints", () => {
    const hostile = "a\nb\tc\u001b[2Jd\u001b]0;title\u0007e\u009bf\u001b[31mred";
    const harmless = String.raw`a\nb\tc\u001b[2Jd\u001b]0;title\u0007e\u009bf\u001b[31mred`;
    const lines = harmless.replace("\\n", "\n").replace("\\t", " ");
    expect(oneLine(hostile)).toBe(harmless);
    expect(forTerminal(table(["x"], [[hostile]], plain))).toBe(`X\n${harmless}`);
    expect(forTerminal(hostile)).toBe(lines);
    expect(forTerminal(paint("red", `${hostile} ${paint("bold", "x")}`))).toBe(
      `\u001b[31m${lines} \u001b[1mx\u001b[22m\u001b[39m`,
    );
  });
});
