/** All answers, by endpoint. */
import { type Handlers, writeJson } from "../../../contract/index.ts";
import { authAnswers } from "./auth.ts";
import { calendarAnswers } from "./calendars.ts";
import type { Context } from "./context.ts";
import { exchangeAnswers } from "./exchange.ts";
import { historyAnswers } from "./history.ts";
import { historyV2Answers } from "./history-v2.ts";
import { marketAnswers } from "./market.ts";
import { notificationAnswers } from "./notifications.ts";
import { onboardingAnswers } from "./onboarding.ts";
import { stopLossAnswers } from "./onboarding-stop-loss.ts";
import { returnsAnswers } from "./returns.ts";
import { seriesAnswers } from "./series.ts";
import { stateTexts, traderAnswers } from "./trader.ts";

export interface Answers {
  /** The reply's JSON text; null: 204. Throws errors that the server turns into refusals. */
  text(name: string, args: object, context: Context): string | Promise<string | null>;
}

type Handler = (args: object, context: Context) => unknown;

export function createAnswers(): Answers {
  const handlers: Handlers<Context> = {
    ...exchangeAnswers,
    ...marketAnswers,
    ...traderAnswers,
    ...authAnswers,
    ...notificationAnswers,
    ...historyAnswers,
    ...historyV2Answers,
    ...seriesAnswers,
    ...returnsAnswers,
    ...calendarAnswers,
    ...onboardingAnswers,
    ...stopLossAnswers,
  };
  const byName = handlers as unknown as Readonly<Record<string, Handler>>;
  const state = stateTexts();
  return {
    text(name, args, context) {
      if (name === "traderState") return state(args as Parameters<typeof state>[0], context);
      return written(byName[name]!, args, context);
    },
  };
}

async function written(handler: Handler, args: object, context: Context): Promise<string | null> {
  const record = await handler(args, context);
  return record === null || record === undefined ? null : writeJson(record);
}
