import { expect, test } from "vitest";
import { PUBLIC_BASE_URL } from "../../src/contract/program.ts";
import { exchangeSettings } from "../../src/exchange/index.ts";

test("nothing said: the public exchange, as many requests as it grants, streams where they are served", () => {
  expect(exchangeSettings.parse({})).toEqual({
    baseUrl: PUBLIC_BASE_URL,
    requestsPerSecond: "auto",
    streams: "auto",
  });
});

test.each([
  "https://exchange.example",
  "https://exchange.example/proxy/",
  "http://127.0.0.1:8899",
  "http://127.9.9.9:1",
  "http://localhost:8899",
  "http://[::1]:8899",
])("%s may be asked", (baseUrl) => {
  expect(exchangeSettings.parse({ baseUrl }).baseUrl).toBe(baseUrl);
});

test.each([
  ["exchange.example", "has to be a URL"],
  ["ftp://exchange.example", "https://"],
  ["http://exchange.example", "only for this machine"],
  ["http://127.0.0.1.example", "only for this machine"],
  ["http://localhost.example", "only for this machine"],
  ["https://me:secret@exchange.example", "user name"],
  ["https://exchange.example/?a=1", "query"],
  ["https://exchange.example/v1", "without /v1"],
])("%s may not", (baseUrl, why) => {
  const { error } = exchangeSettings.safeParse({ baseUrl });
  expect(error?.issues).toHaveLength(1);
  expect(error?.issues[0]?.message).toContain(why);
  expect(error?.issues[0]?.message).not.toContain("secret");
});

test.each([{ requestsPerSecond: 0 }, { requestsPerSecond: "20" }, { requestPerSecond: 5 }])(
  "%j is a mistake",
  (wrong) => {
    expect(exchangeSettings.safeParse(wrong).success).toBe(false);
  },
);
