/**
 * Calendar schedules: cron expressions with seconds, in a named time zone. node-cron parses and checks the expressions;
 * the times are computed here, on the injected clock, since its timers use the machine's clock and skip the hour that a
 * change to summer time removes.
 *
 *  - A time that the clocks jump over (02:30 on that day) runs right after the jump.
 *  - A time that comes twice (in autumn) runs once, the first time. A schedule that names every hour runs in both.
 */
import cron from "node-cron";
import { Zone } from "../../domain/text/zone.ts";

/** An invalid expression or time zone. */
export class BadCron extends Error {
  override readonly name = "BadCron";
}

const DAY_MS = 86_400_000;
/** Search limit: long enough for a 29th of February on a given weekday. */
const maxDays = 366 * 40;

export class CronSchedule {
  readonly expression: string;
  readonly timezone: string;
  readonly #seconds: readonly number[];
  readonly #minutes: readonly number[];
  readonly #hours: readonly number[];
  readonly #everyHour: boolean;
  readonly #matchesDay: (day: Date) => boolean;
  readonly #zone: Zone;

  /** @throws {BadCron} */
  constructor(expression: string, timezone = "UTC") {
    const problem = cronProblem(expression, timezone);
    if (problem) throw new BadCron(problem);
    this.expression = expression;
    this.timezone = timezone;
    const fields = cron.parse(expression);
    const ascending = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b);
    this.#seconds = ascending(fields.second);
    this.#minutes = ascending(fields.minute);
    this.#hours = ascending(fields.hour);
    this.#everyHour = this.#hours.length === 24;
    // Tests the day alone, at noon UTC: months, weekdays, "last" and the like are parsed by node-cron.
    const [month, weekday, day] = [4, 5, 3].map((at) => partsOf(expression)[at]!);
    const task = cron.createTask(`0 0 12 ${day} ${month} ${weekday}`, () => {}, { timezone: "UTC" });
    // node-cron keeps every task in memory until it is destroyed; a destroyed one still works here.
    task.destroy();
    this.#matchesDay = (noon) => task.match(noon);
    this.#zone = new Zone(timezone);
  }

  /** Returns the first time after this one, wall ms; null if there is none in the next 40 years. */
  next(afterMs: number): number | null {
    // A clock change may move a time of the previous day past midnight, so that day is included.
    const firstDay = Math.floor((afterMs + this.#zone.offsetMs(afterMs)) / DAY_MS) - 1;
    for (let day = firstDay; day < firstDay + maxDays; day++) {
      if (!this.#matchesDay(new Date(day * DAY_MS + DAY_MS / 2))) continue;
      const found = this.#nextOnDay(day * DAY_MS, afterMs);
      if (found !== null) return found;
    }
    return null;
  }

  /** @param midnight the start of the day, as if its wall time were UTC */
  #nextOnDay(midnight: number, afterMs: number): number | null {
    const uneven = this.#zone.offsetMs(midnight - DAY_MS) !== this.#zone.offsetMs(midnight + 2 * DAY_MS);
    let best: number | null = null;
    const take = (ms: number) => {
      if (ms > afterMs && (best === null || ms < best)) best = ms;
    };
    for (const hour of this.#hours) {
      for (const minute of this.#minutes) {
        const atMinute = midnight + hour * 3_600_000 + minute * 60_000;
        // Whole minutes in the past need no search by second.
        if (!uneven && this.#zone.instants(atMinute).every((ms) => ms + 60_000 <= afterMs)) continue;
        for (const second of this.#seconds) {
          const instants = this.#zone.instants(atMinute + second * 1_000);
          for (const ms of this.#everyHour ? instants : instants.slice(0, 1)) take(ms);
          if (!uneven && best !== null) return best;
        }
      }
    }
    return best;
  }
}

/**
 * Limits expressions because the library lists the values of a range one by one: endlessly with a step of 0, and
 * without a memory limit for large numbers, which it also makes of concatenated names.
 */
const plainCron = /^(?![\s\S]*(?:\d{5}|\w{10}))(?![\s\S]*\/\s*(?:-|0*(?!\d)))[\w\s*,/#?-]{1,200}$/;

/** Returns the reason why an expression or zone is invalid, for people; null: it is valid. */
export function cronProblem(expression: string, timezone: string): string | null {
  if (expression.trim().startsWith("@"))
    return "write out the six parts (seconds minutes hours days months weekdays)";
  if (!plainCron.test(expression))
    return "not a cron expression (seconds minutes hours days months weekdays): numbers have at most four digits, names nine letters, and steps begin at 1";
  if (!cron.validate(expression)) {
    const [first] = cron.validateDetailed(expression).errors;
    return `not a cron expression (seconds minutes hours days months weekdays)${first ? `: ${first.message}` : ""}`;
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
  } catch {
    return `${timezone} is no time zone; write one as Europe/Berlin, or UTC`;
  }
  return null;
}

/** Returns the six parts; seconds are 0 if left out. */
function partsOf(expression: string): string[] {
  const parts = expression.trim().split(/\s+/);
  return parts.length === 5 ? ["0", ...parts] : parts;
}
