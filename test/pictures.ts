/**
 * `npm run pictures`: what messages look like, as pictures for README: mails as they are, and a plain rendering of a Discord
 * message, which says so. Drawn by Debian's chromium (`apt install chromium`, or CHROMIUM=path); nothing else needs that.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chartText } from "../src/channels/chart/chart-text.ts";
import { pngOf } from "../src/channels/chart/png.ts";
import { chartSvg, lightChart } from "../src/channels/chart/svg.ts";
import { discordBody } from "../src/channels/discord/render.ts";
import { mailParts } from "../src/channels/email/render.ts";
import { forHtml } from "../src/channels/message/text.ts";
import { render } from "../src/channels/message.ts";
import { digestContent } from "../src/deliver/digest/content.ts";
import type { DigestFigures } from "../src/deliver/digest/gather.ts";
import type { ChartSeries } from "../src/domain/alerts/chart.ts";
import { atMs, change, message } from "./channels/messages.ts";

const chromium = process.env.CHROMIUM ?? "chromium";
const folder = path.join(import.meta.dirname, "..", "docs", "pictures");
const day = 86_400_000;
const toMs = Date.UTC(2026, 10, 21, 8);

const alert = render(message([change()], { id: "7Qm2xK9fQ2pLw7RtZ8vB" }));
const figures: DigestFigures = {
  ...{ fromMs: toMs - day, toMs },
  wallets: [
    {
      ...{
        name: "main",
        stranger: false,
        equity: 48_213.4,
        equityChange: 612.75,
        pnl: 5_120.4,
        pnlChange: 612.75,
        pnlToday: 181.2,
      },
      ...{ fundingReceived: 41.3, fundingPaid: -12.85, fees: 9.42, fills: 17, volume: 31_400 },
    },
    {
      ...{
        name: "hedge",
        stranger: false,
        equity: 20_104.1,
        equityChange: -88.2,
        pnl: 5_120.4,
        pnlChange: -88.2,
        pnlToday: 12.05,
      },
      ...{ fundingReceived: 0, fundingPaid: -6.1, fees: 2.1, fills: 3, volume: 7_000 },
    },
  ],
  drills: 0,
  alerts: {
    critical: { fired: 1, ended: 0, firing: 1 },
    warning: { fired: 4, ended: 4, firing: 0 },
    info: { fired: 17, ended: 0, firing: 0 },
  },
  channels: [
    { name: "chat", delivered: 23, dead: 0, waiting: 0 },
    { name: "mail", delivered: 6, dead: 0, waiting: 0 },
  ],
  positions: [
    { name: "main/0.0/SOL", distance: 0.042 },
    { name: "main/0.0/BTC", distance: 0.31 },
  ],
  blind: [],
  unacked: [{ wallet: "main", count: 2 }],
  ...{ unwatched: [], beganMs: null, cut: false },
};
const digest = render(
  message([], {
    id: "4Nd8xK9fQ2pLw7RtZ8vB",
    ...{ sealedAtMs: toMs },
    content: digestContent(figures, { sender: "perpwatch on nuc", timezone: "UTC", missedMs: null }),
  }),
);

/** Discord's message as plain HTML: the same texts in the same places, nothing of its looks. */
function embedPage(): string {
  const { content, embeds } = discordBody(alert, null);
  const words = (text: string) =>
    forHtml(text.replaceAll("\u200b", "").replaceAll(/\\(?=[\\*_~`|[\]<#>+-])/g, ""))
      .replaceAll(/\*\*(.+?)\*\*/g, "<b>$1</b>")
      .replaceAll("\n", "<br>");
  const [embed] = embeds;
  const fields = (embed?.fields ?? []).map(
    ({ name, value, inline }) =>
      `<div style="flex:${inline ? "1 0 28%" : "1 0 100%"};margin:6px 12px 0 0"><b>${words(name)}</b><br>${words(value)}</div>`,
  );
  const colour = `#${(embed?.color ?? 0).toString(16).padStart(6, "0")}`;
  return [
    '<!doctype html><meta charset="utf-8"><body style="margin:0;padding:16px;background:#313338;color:#dbdee1;font:15px/1.4 sans-serif">',
    '<p style="margin:0 0 10px;font-size:12px;color:#949ba4">A plain rendering of the Discord message; Discord draws it in its own way.</p>',
    // The glyph as a dot: a machine without a font of emoji has no other.
    `<p style="margin:0 0 8px">${words(content).replace(/^\p{Extended_Pictographic}/u, `<span style="display:inline-block;width:11px;height:11px;border-radius:6px;background:${colour}"></span>`)}</p>`,
    `<div style="background:#2b2d31;border-left:4px solid ${colour};border-radius:4px;padding:12px 14px;max-width:520px">`,
    `<div>${words(embed?.description ?? "")}</div><div style="display:flex;flex-wrap:wrap">${fields.join("")}</div>`,
    `<div style="margin-top:10px;font-size:12px;color:#949ba4">${forHtml(embed?.footer?.text ?? "")}</div></div></body>`,
  ].join("\n");
}

function draw(name: string, html: string, width: number, dark = false): void {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-pictures-"));
  try {
    const page = path.join(scratch, "page.html");
    const run = (...options: string[]): string =>
      execFileSync(
        chromium,
        [
          ...["--headless", "--disable-gpu", "--hide-scrollbars", `--user-data-dir=${scratch}/profile`],
          // Root has no sandbox; the page is our own and asks nothing of anywhere.
          ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
          ...(dark ? ["--blink-settings=preferredColorScheme=0"] : []),
          ...options,
          pathToFileURL(page).href,
        ],
        { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 60_000 },
      );
    fs.writeFileSync(page, `${html}<script>document.title = document.body.scrollHeight</script>`);
    const height = Number(/<title>(\d+)<\/title>/.exec(run(`--window-size=${width},100`, "--dump-dom"))?.[1]);
    if (!(height > 0)) throw new Error(`${name}: chromium did not say how high the page is`);
    fs.writeFileSync(page, html);
    run(`--window-size=${width},${height}`, `--screenshot=${path.join(folder, name)}`);
    process.stdout.write(`docs/pictures/${name}: ${width} × ${height}\n`);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Six hours of a distance to liquidation that shrinks to what the alert says. */
const series: ChartSeries = {
  ...{ title: "main/0.0/SOL: position.liquidationDistance", unit: "ratio" },
  points: Array.from({ length: 200 }, (_, at) => {
    const wave = 0.008 * Math.sin(at / 7) + 0.005 * Math.sin(at / 2.3);
    const fall = 0.11 * (1 - at / 199) ** 0.8;
    return [atMs - (199 - at) * 108_000, 0.042 + fall + wave * (1 - at / 199)] as const;
  }),
  thresholds: [
    { severity: "warning", value: 0.1 },
    { severity: "critical", value: 0.05 },
  ],
};

/** The mail with its chart, whose part of the mail stands in the page itself here. */
async function alertMail(): Promise<string> {
  const png = await pngOf(chartSvg(series, "UTC", lightChart) ?? "", 2);
  const url = "cid:chart";
  const { html } = mailParts(alert, { alertId: 42, url, words: chartText(series) });
  return html.replace(url, `data:image/png;base64,${png.toString("base64")}`);
}

/** The message with its chart below, as Discord puts attachments. */
async function chartBelow(page: string): Promise<string> {
  const png = await pngOf(chartSvg(series, "UTC") ?? "");
  const image = `<img src="data:image/png;base64,${png.toString("base64")}" width="544" style="display:block;margin-top:8px;border-radius:8px">`;
  return page.replace("</body>", `${image}</body>`);
}

fs.mkdirSync(folder, { recursive: true });
const mail = await alertMail();
draw("email.png", mail, 660);
draw("email-dark.png", mail, 660, true);
draw("digest.png", mailParts(digest).html, 660);
draw("discord.png", await chartBelow(embedPage()), 580);
