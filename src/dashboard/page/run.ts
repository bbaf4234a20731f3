/**
 * The page's script in the browser: asks for the status every 2 s, draws it every second (ages go on growing when the daemon
 * is silent), and changes only what differs, so that selected text, focus and scroll survive. This function is sent to the
 * browser as it stands, so nothing outside its braces may be named in it, types aside.
 */
import type { Answer, Connection } from "./parts.ts";

/** As much of a node as is used here. */
interface PageNode {
  readonly nodeType: number;
  nodeValue: string | null;
  readonly childNodes: ArrayLike<PageNode>;
  readonly parentNode: PageNode | null;
  appendChild(node: PageNode): void;
  insertBefore(node: PageNode, before: PageNode | null): void;
  removeChild(node: PageNode): void;
}

interface PageElement extends PageNode {
  readonly tagName: string;
  readonly attributes: ArrayLike<{ readonly name: string; readonly value: string }>;
  readonly content?: PageElement | undefined;
  readonly classList: { toggle(name: string, on: boolean): void };
  innerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
}

/** As much of the browser as is used here: its window. */
export interface Browser {
  readonly document: {
    readonly hidden: boolean;
    readonly body: PageElement;
    title: string;
    getElementById(id: string): PageElement | null;
    createElement(name: string): PageElement;
    addEventListener(name: string, listener: () => void): void;
  };
  readonly performance: { now(): number };
  readonly AbortSignal: { timeout(ms: number): unknown };
  fetch(
    url: string,
    how: { readonly signal: unknown; readonly cache: string },
  ): Promise<{ readonly ok: boolean; readonly status: number; json(): Promise<unknown> }>;
  setInterval(run: () => void, ms: number): unknown;
}

type Draw = (
  status: Answer,
  connection: Connection,
) => {
  readonly places: Record<string, { readonly html: string }>;
  readonly title: string;
  readonly gone: boolean;
};

export function runPage(browser: Browser, draw: Draw): void {
  const { document } = browser;
  const drawn = new Map<string, string>();
  let answer: { readonly status: Answer; readonly atMs: number } | null = null;
  let failure: string | null = null;
  let asking = false;

  async function ask(): Promise<void> {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const signal = browser.AbortSignal.timeout(5_000);
      const reply = await browser.fetch("/api/v1/status", { signal, cache: "no-store" });
      if (!reply.ok) throw new Error(`It answered ${reply.status}`);
      const status = (await reply.json()) as Answer;
      answer = { status, atMs: browser.performance.now() };
      failure = null;
    } catch (error) {
      failure = reason(error);
    } finally {
      asking = false;
    }
    show();
  }

  function reason(error: unknown): string {
    if (!(error instanceof Error)) return "It cannot be reached";
    if (error.name === "TimeoutError") return "It did not answer within 5 seconds";
    return error.name === "TypeError" ? "It cannot be reached" : error.message;
  }

  function show(): void {
    if (document.hidden) return;
    if (answer === null) {
      document.body.classList.toggle("gone", failure !== null);
      if (failure !== null) place("banner", waiting(failure));
      return;
    }
    const silentMs = browser.performance.now() - answer.atMs;
    // A tab that was asleep has an old answer and no failure: old is what it is.
    const connection = {
      nowMs: Number(answer.status.nowMs) + silentMs,
      silentMs,
      failure: failure ?? (silentMs > 10_000 ? "It was not asked for a while" : null),
    };
    const { places, title, gone } = draw(answer.status, connection);
    document.body.classList.toggle("gone", gone);
    document.body.classList.toggle("loading", false);
    if (document.title !== title) document.title = title;
    for (const [id, { html }] of Object.entries(places)) place(id, html);
  }

  function waiting(why: string): string {
    // Only texts of ours come here, none of them with markup.
    return `<div class="banner critical" role="alert"><strong>No answer from the daemon</strong><span>${why}. Trying again every 2 seconds.</span></div>`;
  }

  function place(id: string, html: string): void {
    const there = document.getElementById(id);
    if (!there || drawn.get(id) === html) return;
    drawn.set(id, html);
    const template = document.createElement("template");
    template.innerHTML = html;
    if (template.content) patchChildren(there, template.content);
  }

  const isElement = (node: PageNode): node is PageElement => node.nodeType === 1;
  const keyOf = (node: PageNode) => (isElement(node) ? node.getAttribute("data-key") : null);
  const sameKind = (a: PageNode, b: PageNode) =>
    a.nodeType === b.nodeType &&
    keyOf(a) === keyOf(b) &&
    (!isElement(a) || !isElement(b) || a.tagName === b.tagName);

  /** Makes the children of `there` like those of `wanted`, moving what has a key and keeping what fits. */
  function patchChildren(there: PageNode, wanted: PageNode): void {
    const keyed = new Map<string, PageNode>();
    for (const child of Array.from(there.childNodes)) {
      const key = keyOf(child);
      if (key !== null) keyed.set(key, child);
    }
    const news = Array.from(wanted.childNodes);
    news.forEach((fresh, at) => {
      const here = there.childNodes[at] ?? null;
      const key = keyOf(fresh);
      const mate = key === null ? here : (keyed.get(key) ?? null);
      if (mate && sameKind(mate, fresh)) {
        if (mate !== here) there.insertBefore(mate, here);
        patch(mate, fresh);
      } else there.insertBefore(fresh, here);
    });
    while (there.childNodes.length > news.length) there.removeChild(there.childNodes[news.length]!);
  }

  function patch(there: PageNode, wanted: PageNode): void {
    if (!isElement(there) || !isElement(wanted)) {
      if (there.nodeValue !== wanted.nodeValue) there.nodeValue = wanted.nodeValue;
      return;
    }
    for (const { name, value } of Array.from(wanted.attributes))
      if (there.getAttribute(name) !== value) there.setAttribute(name, value);
    for (const { name } of Array.from(there.attributes))
      if (wanted.getAttribute(name) === null) there.removeAttribute(name);
    patchChildren(there, wanted);
  }

  document.addEventListener("visibilitychange", () => void ask());
  browser.setInterval(() => void ask(), 2_000);
  browser.setInterval(show, 1_000);
  void ask();
}
