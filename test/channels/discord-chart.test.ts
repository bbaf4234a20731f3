/** Charts: drawn from a series and attached after the text was delivered. */
import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pngOf } from "../../src/channels/chart/png.ts";
import { chartSvg } from "../../src/channels/chart/svg.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { ChartSeries } from "../../src/domain/alerts/chart.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Charts } from "../../src/domain/ports.ts";
import { startDiscord } from "../support/discord.ts";
import { handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const seed = Math.trunc(Math.random() * 1e9);

const falling: ChartSeries = {
  title: "main/0.0/SOL: position.liquidationDistance",
  unit: "ratio",
  points: Array.from(
    { length: 200 },
    (_, index) => [atMs - (200 - index) * 60_000, 0.2 - index * 0.0008] as const,
  ),
  thresholds: [
    { severity: "warning", value: 0.1 },
    { severity: "critical", value: 0.05 },
  ],
};

describe("a picture", () => {
  test("has the line, the thresholds, the newest value, and its times", async () => {
    const svg = chartSvg(falling, "UTC") ?? "";
    for (const part of ["main/0.0/SOL", ">10%<", ">5%<", ">4.08%<", "00:21:18 UTC", "03:40:18 UTC · 3h 19m"])
      expect(svg).toContain(part);
    const png = await pngOf(svg);
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([640, 240]);
    expect(png.length).toBeLessThan(60_000);
    // Compared with its text: without the font the picture would be the same for any text.
    const other = await pngOf(svg.replaceAll("main/0.0/SOL", "desk/1.2/BTC"));
    expect(other.equals(png)).toBe(false);
  });

  test("its labels are in the order of their values, without overlap, within the picture", () => {
    const heights = (values: readonly number[], now: number) => {
      const thresholds = values.map((value) => ({ severity: "info" as const, value }));
      const points = falling.points.map(
        ([ms], index, { length }) => [ms, index === length - 1 ? now : 0.2] as const,
      );
      const svg = chartSvg({ ...falling, points, thresholds }, "UTC") ?? "";
      const found = [...svg.matchAll(/<text x="538" y="([\d.]+)"/g)].map(([, at]) => Number(at));
      expect(found).toHaveLength(values.length + 1);
      return found;
    };
    for (const values of [
      [0.05, 0.1],
      [0.0421, 0.0419],
      [0.04, 0.041, 0.042, 0.043],
      [0.2, 0.2, 0.2],
    ]) {
      const [now, ...limits] = heights(values, 0.042);
      const all = [
        { value: 0.042, at: now! },
        ...values.map((value, index) => ({ value, at: limits[index]! })),
      ];
      const ordered = all.toSorted((a, b) => a.at - b.at);
      expect(ordered.map(({ value }) => value)).toEqual(all.map(({ value }) => value).sort((a, b) => b - a));
      for (const [index, { at }] of ordered.entries()) {
        if (index > 0) expect(at - ordered[index - 1]!.at).toBeGreaterThanOrEqual(14);
        expect(at).toBeLessThanOrEqual(232);
        expect(at).toBeGreaterThan(12);
      }
    }
  });

  test("keeps a spike among very many points", () => {
    const points = Array.from(
      { length: 20_000 },
      (_, index) => [atMs + index, index === 9_999 ? 5 : 1] as const,
    );
    const svg = chartSvg({ ...falling, points, thresholds: [] }, "UTC") ?? "";
    const line = /<path d="([^"]*)"/.exec(svg)?.[1] ?? "";
    const heights = line.split("L").map((point) => Number(point.split(" ")[1]));
    expect(Math.min(...heights)).toBeLessThan(60);
    expect(heights.length).toBeLessThan(500);
  });

  test("is well formed for any series, or none", () => {
    const point = fc.tuple(fc.integer({ min: 0, max: 1e13 }), fc.double());
    fc.assert(
      fc.property(fc.array(point, { maxLength: 30 }), fc.string(), fc.double(), (some, title, value) => {
        const points = some.toSorted(([a], [b]) => a - b);
        const svg = chartSvg({ ...falling, title, points, thresholds: [{ severity: "info", value }] }, "UTC");
        expect(svg ?? "").not.toMatch(/NaN|Infinity|<(?!\/?(svg|rect|text|path|circle|line)\b)/);
      }),
      { seed, numRuns: 300 },
    );
  });
});

async function rig(charts: Charts) {
  const clock = handClock();
  const discord = await startDiscord({ now: () => clock.nowMs() });
  const { token, channelId, apiUrl } = discord;
  const settings = channelSettings.parse({ type: "discord", token, channelId, apiUrl });
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const channel = createChannel("chat", settings, { clock, random: seededRandom(1), out, charts });
  return {
    ...{ discord, clock, channel },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await discord.close();
    },
  };
}

describe("on Discord", () => {
  test("it is attached by an edit that keeps the text", async () => {
    const asked: number[] = [];
    await using one = await rig({
      series: async (id) => {
        asked.push(id);
        return falling;
      },
    });
    const first = message([change("fired", { id: 1, severity: "warning" }), change("fired", { id: 2 })]);
    await one.channel.send(outgoing({ message: first }), never);
    const before = one.discord.messages[0]?.text;
    const drawn = await one.discord.waitForMessage(({ files }) => files.length > 0);
    expect(drawn.files.map(({ name }) => name)).toEqual(["chart.png"]);
    expect(drawn.files[0]?.data.subarray(1, 4).toString()).toBe("PNG");
    expect({ text: drawn.text, edits: drawn.edits }).toEqual({ text: before, edits: 1 });
    expect(asked).toEqual([2]);
  });

  test("an end, an event and an edit have none", async () => {
    const asked: number[] = [];
    await using one = await rig({
      series: async (id) => {
        asked.push(id);
        return null;
      },
    });
    const first = message();
    await one.channel.send(outgoing({ message: message([change("ended")]) }), never);
    await one.channel.send(
      outgoing({ message: message([change("fired", { event: true, state: "ended" })]) }),
      never,
    );
    await one.channel.send(outgoing({ message: first }), never);
    const told = { messageId: first.id, receipt: one.discord.messages[2]!.id, message: first };
    await one.channel.send(
      outgoing({ message: message([change("acknowledged")]), inReplyTo: told, latest: told }),
      never,
    );
    await one.channel.stop();
    expect(asked).toEqual([42]);
  });

  test.each([
    ["never comes", () => new Promise<null>(() => {})],
    ["fails", () => Promise.reject(new Error("no disk"))],
  ])("a series that %s holds up no message", async (_what, series) => {
    const discord = await rig({ series });
    for (let count = 0; count < 6; count++)
      expect(await discord.channel.send(outgoing({ message: message() }), never)).toMatchObject({
        kind: "delivered",
      });
    expect(discord.discord.messages.every(({ files }) => files.length === 0)).toBe(true);
    await discord[Symbol.asyncDispose]();
  });

  test("Discord refuses it: the message stays as it is", async () => {
    await using one = await rig({ series: async () => falling });
    one.discord.permissions.delete("ATTACH_FILES");
    expect(await one.channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
    await one.discord.waitForRequest(({ method, status }) => method === "PATCH" && status === 403);
    expect(one.discord.messages).toMatchObject([{ edits: 0, files: [] }]);
  });
});
