/** The table at the end of the suite. */
export interface Line {
  readonly group: string;
  readonly call: string;
  readonly result: string;
  readonly note: string;
}

export function tableOf(title: string, lines: readonly Line[]): string {
  const width = (column: "call" | "result") => Math.max(...lines.map((it) => it[column].length));
  const [calls, results] = [width("call"), width("result")];
  const groups = [...new Set(lines.map((it) => it.group))];
  const body = groups.flatMap((group) => [
    "",
    `  ${group}`,
    ...lines
      .filter((it) => it.group === group)
      .map((it) => `    ${it.call.padEnd(calls)}  ${it.result.padEnd(results)}  ${it.note}`.trimEnd()),
  ]);
  const counts = [...new Set(lines.map((it) => it.result))].map(
    (result) => `${lines.filter((it) => it.result === result).length} ${result}`,
  );
  return [title, ...body, "", `  ${lines.length} lines: ${counts.join(", ")}`].join("\n");
}
