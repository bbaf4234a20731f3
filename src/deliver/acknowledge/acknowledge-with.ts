/** The acknowledger's request, made with the exchange's client in the wallet's own session. */

import type { ExchangeClient } from "../../exchange/requests/client.ts";
import { lanes } from "../../exchange/requests/lanes.ts";
import type { AcknowledgeItems } from "./acknowledger.ts";

/** One request, its repeats and a sign-in that it waits for, ms. */
const deadlineMs = 20_000;

export function acknowledgeWith(client: Pick<ExchangeClient, "ackNotifications">): AcknowledgeItems {
  return (wallet, traderPubkey, items, signal) =>
    client.ackNotifications(
      { traderPubkey, items: [...items] },
      { wallet, lane: lanes.inbox, signal, deadlineMs },
    );
}
