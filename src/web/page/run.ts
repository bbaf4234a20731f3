/**
 * The page's script in the browser: asks for the status every 2 s, draws it every second (ages go on growing when the daemon
 * is silent), and changes only what differs, so that selected text, focus and scroll survive. This function is sent to the
 * browser as it stands, so nothing outside its braces may be named in it, types aside.
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
  let asking = false;
  /** Null: not asked yet. */
  let hasSession: boolean | null = null;
  let ticks = 0;
  const login = createLogin(browser, () => {
    hasSession = null;
    show();
    void ask();
  });

  async function ask(): Promise<void> {
    if (asking || document.hidden) return;
    asking = true;
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
      if (hasSession === null) void learnSession();
    } catch (error) {
      failure = reason(error);
    } finally {
      asking = false;
      show();
    }
  }

  /** Asks if there is a session to log out of. */
  async function learnSession(): Promise<void> {
    try {
      const signal = browser.AbortSignal.timeout(5_000);
      const reply = await browser.fetch("/api/v1/session", { signal, cache: "no-store" });
      if (!reply.ok) return;
      hasSession = ((await reply.json()) as { readonly by?: string }).by === "session";
      show();
    } catch {
      // Asked again with the next status.
    }
  }

  function reason(error: unknown): string {
    if (!(error instanceof Error)) return "It cannot be reached";
    if (error.name === "TimeoutError") return "It did not answer within 5 seconds";
    return error.name === "TypeError" ? "It cannot be reached" : error.message;
  }

  function show(): void {
    if (document.hidden) return;
    document.body.classList.toggle("locked", login.isLocked());
    document.body.classList.toggle("session", !login.isLocked() && hasSession === true);
    if (login.isLocked()) {
      lock();
      return;
    }
    place("login", "");
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

  /** Leaves nothing of the daemon in the document. */
  function lock(): void {
    document.body.classList.toggle("gone", false);
    document.body.classList.toggle("loading", true);
    document.title = "perpwatch · log in";
    for (const id of drawn.keys()) if (id !== "login") place(id, "");
    place("login", login.html());
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
  browser.setInterval(() => {
    // Another tab may have logged in.
    if (!login.isLocked() || ++ticks % 5 === 0) void ask();
  }, 2_000);
  browser.setInterval(show, 1_000);
  if (login.followLink() === null) void ask();
}
