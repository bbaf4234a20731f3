/** `--all`: the pages of a list, one after the other, to its end. */
import { type Endpoint, nextPage } from "../../contract/index.ts";
import { CommandFailed } from "../command.ts";

/** Cursors that are remembered; of a longer circle than that nobody can tell it from a long list. */
const maxCursors = 100_000;
/** Rows that are held at a time, for people; nobody reads more. */
const maxRows = 100_000;

export interface PageRead {
  readonly rows: readonly unknown[];
  /** So far, this one included. */
  readonly pages: number;
  readonly count: number;
}

/**
 * @param args of the first page, which was answered with `first`
 * @param ask asks for another page
 * @throws {CommandFailed} when a page leads back to one that was read before
 */
export async function* pagesOf(
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  first: unknown,
  ask: (args: object) => Promise<unknown>,
): AsyncGenerator<PageRead> {
  const seen = new Set<string>();
  const { [endpoint.paging?.newer?.argument ?? ""]: _, ...rest } = args;
  const begun = args[endpoint.paging?.older?.argument ?? ""];
  if (typeof begun === "string") seen.add(begun);
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

/** All rows of these pages. @throws {CommandFailed} when they are more than a person could want to see at once */
export async function heldRows(
  endpoint: Endpoint,
  pages: AsyncIterable<PageRead>,
): Promise<readonly unknown[]> {
  const held: unknown[] = [];
  for await (const { rows, count } of pages) {
    if (count > maxRows) {
      const most = maxRows.toLocaleString("en-US");
      throw new CommandFailed(
        `${endpoint.name}: these are more than ${most} rows; with --json each is written as it comes`,
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

/** A cursor says where to go on; what excludes it was for the first page. */
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
