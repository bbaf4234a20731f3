/** The fourth stage: delivery of messages, and acknowledgement of handled notifications. */

import { randomUUID } from "node:crypto";
import { applyTemplates } from "../../channels/message/template.ts";
import { createChannel, createChannels, programEnvironment } from "../../channels/registry.ts";
import { withOnDuty } from "../../channels/rota/channel.ts";
import {
  acknowledgeWith,
  createAcknowledger,
  createOutbox,
  Drills,
  HandOvers,
  type Outbox,
} from "../../deliver/index.ts";
import { logSteps } from "../alert-steps.ts";
import { charts, chatActions } from "../answers/chat-actions.ts";
import { alertOnlyTypes } from "../settings/digest.ts";
import type { Basics, DeliveryParts, EngineParts, ExchangeParts, StoreParts } from "./parts.ts";

type Made = Basics & StoreParts & ExchangeParts & EngineParts;

export function deliveryStage(of: Made): DeliveryParts {
  const {
    settings,
    deps,
    log,
    clock,
    random,
    sender,
    instance,
    live,
    messageOptions,
    alertAnswers,
    store,
    exchange,
    ingest,
    signals,
  } = of;
  const probe = deps.probe ? { probe: deps.probe } : {};
  const channels = createChannels(
    settings.channels,
    (name) => live.rotas[name]!,
    {
      ...{ clock, random, log, timezone: settings.timezone, mention: settings.mention, ...messageOptions },
      out: deps.out ?? process.stdout,
      environment: programEnvironment(process.env),
      actions: chatActions(of),
      charts: charts(alertAnswers),
    },
    deps.outside?.createChannel ?? createChannel,
  );
  const outbox: Outbox = createOutbox({
    ...{ store, channels, clock, random, sender, instance, log, ...probe },
    applyTemplates: (sealed) => {
      const message = withOnDuty(sealed, live.rotas[sealed.receiver]);
      const template = live.templates.channels[message.content.onDuty ?? message.receiver];
      return applyTemplates(message, template, { timezone: settings.timezone, ...messageOptions }, (detail) =>
        log.warn(
          { channel: message.receiver, messageId: message.id, detail },
          "a template failed; the usual words are sent",
        ),
      );
    },
    observe: (observation) => void ingest.observe(observation),
    stormFold: () => live.stormFold,
    present: (alertId) => ingest.watch.present(alertId, clock.nowMs()),
    charts: charts(alertAnswers),
  });
  const acknowledge = acknowledgeWith(exchange.client);
  const acknowledger = createAcknowledger({
    ...{ store, clock, random, log, ...probe },
    acknowledge: async (wallet, ...rest) => {
      await acknowledge(wallet, ...rest);
      signals.acknowledged.send(wallet);
    },
  });
  const drills = new Drills({
    ...{ store, clock, log },
    channels: [...channels.keys()],
    observe: (observation) => ingest.observe(observation),
    nextMs: (afterMs) => settings.drill.schedule?.next(afterMs) ?? null,
    withinMs: settings.drill.withinMs,
    newId: deps.outside?.newId ?? randomUUID,
  });
  signals.committed.listen((committed) => {
    outbox.committed(committed);
    acknowledger.committed(committed);
    drills.committed(committed);
    logSteps(log, committed);
  });
  signals.stuck.listen((stuck) => outbox.stuck(stuck));
  signals.degraded.listen((degraded, why) => {
    acknowledger.hold(degraded);
    if (degraded)
      log.error(`degraded: history does not take commits (${why}); critical messages leave from memory`);
    else log.info(`history takes commits again: ${why}`);
  });
  return {
    ...{ channels, outbox, acknowledger, drills },
    handOvers: new HandOvers({
      ...{ store, clock, sender, instance, log },
      post: (messages) => outbox.post(messages),
      plans: () => live.rotas,
      takes: (name) => {
        const one = settings.channels[name];
        return one !== undefined && !alertOnlyTypes.has(one.type);
      },
      firing: () => ingest.watch.status(clock.nowMs()).firing,
    }),
  };
}
