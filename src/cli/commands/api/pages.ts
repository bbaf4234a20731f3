/** `--all`: reads the pages of a list to its end. */
import { type Endpoint, nextPage } from "../../../contract/index.ts";
import { CommandFailed } from "../../command.ts";

/** Maximum cursors kept to detect a cycle. */
const maxCursors = 100_000;
/** Maximum rows of output for people. */
const maxRows = 100_000;

export interface PageRead {
  readonly rows: readonly unknown[];
  /** Pages so far, including this one. */
  readonly pages: number;
  readonly count: number;
}

/**
 * @param args of the first page, whose answer is `first`
 * @param ask requests another page
 * @throws {CommandFailed} when a page leads back to an earlier one
 */
export async function* pagesOf(
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  first: unknown,
  ask: (args: object) => Promise<unknown>,
): AsyncGenerator<PageRead> {
  const seen = new Set<string>();
  const { [endpoint.paging?.newer?.argument ?? ""]: _, ...rest } = args;
  const firstCursor = args[endpoint.paging?.older?.argument ?? ""];
  if (typeof firstCursor === "string") seen.add(firstCursor);
  let [page, pages, count] = [first, 0, 0];
  for (;;) {
    const rows = rowsOf(endpoint, page);
    pages++;
    count += rows.length;
    yield { rows, pages, count };
    const next = nextPage(endpoint, page as object, "older");
    if (next === null) return;
    const cursor = Object.values(next).join("\n");
    if (seen.has(cursor)) {
      throw new CommandFailed(
        `${endpoint.name}: page ${pages} leads back to a page that was read before; the list has no end`,
      );
    }
    seen.add(cursor);
    const [oldest] = seen;
    if (seen.size > maxCursors && oldest !== undefined) seen.delete(oldest);
    page = await ask({ ...withoutRange(endpoint, rest, next), ...next });
  }
}

/**
 * Collects all rows of the pages.
 * @throws {CommandFailed} when there are more than `maxRows`
 */
export async function collectRows(
  endpoint: Endpoint,
  pages: AsyncIterable<PageRead>,
): Promise<readonly unknown[]> {
  const held: unknown[] = [];
  for await (const { rows, count } of pages) {
    if (count > maxRows) {
      const limit = maxRows.toLocaleString("en-US");
      throw new CommandFailed(
        `${endpoint.name}: these are more than ${limit} rows; with --json each is written as it comes`,
      );
    }
    for (const row of rows) held.push(row);
  }
  return held;
}

function rowsOf({ reply }: Endpoint, page: unknown): readonly unknown[] {
  if (reply.kind !== "rows") return [page];
  return (reply.field === null ? page : (page as Record<string, unknown>)[reply.field]) as readonly unknown[];
}

/** Removes arguments that a cursor excludes: they were for the first page. */
function withoutRange(
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  next: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const left = { ...args };
  for (const rule of endpoint.constraints) {
    if (rule.kind !== "exclusive" || !rule.params.some((name) => name in next)) continue;
    for (const name of rule.params) if (!(name in next)) delete left[name];
  }
  return left;
}
