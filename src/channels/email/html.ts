/**
 * The HTML part of a mail, in the form that mail programs support: table layout, inline styles, at most 600 pixels, no
 * script, no remote font or picture. `<style>` is used for dark mode only; a program that drops it shows the mail in
 * light colours. Pure.
 */
import { chartSize } from "../chart/svg.ts";
import { ledBy, lineOf, numberLine, shownLead, shownParts } from "../message/lines.ts";
import type { Block, Rendering, Section, Tone } from "../message/rendering.ts";
import { forHtml, shorten } from "../message/text.ts";

const colours: Readonly<Record<Tone, string>> = {
  critical: "#b42318",
  warning: "#b54708",
  info: "#175cd3",
  good: "#067647",
  over: "#475467",
  test: "#5925dc",
};

const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const ink = "color:#101828";
const faint = "color:#667085";
/** Horizontal padding inside the card. */
const side = "24px";

/** Colours of dark mode. Outlook on the web marks its own dark mode with data-ogsc. */
const dark: readonly (readonly [string, string])[] = [
  [".pw-page", "background-color:#0c111d!important"],
  [".pw-card", "background-color:#161b26!important;border-color:#333741!important"],
  [".pw-ink", "color:#f5f5f6!important"],
  [".pw-faint", "color:#a3a8b3!important"],
  [".pw-line", "border-color:#333741!important"],
  [".pw-link", "color:#84adff!important"],
];

const style = [
  ":root{color-scheme:light dark;supported-color-schemes:light dark}",
  `@media (prefers-color-scheme:dark){${dark.map(([name, rule]) => `${name}{${rule}}`).join("")}}`,
  ...dark.map(([name, rule]) => `[data-ogsc] ${name}{${rule}}`),
  "@media (max-width:620px){.pw-pad{padding-left:16px!important;padding-right:16px!important}}",
].join("\n");

/** A chart embedded in the mail. */
export interface MailChart {
  /** The alert below whose figures it is shown. */
  readonly alertId: number;
  /** `cid:` URL of its part. */
  readonly url: string;
  /** Alternative text. */
  readonly words: string;
}

const chartWidth = 552;
const chartHeight = Math.round((chartWidth * chartSize.height) / chartSize.width);

export function document(rendering: Rendering, chart: MailChart | null): string {
  const { tone, headline, notes, blocks, inFull, sections, standing, footer } = rendering;
  const alone = blocks.length === 1;
  const drawn = blocks.findIndex(({ alertId }) => alertId === chart?.alertId);
  const rows = [
    `<td class="pw-pad" bgcolor="${colours[tone]}" style="padding:18px ${side};background-color:${colours[tone]};border-radius:8px 8px 0 0">` +
      `<h1 style="margin:0;${font};font-size:20px;line-height:1.35;color:#ffffff">${forHtml(headline)}</h1></td>`,
    ...notes.map((note) => cell(paragraph(note, "font-weight:bold"))),
    ...blocks
      .slice(0, inFull)
      .map((block, index) => cell(alert(block, alone, headline, index === drawn ? chart : null), index > 0)),
    ...(inFull < blocks.length ? [cell(paragraph(blocks.slice(inFull).map(oneLine).join("\n")), true)] : []),
    ...sections.map((section, index) => cell(table(section), index > 0)),
    ...(standing.length === 0 ? [] : [cell(paragraph(standing.join("\n")), true)]),
    cell(
      `<p class="pw-faint" style="margin:0;${font};font-size:12px;line-height:1.5;${faint}">${forHtml(footer)}</p>`,
      true,
    ),
  ];
  return [
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    // Keeps phones from turning figures into links.
    '<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">',
    `<title>${forHtml(headline)}</title>\n<style>\n${style}\n</style></head>`,
    `<body class="pw-page" style="margin:0;padding:0;background-color:#f2f4f7">`,
    preheader(rendering),
    '<table role="presentation" class="pw-page" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="#f2f4f7" style="background-color:#f2f4f7"><tr><td align="center" style="padding:16px 8px">',
    '<table role="presentation" class="pw-card" width="600" cellpadding="0" cellspacing="0" border="0" bgcolor="#ffffff" style="width:100%;max-width:600px;background-color:#ffffff;border:1px solid #e4e7ec;border-radius:9px">',
    ...rows.map((row) => `<tr>${row}</tr>`),
    "</table>\n</td></tr></table></body></html>\n",
  ].join("\n");
}

/** The preview text in a list of mails: what the subject does not contain. */
function preheader({ blocks, sections, notes, headline }: Rendering): string {
  const [first] = blocks;
  const shown = first && shownParts(first);
  const rows = sections[0]?.rows.map(([name, value]) => `${name} ${value}`) ?? [];
  const said =
    shown === undefined
      ? [...notes, ...rows]
      : blocks.length > 1
        ? blocks.slice(0, 3).map((block) => ledBy(block, block.what))
        : [shown.description, ...shown.figures.map(([name, value]) => `${name}: ${value}`), ...shown.fresh];
  const text = said.filter((part) => part !== "" && !headline.includes(part)).join(" · ");
  // Without filler, programs continue the preview with text of the page.
  const filler = "&#847;&zwnj;&nbsp;".repeat(40);
  return `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all;font-size:1px;line-height:1px">${forHtml(shorten(text, 140))}${filler}</div>`;
}

function cell(html: string, line = false): string {
  const border = line ? ";border-top:1px solid #e4e7ec" : "";
  return `<td class="pw-pad pw-line" style="padding:14px ${side}${border}">${html}</td>`;
}

/** Size of an alert in a mail of several, characters. */
export function alertSize(block: Block): number {
  return alert(block, false, "", null).length + 120;
}

/** Size of an alert shown as a line, characters. */
export function lineSize(block: Block): number {
  return forHtml(oneLine(block)).length + "<br>".length;
}

const oneLine = (block: Block): string => lineOf(block);

function alert(block: Block, alone: boolean, headline: string, chart: MailChart | null): string {
  const parts: string[] = [];
  const shown = shownParts(block);
  if (!alone) {
    const lead = shownLead(block);
    const badge =
      lead === ""
        ? ""
        : `<span style="display:inline-block;padding:1px 8px;border-radius:4px;background-color:${colours[block.tone]};color:#ffffff;font-size:12px">${forHtml(lead)}</span>`;
    parts.push(
      `<h2 class="pw-ink" style="margin:0;${font};font-size:16px;line-height:1.45;${ink}">${badge} <span class="pw-faint" style="${faint}">#${block.alertId}</span> ${forHtml(block.what)}</h2>`,
    );
  } else if (!headline.includes(block.what)) parts.push(paragraph(block.what));
  if (shown.description !== "") parts.push(paragraph(shown.description));
  if (shown.figures.length > 0) parts.push(figures(shown.figures));
  if (chart !== null)
    parts.push(
      `<img src="${forHtml(chart.url)}" width="${chartWidth}" height="${chartHeight}" alt="${forHtml(chart.words)}" style="display:block;width:100%;max-width:${chartWidth}px;height:auto;border:0;border-radius:6px;margin:10px 0;${font};font-size:12px;${faint}">`,
    );
  if (shown.fresh.length > 0) parts.push(paragraph(shown.fresh.join("\n"), "", "pw-faint", faint));
  if (shown.now.length > 0) parts.push(paragraph(shown.now.join("\n"), "font-weight:bold"));
  if (block.runbook !== null) {
    const url = forHtml(block.runbook);
    parts.push(
      `<p class="pw-ink" style="margin:8px 0;${font};font-size:15px;line-height:1.5;${ink}">What to do: <a class="pw-link" href="${url}" style="color:#175cd3;word-break:break-all">${url}</a></p>`,
    );
  }
  if (alone) parts.push(paragraph(numberLine(block), "", "pw-faint", faint));
  return parts.join("\n");
}

/** A heading and a table of names and values. */
function table({ title, rows }: Section): string {
  return [
    `<h2 class="pw-ink" style="margin:0 0 4px;${font};font-size:16px;line-height:1.45;${ink}">${forHtml(title)}</h2>`,
    figures(rows),
  ].join("\n");
}

function figures(rows: readonly (readonly [string, string])[]): string {
  const lines = rows.map(([name, value]) => {
    const words = `<td class="pw-faint" valign="top" style="padding:3px 16px 3px 0;${font};font-size:14px;line-height:1.4;${faint}`;
    if (value === "") return `<tr>${words}" colspan="2">${forHtml(name)}</td></tr>`;
    return (
      `<tr>${words}">${forHtml(name)}</td>` +
      `<td class="pw-ink" valign="top" style="padding:3px 0;${font};font-size:14px;line-height:1.4;font-weight:bold;${ink}">${forHtml(value)}</td></tr>`
    );
  });
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:6px 0;border-collapse:collapse">${lines.join("\n")}</table>`;
}

function paragraph(text: string, more = "", name = "pw-ink", colour = ink): string {
  return `<p class="${name}" style="margin:8px 0;${font};font-size:15px;line-height:1.5;${colour}${more === "" ? "" : `;${more}`}">${forHtml(text).replaceAll("\n", "<br>")}</p>`;
}
