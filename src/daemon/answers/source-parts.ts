/** The parts of the daemon that the local API and the page ask. */
import type { Digest } from "../../deliver/index.ts";
import type { AlertAnswers } from "./alert-answers.ts";
import type { DaemonReport, ReportParts } from "./daemon-report.ts";
import type { Silencing } from "./silencing.ts";

export interface SourceParts extends ReportParts {
  readonly report: DaemonReport;
  readonly digest: Digest;
  readonly alertAnswers: AlertAnswers;
  readonly silencing: Silencing;
}
