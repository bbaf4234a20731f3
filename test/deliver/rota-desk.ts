/** A rota of three people, each with a channel of their own over HTTP. */
import { createRota, withOnDuty } from "../../src/channels/rota/channel.ts";
import { planOf } from "../../src/channels/rota/plan.ts";
import { rotaSettings } from "../../src/channels/rota/settings.ts";
import type { OutboxOptions } from "../../src/deliver/index.ts";
import { FakeClock } from "../support/clock.ts";
import { FarSide, httpChannel, type Rig, rig } from "./support.ts";

export const handOver = "2026-11-23T09:00:00Z";

export interface RotaRig extends Rig {
  /** A third person, on duty after Ben. */
  readonly carla: FarSide;
}

interface Desk {
  readonly deadlineMs?: { readonly ben?: number };
  /** Default "Mon 09:00". */
  readonly turn?: string;
}

/** Anna (`far`), Ben (`other`) and Carla take weekly turns at Monday 09:00: it is Ben's from `handOver` on. */
export async function desk(startsAt: string, settings: Desk = {}): Promise<RotaRig> {
  const { deadlineMs, turn = "Mon 09:00" } = settings;
  const clock = new FakeClock(startsAt);
  const carla = await FarSide.start(clock);
  const names = ["anna", "ben", "carla"];
  const plan = planOf(rotaSettings.parse({ type: "rota", people: names, turn, since: "2026-11-16" }), "UTC");
  const one = await rig({ clock, channels: new Map() });
  const people = new Map([
    ["anna", httpChannel("anna", one.far)],
    ["ben", httpChannel("ben", one.other, deadlineMs?.ben)],
    ["carla", httpChannel("carla", carla)],
  ]);
  const oncall = createRota("oncall", names, { clock, plan: () => plan, people });
  const options: Partial<OutboxOptions> = {
    channels: new Map([...people, ["oncall", oncall]]),
    applyTemplates: (message: Parameters<typeof withOnDuty>[0]) =>
      withOnDuty(message, message.receiver === "oncall" ? plan : undefined),
  };
  await one.restart(options);
  const { restart, [Symbol.asyncDispose]: close } = one;
  return Object.assign(one, {
    carla,
    restart: (more: Partial<OutboxOptions> = {}) => restart({ ...options, ...more }),
    [Symbol.asyncDispose]: async () => {
      await close.call(one);
      await carla[Symbol.asyncDispose]();
    },
  });
}
