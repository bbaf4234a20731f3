/** Tests the check of WebSocket addresses returned by services. */
import { expect, test } from "vitest";
import { isSafeSocket } from "../../src/channels/address.ts";
import type { Poster } from "../../src/channels/post.ts";
import { openConnection } from "../../src/channels/slack/socket.ts";

test.each([
  ["wss://wss-primary.slack.com/link", "https://slack.com/api", true],
  ["ws://127.0.0.1:9/x", "http://127.0.0.1:8/api", true],
  ["ws://[::1]:9/x", "http://localhost:8/api", true],
  ["ws://127.0.0.1:9/admin?all=1", "https://slack.com/api", false],
  ["ws://localhost:9/", "https://slack.com/api", false],
  ["ws://[::1]:9/", "https://discord.com/api", false],
  ["ws://slack.com/link", "http://127.0.0.1:8/api", false],
  ["http://127.0.0.1:9/", "http://127.0.0.1:8/api", false],
  ["no address", "https://slack.com/api", false],
])("%s, named by %s, is safe: %s", (address, apiUrl, isSafe) => {
  expect(isSafeSocket(address, apiUrl)).toBe(isSafe);
});

test("a Slack elsewhere leads to no program of this machine", async () => {
  const text = JSON.stringify({ ok: true, url: "ws://127.0.0.1:9/admin/delete?all=1" });
  const poster = {
    call: async () => ({ kind: "answer", status: 200, headers: {}, text }),
    verdict: () => ({ kind: "delivered", receipt: "" }),
  } as unknown as Poster;
  const opened = (apiUrl: string) =>
    openConnection({ apiUrl, appToken: "xapp-0123456789" }, poster, new AbortController().signal);
  expect(await opened("https://slack.com/api")).toMatchObject({ kind: "retry", url: null });
  expect(await opened("http://127.0.0.1:8/api")).toMatchObject({ kind: "delivered" });
});
