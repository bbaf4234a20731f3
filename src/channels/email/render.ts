/** A rendered message as a mail: a subject, a text, and HTML that needs nothing from anywhere. Pure. */
import { type Block, plainLines, type Rendering, type Tone } from "../message.ts";
import { forHtml, shorten } from "../text.ts";

export interface MailParts {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Phones show about 40 characters of a subject; what is cut stands in the text. */
const mostSubject = 150;

const colours: Readonly<Record<Tone, string>> = {
  critical: "#b42318",
  warning: "#b54708",
  info: "#175cd3",
  good: "#067647",
  over: "#475467",
  test: "#5925dc",
};

export function mailParts(rendering: Rendering): MailParts {
  const { blocks } = rendering;
  const [only] = blocks;
  const id = only !== undefined && blocks.length === 1 ? ` (#${only.alertId})` : "";
  return {
    subject: shorten(rendering.headline, mostSubject - id.length) + id,
    text: `${plainLines(rendering).join("\n")}\n`,
    html: html(rendering),
  };
}

function html(rendering: Rendering): string {
  const { tone, headline, notes, blocks, footer } = rendering;
  const alone = blocks.length === 1;
  const body = [
    `<h1 style="margin:0;padding:14px 18px;background:${colours[tone]};color:#ffffff;font-size:19px;line-height:1.35">${forHtml(headline)}</h1>`,
    ...notes.map((note) => `<p style="margin:12px 18px;font-weight:bold">${forHtml(note)}</p>`),
    ...blocks.map((block) => section(block, alone, headline)),
    paragraph(rendering.standing.join("\n")),
    `<p style="margin:16px 18px;color:#667085;font-size:12px">${forHtml(footer)}</p>`,
  ].join("\n");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">',
    `<title>${forHtml(headline)}</title></head>`,
    '<body style="margin:0;padding:0;font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.45">',
    `<div style="max-width:620px;margin:0 auto">\n${body}\n</div></body></html>\n`,
  ].join("\n");
}

function section(block: Block, alone: boolean, headline: string): string {
  const parts: string[] = [];
  if (!alone) {
    const lead = `<span style="color:${colours[block.tone]}">${forHtml(block.lead)}</span>`;
    const title = `${lead} #${block.alertId}: ${forHtml(block.what)}`;
    parts.push(`<h2 style="margin:18px 18px 4px;font-size:16px">${title}</h2>`);
  } else if (!headline.includes(block.what)) parts.push(paragraph(block.what));
  if (block.description !== "") parts.push(paragraph(block.description));
  if (block.figures.length > 0) {
    const rows = block.figures.map(
      ([name, value]) =>
        `<tr><td style="padding:2px 16px 2px 0;color:#667085">${forHtml(name)}</td>` +
        `<td style="padding:2px 0;font-weight:bold">${forHtml(value)}</td></tr>`,
    );
    parts.push(
      `<table role="presentation" style="margin:10px 18px;border-collapse:collapse">${rows.join("")}</table>`,
    );
  }
  parts.push(paragraph(block.fresh.join("\n")));
  if (block.now.length > 0) parts.push(paragraph(block.now.join("\n"), "font-weight:bold"));
  if (block.runbook !== null) {
    const url = forHtml(block.runbook);
    parts.push(`<p style="margin:10px 18px">What to do: <a href="${url}">${url}</a></p>`);
  }
  if (alone) parts.push(paragraph(`Alert #${block.alertId}`, "color:#667085"));
  return parts.join("\n");
}

function paragraph(text: string, style = ""): string {
  return text === ""
    ? ""
    : `<p style="margin:10px 18px;${style}">${forHtml(text).replaceAll("\n", "<br>")}</p>`;
}
