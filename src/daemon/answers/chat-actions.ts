/** The questions and actions of chats, and the charts of channels. */
import type { Charts, ChatActions } from "../../domain/ports.ts";
import type { DaemonStatus } from "../../domain/status.ts";
import type { History } from "../../history/index.ts";
import type { AlertAnswers } from "./alert-answers.ts";
import type { Silencing } from "./silencing.ts";

interface ChatParts {
  readonly alertAnswers: AlertAnswers;
  readonly silencing: Silencing;
  readonly store: History;
  readonly status: () => DaemonStatus;
}

export function chatActions({ alertAnswers, silencing, store, status }: ChatParts): ChatActions {
  return {
    status,
    alert: (id) => alertAnswers.alert(id),
    acknowledgeAlert: (...given) => alertAnswers.acknowledgeAlert(...given),
    shownIn: (...given) => alertAnswers.shownIn(...given),
    criticalMessages: (sealedFromMs) => store.messages({ sealedFromMs, severity: "critical" }),
    silence: (...given) => silencing.add(...given),
    silences: () => silencing.all(),
  };
}

export function charts(alertAnswers: AlertAnswers): Charts {
  return { series: (alertId) => alertAnswers.chart(alertId) };
}
