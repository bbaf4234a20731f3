/** The first stage: history, and the daemon's clock. */
import { openStore } from "../../history/index.ts";
import { steadyClock } from "../steady-clock.ts";
import type { Basics, StoreParts } from "./parts.ts";

export async function storeStage({ settings, deps, machine, onStop }: Basics): Promise<StoreParts> {
  const open = deps.outside?.openStore ?? openStore;
  const { path, retention } = settings.history;
  const store = open({ path, clock: machine, retention });
  onStop(() => store.close());
  return { store, clock: steadyClock(machine), lastAliveMs: await store.lastAliveMs() };
}
