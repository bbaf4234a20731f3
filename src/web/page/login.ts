/**
 * The login view, and logging in and out. The function is sent to the browser as source text, so its body may not refer
 * to anything outside of it, except types.
 */
import type { Browser, Reply } from "./browser.ts";

export type Login = ReturnType<typeof createLogin>;

/** @param changed called after a login or logout, or when the view has changed */
export function createLogin(browser: Browser, changed: () => void) {
  /** Null: no login is needed as far as known. */
  let locked: { readonly password: boolean; readonly message: string } | null = null;
  let isBusy = false;
  /** A link that was opened while a request was running. */
  let pendingLink: string | null = null;
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };

  interface Sending {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }

  async function send(method: string, how: Sending = {}): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    const password = locked?.password ?? false;
    try {
      const reply = await browser.fetch("/api/v1/session", {
        method,
        signal: browser.AbortSignal.timeout(15_000),
        cache: "no-store",
        ...how,
      });
      if (reply.ok) locked = null;
      else {
        const { error, password: hasPassword = password } = (await reply.json()) as Refusal;
        locked = { password: hasPassword, message: error ?? `The daemon answered ${reply.status}` };
      }
    } catch {
      locked = { password, message: "The daemon cannot be reached. Try again." };
    } finally {
      isBusy = false;
    }
    const link = pendingLink;
    pendingLink = null;
    if (link !== null) return send("POST", { headers: { "perpwatch-link": link } });
    changed();
  }

  interface Refusal {
    readonly error?: string;
    readonly password?: boolean;
  }

  /**
   * Uses the one-time link in the address, and removes its secret from the address, so that neither history nor
   * bookmarks keep it.
   */
  function followLink(): Promise<void> | null {
    const [, link] = /^#login=(.+)$/.exec(browser.location.hash) ?? [];
    if (link === undefined) return null;
    browser.history.replaceState(null, "", browser.location.pathname);
    if (isBusy) pendingLink = link;
    return send("POST", { headers: { "perpwatch-link": link } });
  }

  /** Handles an answer that requires a login. */
  async function refused(reply: Reply): Promise<void> {
    const { password = false } = (await reply.json()) as Refusal;
    locked = { password, message: locked?.message ?? "" };
  }

  function accepted(): void {
    locked = null;
  }

  function html(): string {
    if (locked === null) return "";
    const message = locked.message.replace(/[&<>"']/g, (letter) => entities[letter]!);
    const form = locked.password
      ? '<form><label for="password">Or log in by password</label><div><input id="password" type="password" autocomplete="current-password" maxlength="1024" required=""/><button>Log in</button></div></form>'
      : "";
    return `<section class="card login"><h2>Log in</h2><p>This page needs a login. Where the daemon runs, type</p><p><code>perpwatch page</code></p><p>and open the link that it prints in this browser. The link works once, within 10 minutes.</p>${form}${message === "" ? "" : `<p class="bad" role="alert">${message}</p>`}</section>`;
  }

  browser.document.addEventListener("submit", (event) => {
    event.preventDefault();
    const password = browser.document.getElementById("password")?.value ?? "";
    if (password !== "")
      void send("POST", {
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ password }),
      });
  });
  browser.document.addEventListener("click", (event) => {
    if (event.target?.id === "logout") void send("DELETE");
  });
  browser.addEventListener("hashchange", () => void followLink());

  return { followLink, refused, accepted, html, isLocked: () => locked !== null };
}
