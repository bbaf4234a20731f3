/** Checks rotas: their people are channels, their time zones exist, their calendars can be read. */
import type { ChannelSettings } from "../../channels/registry.ts";
import { readCalendar } from "../../channels/rota/calendar.ts";
import { type CalendarEvent, planOf, type RotaPlan } from "../../channels/rota/plan.ts";
import type { RotaSettings } from "../../channels/rota/settings.ts";
import { type ConfigSource, type Path, readTextFile } from "../../config/index.ts";
import { nearestName } from "../../domain/text/nearest.ts";

const maxCalendarBytes = 1_024 * 1_024;

/** @returns the plan of each rota without mistakes, by name */
export function readRotas(
  source: ConfigSource,
  channels: Readonly<Record<string, ChannelSettings>>,
  timezone: string,
): Readonly<Record<string, RotaPlan>> {
  const plans: Record<string, RotaPlan> = {};
  for (const [name, settings] of Object.entries(channels)) {
    if (settings.type !== "rota") continue;
    const at = ["channels", name];
    if (source.has([...at, "templates"]))
      source.problem([...at, "templates"], "a rota sends in the words of the channel of whoever is on duty");
    const zone = zoneOf(source, [...at, "timezone"], settings.timezone ?? timezone);
    checkPeople(source, at, settings);
    if (zone === null) continue;
    const plan = planOf({ ...settings, timezone: zone }, zone, eventsOf(source, at, settings, zone));
    for (const [index, { fromMs, toMs }] of plan.overrides.entries())
      if (toMs <= fromMs) source.problem([...at, "overrides", index, "to"], "has to be after from");
    plans[name] = plan;
  }
  return plans;
}

function zoneOf(source: ConfigSource, at: Path, name: string): string | null {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    const shown = source.hide(name).slice(0, 60);
    source.problem(at, `expected a time zone such as UTC or Europe/Berlin, found "${shown}"`, {
      nearest: nearestName(name, Intl.supportedValuesOf("timeZone")),
    });
    return null;
  }
}

function checkPeople(source: ConfigSource, at: Path, { people, overrides }: RotaSettings): void {
  const names = source.keys(["channels"]).filter((one) => source.raw(["channels", one, "type"]) !== "rota");
  const refuse = (place: Path, name: string, allowed: readonly string[], what: string) => {
    if (allowed.includes(name) || source.isBroken(place)) return;
    const shown = source.hide(name).slice(0, 60);
    source.problem(place, `"${shown}" is no ${what}`, { allowed, nearest: nearestName(name, allowed) });
  };
  for (const [index, person] of people.entries())
    refuse([...at, "people", index], person, names, "channel that could belong to a person");
  for (const [index, { person }] of overrides.entries())
    refuse([...at, "overrides", index, "person"], person, people, "person of this rota");
}

function eventsOf(
  source: ConfigSource,
  at: Path,
  { calendar, people }: RotaSettings,
  timezone: string,
): readonly CalendarEvent[] {
  if (calendar === undefined) return [];
  const place = [...at, "calendar"];
  const file = source.resolve(calendar);
  const read = readTextFile(file, { largestBytes: maxCalendarBytes });
  if ("wrong" in read) {
    source.problem(place, source.hide(`${file} ${read.wrong}`));
    return [];
  }
  const { events, mistakes } = readCalendar(read.text, people, timezone);
  for (const { line, message } of mistakes)
    source.add({
      ...{ file: source.hide(file), line, column: 1, path: "", message: source.hide(message) },
      ...{ allowed: [], nearest: null, source: "" },
    });
  return events;
}
