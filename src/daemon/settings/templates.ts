/** Reads `templates:` of each channel, and checks every expression in them against the vocabulary. */
import { z } from "zod";
import {
  type ChannelTemplates,
  type TemplateKind,
  type Texts,
  templateKinds,
} from "../../channels/message/template.ts";
import type { ConfigSource, Path } from "../../config/index.ts";
import type { NamedFact } from "../../domain/alerts/template-data.ts";
import { compileMessageTemplate, type MessageTemplate } from "../../rules/index.ts";

export interface ReadTemplates {
  /** By channel; channels without templates are absent. */
  readonly channels: Readonly<Record<string, ChannelTemplates>>;
  /** All vocabulary fields that the templates name. */
  readonly named: readonly NamedFact[];
}

/** Maximum characters of the rendered text. */
const maxLengths = { title: 300, body: 3_000 } as const;

const text = z.string().refine((one) => one.trim() !== "", "expected a text");
const texts = { title: text.optional(), body: text.optional() };
const templates = z.strictObject({
  ...texts,
  ...(Object.fromEntries(templateKinds.map((kind) => [kind, z.strictObject(texts).optional()])) as Record<
    TemplateKind,
    z.ZodOptional<z.ZodObject<typeof texts>>
  >),
});

export function readTemplates(
  source: ConfigSource,
  channels: readonly string[],
  timezone: string,
): ReadTemplates {
  const found: Record<string, ChannelTemplates> = {};
  const named = new Map<string, NamedFact>();
  for (const name of channels) {
    const at = ["channels", name, "templates"];
    if (!source.has(at)) continue;
    // The mistakes of the structure and of the texts are both reported.
    source.read(at, templates);
    const compiled = (where: Path): Texts => {
      const parts: { -readonly [part in keyof Texts]: MessageTemplate } = {};
      for (const part of ["title", "body"] as const) {
        const place = [...where, part];
        const templateText = source.raw(place);
        if (typeof templateText !== "string" || templateText.trim() === "" || source.isBroken(place))
          continue;
        const template = compile(source, place, templateText, maxLengths[part], timezone);
        if (template === undefined) continue;
        parts[part] = template;
        for (const fact of template.named) named.set(`${fact.owner}.${fact.field}`, fact);
      }
      return parts;
    };
    const all = compiled(at);
    const byKind: { [kind in TemplateKind]?: Texts } = {};
    for (const kind of templateKinds) if (source.has([...at, kind])) byKind[kind] = compiled([...at, kind]);
    found[name] = { all, byKind };
  }
  // Prices are formatted to the tick of their market.
  if (named.size > 0) named.set("market.tickSize", { owner: "market", field: "tickSize" });
  return { channels: found, named: [...named.values()] };
}

function compile(
  source: ConfigSource,
  at: Path,
  templateText: string,
  maxLength: number,
  timezone: string,
): MessageTemplate | undefined {
  const hidden = source.isHidden(at);
  return compileMessageTemplate(
    templateText,
    maxLength,
    timezone,
    ({ start, message, warning, ...extra }) => {
      if (warning) source.warn(at, message);
      else if (hidden) source.problem(at, "what the environment holds for it is no template: write it here");
      else source.problemIn(at, start, source.hide(message), extra);
    },
  );
}
