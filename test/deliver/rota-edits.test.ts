/** A rota of two Telegram chats: the first message of an incident stays current for whoever got it, also after a hand-over. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { channelSettings, createChannels } from "../../src/channels/registry.ts";
import { onDutyWhenSealed } from "../../src/channels/rota/channel.ts";
import { planOf } from "../../src/channels/rota/plan.ts";
import { rotaSettings } from "../../src/channels/rota/settings.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { FakeClock } from "../support/clock.ts";
import { startService } from "../support/service.ts";
import { TelegramChat } from "../support/telegram.ts";
import { rig } from "./support.ts";

const token = "123456789:AAF-telegram-token-never-shown";
const incident = "incident/{}/1";

/** Anna's turn is over at 09:00, Ben's begins. */
async function desk() {
  const clock = new FakeClock("2026-11-23T08:59:50Z");
  const [anna, ben] = [new TelegramChat({ token, chatId: 7 }), new TelegramChat({ token, chatId: 8 })];
  const [farAnna, farBen] = [await startService(anna.dialect), await startService(ben.dialect)];
  const settings = { type: "rota", people: ["anna", "ben"], turn: "Mon 09:00", since: "2026-11-16" };
  const plan = planOf(rotaSettings.parse(settings), "UTC");
  const telegram = (chatId: number, apiUrl: string) =>
    channelSettings.parse({ type: "telegram", token, chatId, apiUrl });
  const made = () =>
    createChannels(
      {
        oncall: channelSettings.parse(settings),
        anna: telegram(7, farAnna.url),
        ben: telegram(8, farBen.url),
      },
      () => plan,
      { clock, random: seededRandom(1), out: new PassThrough() },
    );
  const word = (message: Parameters<typeof onDutyWhenSealed>[0]) =>
    onDutyWhenSealed(message, message.receiver === "oncall" ? plan : undefined);
  const one = await rig({ clock, channels: made(), word });
  const { [Symbol.asyncDispose]: close } = one;
  const texts = (chat: TelegramChat) => chat.messages.items.map(({ text }) => text.replaceAll("\u200b", ""));
  return Object.assign(one, {
    ...{ anna, ben, texts },
    restarted: () => one.restart({ channels: made() }),
    [Symbol.asyncDispose]: async () => {
      await close.call(one);
      await farAnna.close();
      await farBen.close();
    },
  });
}

test("what the next person is sent, and the end, are edited into the first message of the one before, over a restart", async () => {
  await using one = await desk();
  const { anna, ben, texts, alerts, clock } = one;
  const [first, second] = [alerts.alert(), alerts.alert()];
  await one.owe(alerts.step("fired", first, ["oncall"], incident));
  await clock.settle();
  expect([texts(anna).length, texts(ben).length]).toEqual([1, 0]);
  await clock.advance(20_000);
  await one.owe(alerts.step("fired", second, ["oncall"], incident));
  await clock.settle();
  expect([texts(anna).length, texts(ben).length]).toEqual([1, 1]);
  expect(texts(anna)[0]).toContain("FIRING critical #2: alert 2");
  expect(texts(ben)[0]).toContain("FIRING critical: alert 2");

  await one.restarted();
  await one.owe(alerts.step("worsened", second, ["oncall"], incident));
  await clock.settle();
  expect(texts(anna)[0]).toContain("WORSE, still critical #2");
  expect(texts(anna)).toHaveLength(1);
  // A message that nobody can edit any more costs nothing.
  anna.frozen.add(101);
  await one.owe(alerts.step("ended", second, ["oncall"], incident));
  await one.owe(alerts.step("ended", first, ["oncall"], incident));
  await clock.advance(60_000);
  expect(texts(anna).filter((text) => text.startsWith("🟢") || text.includes("RESOLVED"))).toHaveLength(1);
  expect(texts(anna).at(-1)).toContain("alert 1");
  expect(one.outbox.figures()).toMatchObject({ undelivered: 0, deadMessages: 0 });
});
