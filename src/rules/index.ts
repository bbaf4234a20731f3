/**
 * rules/: rule files → checked rules → judgements. Pure: no I/O, no clock.
 *
 *   files (YAML) ──load/──► definitions ──expression/──► closures ──judge──► Judgement
 *                                └── windows it needs ──windows/──► kept and fed by the watch
 */

export { explainInputs, explainParts, unitOfValue } from "./explain.ts";
export { formatAmount, formatNumber, formatPercent, formatPrice, formatUsd } from "./format.ts";
export { freshUntilMs, judge, judgeEvent, nothingHolds } from "./judge.ts";
export { type UnlistedSymbol, unlistedSymbols } from "./listed.ts";
export type { Loaded, LoadInput } from "./load/input.ts";
export { loadRules } from "./load/load.ts";
export { compileMessageTemplate, factReader, type MessageTemplate, namedFields } from "./message-template.ts";
export { formatProblem, nearestName, type RuleProblem } from "./problem.ts";
export type {
  Bound,
  Compiled,
  ConditionRule,
  EventRule,
  Input,
  Judgement,
  Level,
  NamedValue,
  Read,
  ReadScope,
  RuleSet,
  Select,
  Template,
  WindowFunction,
  WindowPath,
  WindowSpec,
} from "./rule.ts";
export {
  type Env,
  type FactRecord,
  type FactScalar,
  type Facts,
  type FactValue,
  isUnknown,
  type Suppose,
  Unknown,
  type UnknownReason,
  type Value,
} from "./value.ts";
export { orderItemFields } from "./vocabulary/account.ts";
export {
  eventKinds,
  type Field,
  type FieldType,
  type RuleEventKind,
  scopes,
  type Unit,
} from "./vocabulary/field-types.ts";
export { type FunctionRow, functionRows } from "./vocabulary/functions.ts";
export { messageVocabulary } from "./vocabulary/message.ts";
export {
  countableEvents,
  eventSources,
  eventVocabulary,
  marketChangeFields,
  visibleScopes,
  visibleToEvents,
  vocabulary,
} from "./vocabulary.ts";
export { createWindow, windowMaker } from "./windows/create.ts";
export { dayOf } from "./windows/edge.ts";
export { enoughCover, rawUpToMs } from "./windows/shape.ts";
export type { BucketStats, Window } from "./windows/window.ts";
