/**
 * The page's main script: requests the status every 2 s, redraws every second (ages grow even if the daemon is silent),
 * and patches only differences, so that selection, focus and scroll position are kept. The function is sent to the
 * browser as source text, so its body may not refer to anything outside of it, except types.
 */
import type { Browser, PageElement, PageNode } from "./browser.ts";
import type { Login } from "./login.ts";
import type { Answer, Connection } from "./parts.ts";

type Draw = (
  status: Answer,
  connection: Connection,
) => {
  readonly places: Record<string, { readonly html: string }>;
  readonly title: string;
  readonly gone: boolean;
};

type LoginOf = (browser: Browser, changed: () => void) => Login;

export function runPage(browser: Browser, draw: Draw, createLogin: LoginOf): void {
  const { document } = browser;
  const drawn = new Map<string, string>();
  let answer: { readonly status: Answer; readonly atMs: number } | null = null;
  let failure: string | null = null;
  let requesting = false;
  /** Null: not known yet. */
  let hasSession: boolean | null = null;
  let ticks = 0;
  const login = createLogin(browser, () => {
    hasSession = null;
    redraw();
    void requestStatus();
  });

  async function requestStatus(): Promise<void> {
    if (requesting || document.hidden) return;
    requesting = true;
    try {
      const signal = browser.AbortSignal.timeout(5_000);
      const reply = await browser.fetch("/api/v1/status", { signal, cache: "no-store" });
      if (reply.status === 401) {
        await login.refused(reply);
        answer = null;
        return;
      }
      if (!reply.ok) throw new Error(`It answered ${reply.status}`);
      const status = (await reply.json()) as Answer;
      answer = { status, atMs: browser.performance.now() };
      failure = null;
      login.accepted();
      if (hasSession === null) void requestSession();
    } catch (error) {
      failure = failureText(error);
    } finally {
      requesting = false;
      redraw();
    }
  }

  /** Finds out if there is a session to log out of. */
  async function requestSession(): Promise<void> {
    try {
      const signal = browser.AbortSignal.timeout(5_000);
      const reply = await browser.fetch("/api/v1/session", { signal, cache: "no-store" });
      if (!reply.ok) return;
      hasSession = ((await reply.json()) as { readonly by?: string }).by === "session";
      redraw();
    } catch {
      // Asked again with the next status.
    }
  }

  function failureText(error: unknown): string {
    if (!(error instanceof Error)) return "It cannot be reached";
    if (error.name === "TimeoutError") return "It did not answer within 5 seconds";
    return error.name === "TypeError" ? "It cannot be reached" : error.message;
  }

  function redraw(): void {
    if (document.hidden) return;
    document.body.classList.toggle("locked", login.isLocked());
    document.body.classList.toggle("session", !login.isLocked() && hasSession === true);
    if (login.isLocked()) {
      lock();
      return;
    }
    setContent("login", "");
    if (answer === null) {
      document.body.classList.toggle("gone", failure !== null);
      if (failure !== null) setContent("banner", waiting(failure));
      return;
    }
    const silentMs = browser.performance.now() - answer.atMs;
    // A tab that was suspended has an old answer and no failure.
    const connection = {
      nowMs: Number(answer.status.nowMs) + silentMs,
      silentMs,
      failure: failure ?? (silentMs > 10_000 ? "It was not asked for a while" : null),
    };
    const { places, title, gone } = draw(answer.status, connection);
    document.body.classList.toggle("gone", gone);
    document.body.classList.toggle("loading", false);
    if (document.title !== title) document.title = title;
    for (const [id, { html }] of Object.entries(places)) setContent(id, html);
  }

  /** Removes all data of the daemon from the document. */
  function lock(): void {
    document.body.classList.toggle("gone", false);
    document.body.classList.toggle("loading", true);
    document.title = "perpwatch · log in";
    for (const id of drawn.keys()) if (id !== "login") setContent(id, "");
    setContent("login", login.html());
  }

  function waiting(why: string): string {
    // Only our own texts are passed here; they contain no markup.
    return `<div class="banner critical" role="alert"><strong>No answer from the daemon</strong><span>${why}. Trying again every 2 seconds.</span></div>`;
  }

  function setContent(id: string, html: string): void {
    const target = document.getElementById(id);
    if (!target || drawn.get(id) === html) return;
    drawn.set(id, html);
    const template = document.createElement("template");
    template.innerHTML = html;
    if (template.content) patchChildren(target, template.content);
  }

  const isElement = (node: PageNode): node is PageElement => node.nodeType === 1;
  const keyOf = (node: PageNode) => (isElement(node) ? node.getAttribute("data-key") : null);
  const sameKind = (a: PageNode, b: PageNode) =>
    a.nodeType === b.nodeType &&
    keyOf(a) === keyOf(b) &&
    (!isElement(a) || !isElement(b) || a.tagName === b.tagName);

  /** Makes the children of `there` equal to those of `wanted`: keyed nodes are moved, matching nodes are kept. */
  function patchChildren(target: PageNode, source: PageNode): void {
    const keyed = new Map<string, PageNode>();
    for (const child of Array.from(target.childNodes)) {
      const key = keyOf(child);
      if (key !== null) keyed.set(key, child);
    }
    const news = Array.from(source.childNodes);
    news.forEach((fresh, at) => {
      const here = target.childNodes[at] ?? null;
      const key = keyOf(fresh);
      const match = key === null ? here : (keyed.get(key) ?? null);
      if (match && sameKind(match, fresh)) {
        if (match !== here) target.insertBefore(match, here);
        patch(match, fresh);
      } else target.insertBefore(fresh, here);
    });
    while (target.childNodes.length > news.length) target.removeChild(target.childNodes[news.length]!);
  }

  function patch(target: PageNode, source: PageNode): void {
    if (!isElement(target) || !isElement(source)) {
      if (target.nodeValue !== source.nodeValue) target.nodeValue = source.nodeValue;
      return;
    }
    for (const { name, value } of Array.from(source.attributes))
      if (target.getAttribute(name) !== value) target.setAttribute(name, value);
    for (const { name } of Array.from(target.attributes))
      if (source.getAttribute(name) === null) target.removeAttribute(name);
    patchChildren(target, source);
  }

  document.addEventListener("visibilitychange", () => void requestStatus());
  browser.setInterval(() => {
    // Another tab may have logged in.
    if (!login.isLocked() || ++ticks % 5 === 0) void requestStatus();
  }, 2_000);
  browser.setInterval(redraw, 1_000);
  if (login.followLink() === null) void requestStatus();
}
