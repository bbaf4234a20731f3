/** The questions and actions of chats, and the charts of channels, answered by a source that is made after the channels. */
import type { Charts, ChatActions } from "../../domain/ports.ts";
import type { DaemonSource } from "../daemon-source.ts";

/** @param source given once there is one; channels are made before it, and people act later than that */
export function chatActions(source: () => DaemonSource): ChatActions {
  return {
    status: () => source().status(),
    alert: (id) => source().alert(id),
    acknowledgeAlert: (...given) => source().acknowledgeAlert(...given),
    shownIn: (...given) => source().shownIn(...given),
    criticalMessages: (...given) => source().criticalMessages(...given),
    silence: (...given) => source().silence(...given),
    silences: () => source().silences(),
  };
}

/** As chatActions. */
export function charts(source: () => DaemonSource): Charts {
  return { series: (alertId) => source().chart(alertId) };
}
