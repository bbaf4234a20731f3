/** The reference of replies: every field of every endpoint that answers something. */
import { expect, test } from "vitest";
import { allEndpoints, endpoints } from "../../src/contract/index.ts";
import { replyFields } from "../../src/contract/shape.ts";

test("whatever answers something tells of its fields, down to the last object", () => {
  for (const endpoint of allEndpoints) {
    const fields = replyFields(endpoint);
    if (endpoint.reply.kind === "none") {
      expect(fields, endpoint.name).toEqual([]);
      continue;
    }
    expect(fields, endpoint.name).not.toEqual([]);
    const paths = fields.map(({ path }) => path);
    const hollow = fields.filter(
      ({ path, kind }) => kind === "an object" && !paths.some((other) => other.startsWith(`${path}.`)),
    );
    expect(hollow, endpoint.name).toEqual([]);
  }
});

test("a record that is read under two spellings is told under its own, here and inside another", () => {
  const keys = replyFields(endpoints.exchangeKeys).map(({ path }) => path);
  expect(keys).toContain("globalConfig");
  expect(keys).toContain("globalTraderIndex");
  expect(replyFields(endpoints.exchange)).toContainEqual({
    path: "keys.globalConfig",
    kind: "text",
    optional: false,
  });
});
