/** People who press the same button at the same moment. */
import { expect, test, vi } from "vitest";
import type { AlertStory } from "../../src/domain/ports.ts";
import { openHouse } from "../support/daemon.ts";
import { startService } from "../support/service.ts";
import { SlackChannel, slackSends } from "../support/slack.ts";
import { startSlackSockets } from "../support/slack-sockets.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const [token, appToken, channel] = ["xoxb-0123456789-abcdef", "xapp-1-A1-0123456789", "C0123456789"];
const marta = { id: "U0000MARTA", username: "marta" };
const joe = { id: "U00000JOE0", username: "joe" };

test("an alert is acknowledged and silenced once by people who press at the same moment", async () => {
  await using house = await openHouse();
  await using sockets = await startSlackSockets();
  const room = new SlackChannel({ token, channel, appToken, sockets });
  await using slack = await startService(room.dialect, { sends: slackSends });
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const allow = { users: [marta.id, joe.id] };
  const { daemon } = await house.start({
    channels: { room: { type: "slack", token, appToken, channel, apiUrl: `${slack.url}/api`, allow } },
    rules: ["shipped:liquidation-risk"],
  });
  await sockets.connected(1);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  const posted = room.messages.items[0]!;
  const label = posted.buttons.map((one) => one.label).find((one) => one.startsWith("Acknowledge"))!;
  for (const who of [marta, joe, marta]) room.press(posted, label, who);
  await room.ephemerals.waitFor(() => room.ephemerals.items.length === 3);
  for (const { id } of daemon.status().watch.firing) {
    const { changes } = (await house.ask("GET", `/api/v1/alerts/${id}`)) as AlertStory;
    expect(changes.filter(({ kind }) => kind === "acknowledged")).toHaveLength(1);
  }

  for (const who of [marta, joe, marta])
    room.press(
      posted,
      posted.buttons.map((one) => one.label).find((one) => one.startsWith("Silence 1 h"))!,
      who,
    );
  await room.ephemerals.waitFor(() => room.ephemerals.items.length === 6);
  const silences = (await house.ask("GET", "/api/v1/silences")) as { readonly silences: readonly object[] };
  expect(silences.silences).toHaveLength(1);
});
