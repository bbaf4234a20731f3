/** Renders an answer as a Discord body, within Discord's limits for any content. Pure. */
import { absentText } from "../../../domain/text/number-text.ts";
import type { Answer } from "../../answers.ts";
import { forDiscord } from "../../message/text.ts";
import { colours } from "../render.ts";

/** Maximum text of the lines; the rest of an embed's 4096 characters is for the last line. */
const maxText = 3_900;
const maxLine = 400;

export function answerBody({ title, lines, tone }: Answer): object {
  const shown: string[] = [];
  let length = 0;
  for (const [index, line] of lines.entries()) {
    const text =
      typeof line === "string"
        ? forDiscord(line, maxLine)
        : `**${forDiscord(line[0], maxLine)}** ${forDiscord(line[1], maxLine)}`;
    if (length + text.length + 1 > maxText) {
      shown.push(`… and ${lines.length - index} more`);
      break;
    }
    shown.push(text);
    length += text.length + 1;
  }
  const description = shown.join("\n") || absentText;
  const heading = title === "" ? {} : { title: forDiscord(title, 250) };
  const embed = { ...heading, description, color: colours[tone ?? "over"] };
  return { content: "", embeds: [embed], allowed_mentions: { parse: [] } };
}
