/** Templates for tests of channels, compiled as the configuration's are. */

import {
  applyTemplates,
  type ChannelTemplates,
  type TemplateKind,
  type Texts,
} from "../../src/channels/message/template.ts";
import type { RenderOptions } from "../../src/channels/message.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { compileMessageTemplate } from "../../src/rules/index.ts";

interface Written {
  readonly title?: string;
  readonly body?: string;
}

export function templatesOf(
  written: Written & { readonly [kind in TemplateKind]?: Written },
  timezone = "UTC",
): ChannelTemplates {
  const { title, body, ...kinds } = written;
  const texts = (of: Written): Texts => ({
    ...(of.title === undefined ? {} : { title: compiled(of.title, 300, timezone) }),
    ...(of.body === undefined ? {} : { body: compiled(of.body, 3_000, timezone) }),
  });
  const byKind = Object.entries(kinds).map(([kind, of]) => [kind, texts(of)] as const);
  return {
    all: texts({ ...(title === undefined ? {} : { title }), ...(body === undefined ? {} : { body }) }),
    byKind: Object.fromEntries(byKind),
  };
}

function compiled(text: string, longest: number, timezone: string) {
  const template = compileMessageTemplate(text, longest, timezone, ({ message }) => {
    throw new Error(`${text}: ${message}`);
  });
  return template!;
}

/** The message finalized with these templates; a template error fails the test. */
export function inWordsOf(
  message: Message,
  written: Parameters<typeof templatesOf>[0],
  options: RenderOptions = {},
): Message {
  return applyTemplates(message, templatesOf(written, options.timezone), options, (detail) => {
    throw new Error(detail);
  });
}
