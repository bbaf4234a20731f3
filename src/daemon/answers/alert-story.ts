/** One alert with all that followed from it, as history has it. */
import type { Event, EventKind } from "../../domain/event.ts";
import type { AlertStory } from "../../domain/ports.ts";
import type { History } from "../../history/index.ts";

/** One alert with all that followed from it; also for shells that read the database themselves. */
export async function alertStory(store: History, id: number): Promise<AlertStory | null> {
  const [alert] = await store.alerts({ ids: [id] });
  if (!alert) return null;
  return {
    alert,
    changes: await store.alertChanges({ alertId: id }),
    owed: await store.deliveryItems({ alertIds: [id] }),
    messages: await store.messages({ alertIds: [id] }),
    event: alert.eventKey === null ? null : await eventOf(store, alert.eventKey),
    acknowledgements:
      alert.wallet === null ? [] : await store.acknowledgements({ wallet: alert.wallet, alertIds: [id] }),
  };
}

/** @param name `kind:key`, as alerts about events carry it */
async function eventOf(store: History, name: string): Promise<Event | null> {
  const kind = name.slice(0, name.indexOf(":"));
  return store.eventByKey(kind as EventKind, name.slice(kind.length + 1));
}
