/** The `digest:` section: checks the cron expression, the time zone, and that the receivers can show a digest. */
import { cronProblem } from "../../collect/schedule/calendar.ts";
import type { ConfigSource } from "../../config/index.ts";
import { type DigestSettings, digestSettings } from "../../deliver/digest/settings.ts";
import { nearestName } from "../../domain/text/nearest.ts";

/** Types of channels that accept alerts only. */
export const alertOnlyTypes: ReadonlySet<string> = new Set(["pagerduty", "alertmanager"]);

/** @returns null: no digest */
export function readDigest(
  source: ConfigSource,
  timezone: string,
  channels: readonly string[],
): DigestSettings | null {
  if (!source.has(["digest"])) return null;
  const found = source.read(["digest"], digestSettings);
  if (found === undefined) return null;
  const problem = cronProblem(found.cron, found.timezone ?? timezone);
  if (problem !== null)
    source.problem(["digest", problem.includes("time zone") ? "timezone" : "cron"], source.hide(problem));
  for (const [index, name] of found.receivers.entries()) {
    const at = ["digest", "receivers", index];
    const shown = source.hide(name).slice(0, 60);
    if (!channels.includes(name))
      source.problem(at, `no channel is called "${shown}"`, {
        allowed: channels,
        nearest: nearestName(name, channels),
      });
    else {
      const type = source.raw(["channels", name, "type"]);
      if (typeof type === "string" && alertOnlyTypes.has(type))
        source.problem(at, `${shown} is of the type ${type}, which takes alerts and no digest`);
      const people = type === "rota" ? source.raw(["channels", name, "people"]) : [];
      const alertOnlyPerson = (Array.isArray(people) ? people : []).find((person: unknown) =>
        alertOnlyTypes.has(String(source.raw(["channels", String(person), "type"]))),
      );
      if (alertOnlyPerson !== undefined)
        source.problem(
          at,
          source.hide(`${shown} leads to ${alertOnlyPerson}, which takes alerts and no digest`),
        );
    }
  }
  return found;
}
