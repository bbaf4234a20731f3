/**
 * Public interface of this folder: reads config.yaml into values checked by injected schemas, or reports every mistake
 * in it.
 */

export { readTextFile, type TextFile, type TextFileLimits } from "../files/index.ts";
export { durationSetting } from "./duration.ts";
export type { Path } from "./issues.ts";
export {
  type ConfigProblem,
  type ConfigWarning,
  formatConfigProblem,
  formatConfigWarning,
} from "./problem.ts";
export type { FileSetting } from "./setting-files.ts";
export { ConfigSource, type SourceInput } from "./source.ts";
export type { ProblemExtra } from "./source-mistakes.ts";
export { shownKey } from "./tree.ts";
export type { Environment } from "./variables.ts";
