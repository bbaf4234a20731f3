/** Every channel has its page, and what the pages tell to write down is valid. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { documentOf } from "../../src/channels/document.ts";
import { channelSettings, channelTypes } from "../../src/channels/registry.ts";
import { alertChangeKinds, endings } from "../../src/domain/alerts/alert.ts";
import { change, message } from "../channels/messages.ts";

const folder = new URL("../../docs/channels/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), "utf8");
const about = ["README.md", "adding.md", "oncall.md"];
const pages = readdirSync(folder).filter((name) => !about.includes(name));

/** The variables of the pages. */
const variables: Readonly<Record<string, string>> = {
  DISCORD_TOKEN: "t".repeat(30),
  DISCORD_WEBHOOK_URL: `https://discord.com/api/webhooks/123456789012345678/${"w".repeat(20)}`,
  SLACK_WEBHOOK_URL: "https://hooks.slack.com/services/T0/B0/x",
  SLACK_TOKEN: "xoxb-0123456789-abcdef",
  SLACK_APP_TOKEN: "xapp-1-A1-0123456789",
  PUSHOVER_TOKEN: "a".repeat(30),
  PUSHOVER_USER_KEY: "u".repeat(30),
  TELEGRAM_TOKEN: `123456789:${"t".repeat(35)}`,
  PAGERDUTY_KEY: "k".repeat(32),
};
const filled = (text: string) =>
  text.replaceAll(/\$\{(\w+)\}/g, (_all, name: string) => variables[name] ?? "s".repeat(24));

test("each kind of channel has a page, and the overview leads to all of them", () => {
  expect(pages.sort()).toEqual(channelTypes.map((type) => `${type}.md`).sort());
  for (const page of [...pages, "adding.md", "oncall.md"]) expect(read("README.md")).toContain(`(${page})`);
});

describe.each(pages)("%s", (page) => {
  const text = read(page);
  const blocks = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block]) => block!);

  test("its configuration is valid, as it stands and with everything in it switched on", () => {
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks.flatMap((one) => [one, one.replaceAll(/^( *)# (?=\w+:)/gm, "$1")])) {
      const { channels } = parse(filled(block)) as { channels: Record<string, unknown> };
      for (const [name, one] of Object.entries(channels))
        expect(channelSettings.safeParse(one).error?.issues, name).toBeUndefined();
    }
  });

  test("it ends with a test message to a channel that it configures", () => {
    const name = /channels test (\S+)/.exec(text)?.[1];
    expect(
      blocks.some((block) => Object.hasOwn((parse(filled(block)) as { channels: object }).channels, name!)),
    ).toBe(true);
  });
});

describe("the page of webhooks tells the document as it is", () => {
  const page = read("webhook.md");
  const [alerts, digest] = [...page.matchAll(/```json\n(.*?)```/gs)].map(
    ([, text]) => JSON.parse(text!) as Document,
  );
  interface Document {
    readonly alerts: readonly object[];
    readonly sections: readonly object[];
  }

  test("of alerts, field by field", () => {
    const sent = documentOf(message(), {}) as Document;
    expect(Object.keys(alerts!)).toEqual(Object.keys(sent));
    expect(Object.keys(alerts!.alerts[0]!)).toEqual(Object.keys(sent.alerts[0]!));
    const drill = documentOf(message([change("fired", { drill: true })]), {}) as Document;
    const more = Object.keys(drill.alerts[0]!).filter((key) => !Object.hasOwn(sent.alerts[0]!, key));
    expect(more).toEqual(["drill"]);
    for (const key of more) expect(page).toContain(`"${key}": true`);
  });

  test("of a digest", () => {
    const sections = [{ title: "Equity", rows: [["main", "$2,800.00"]] as const }];
    const sent = documentOf(message([], { content: { kind: "digest", sections } }), {}) as Document;
    const more = Object.keys(sent).filter((key) => !Object.hasOwn(alerts!, key));
    expect(Object.keys(digest!)).toEqual(more);
    expect(Object.keys(digest!.sections[0]!)).toEqual(Object.keys(sent.sections[0]!));
  });

  test("every word for what happened is told", () => {
    for (const kind of [...alertChangeKinds, ...endings, "alert", "digest", "test"])
      expect(page).toContain(`\`${kind}\``);
  });
});
