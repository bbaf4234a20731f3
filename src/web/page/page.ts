/**
 * The page as one document without external resources. Its policy names the two inline texts by their hashes, so no
 * other script or style runs, whatever a symbol, a label or an error message contains.
 */
import type { FastifyInstance } from "fastify";
import { createEscaper } from "../../domain/text/escape.ts";
import { createDaemonView } from "./daemon-view.ts";
import { formatters } from "./format.ts";
import { createLogin } from "./login.ts";
import { createParts } from "./parts.ts";
import { runPage } from "./run.ts";
import { style } from "./style.ts";
import { createView } from "./view.ts";
import { createWalletsView } from "./wallets.ts";

export interface Page {
  readonly html: string;
  readonly policy: string;
}

/**
 * The page's script. The functions are included as their source text (with the types stripped): each is self-contained
 * and receives what it needs. A test runs this text without anything else.
 */
export const script = `"use strict";
(() => {
  const format = (${formatters})((${createEscaper})());
  const parts = (${createParts})(format);
  const wallets = (${createWalletsView})(format, parts);
  const daemonView = (${createDaemonView})(format, parts);
  (${runPage})(globalThis, (${createView})(format, parts, wallets, daemonView), ${createLogin});
})();`;

/** A price line that falls towards a limit. */
const icon =
  '<svg xmlns="SVG" viewBox="0 0 18 18"><rect width="18" height="18" rx="4" fill="#1b2230"/><path d="M3 5l3.5 2.5L9 6l3 5 3 .5" fill="none" stroke="#fff" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"/><path d="M3 14.5h12" stroke="#f2737f" stroke-width="1.5" stroke-dasharray="2 2"/></svg>'.replace(
    "SVG",
    // The SVG namespace; nothing is fetched from there.
    "http://www.w3.org/2000/svg",
  );

const markup = (css: string, js: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>perpwatch</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>${css}</style>
</head>
<body class="loading">
<header>
<svg class="mark" viewBox="0 0 18 18" aria-hidden="true"><path d="M2 4l4 3 2.5-2L12 10l4 .5"/><path class="line" d="M2 15h14"/></svg>
<h1>perpwatch</h1>
<div id="state"></div>
<button id="logout" type="button">Log out</button>
</header>
<main>
<div id="login"></div>
<div id="banner"></div>
<p class="first">Asking the daemon…</p>
<div id="summary"></div>
<section id="alerts" aria-live="polite"></section>
<section id="wallets"></section>
<div class="columns">
<div><section id="channels"></section><section id="daemon"></section></div>
<section id="schedules"></section>
</div>
</main>
<footer id="version"></footer>
<noscript><p class="first">This page draws itself with a script of its own. Without one, read /api/v1/status with a token (perpwatch token new NAME).</p></noscript>
<script>${js}</script>
</body>
</html>
`;

export async function buildPage(): Promise<Page> {
  const policy = [
    "default-src 'none'",
    `script-src '${await digest(script)}'`,
    `style-src '${await digest(style)}'`,
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html: markup(style, script), policy };
}

/** The document contains no data; the script requests it. */
const open = { config: { access: "open" } } as const;

export function servePage(app: FastifyInstance, page: Page): void {
  app.get("/", open, async (_request, reply) => {
    reply.header("content-security-policy", page.policy).type("text/html; charset=utf-8");
    return page.html;
  });
  app.get("/icon.svg", open, async (_request, reply) => {
    reply.header("cache-control", "max-age=86400").type("image/svg+xml");
    return icon;
  });
}

async function digest(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${Buffer.from(hash).toString("base64")}`;
}
