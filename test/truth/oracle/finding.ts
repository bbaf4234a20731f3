/** A violation of a check of the oracle. */

export type Check =
  /** An observation is not what was true. */
  | "inputs"
  /** A notification was not true for the inputs that it rests on, or a figure in it. */
  | "soundness"
  | "figures"
  /** A condition held for its time and nothing was reported. */
  | "completeness"
  /** Something is reported as recovered that has not. */
  | "false resolve"
  /** A condition was gone for its time and nothing was reported. */
  | "late resolve"
  | "no data"
  | "false no-data"
  | "once"
  /** A message that adds nothing. */
  | "few"
  /** Word of a change is not owed to whom the configuration names, or it is to somebody else, or for too late. */
  | "owed"
  | "incidents"
  /** A message arrived later than its channel, its group and the messages before it explain. */
  | "late delivery";

export interface Finding {
  readonly check: Check;
  readonly rule: string;
  readonly subject: string;
  /** True wall time, ms, as far as it is known. */
  readonly atMs: number;
  readonly expected: string;
  readonly seen: string;
}

export const timeOf = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

export const lineOf = ({ check, rule, subject, atMs, expected, seen }: Finding): string =>
  `${check}: ${timeOf(atMs)} ${rule} ${subject}: expected ${expected}; seen: ${seen}`;
