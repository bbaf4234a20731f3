/**
 * The view of a browser that is not logged in, and logging in and out. This function is sent to the browser as it stands, so
 * nothing outside its braces may be named in it, types aside.
 */
import type { Browser, Reply } from "./browser.ts";

export type Login = ReturnType<typeof createLogin>;

/** @param changed called when the browser was logged in or out, or there is something else to show */
export function createLogin(browser: Browser, changed: () => void) {
  /** Null: nothing says that a login is needed. */
  let locked: { readonly password: boolean; readonly told: string } | null = null;
  let isBusy = false;
  /** A link that was opened while something else was sent. */
  let next: string | null = null;
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
        locked = { password: hasPassword, told: error ?? `The daemon answered ${reply.status}` };
      }
    } catch {
      locked = { password, told: "The daemon cannot be reached. Try again." };
    } finally {
      isBusy = false;
    }
    const link = next;
    next = null;
    if (link !== null) return send("POST", { headers: { "perpwatch-link": link } });
    changed();
  }

  interface Refusal {
    readonly error?: string;
    readonly password?: boolean;
  }

  /** Takes the secret of a one-time link out of the address, so that neither history nor bookmarks keep it, and uses it. */
  function followLink(): Promise<void> | null {
    const [, link] = /^#login=(.+)$/.exec(browser.location.hash) ?? [];
    if (link === undefined) return null;
    browser.history.replaceState(null, "", browser.location.pathname);
    if (isBusy) next = link;
    return send("POST", { headers: { "perpwatch-link": link } });
  }

  /** Takes an answer that refused for want of a login. */
  async function refused(reply: Reply): Promise<void> {
    const { password = false } = (await reply.json()) as Refusal;
    locked = { password, told: locked?.told ?? "" };
  }

  function accepted(): void {
    locked = null;
  }

  function html(): string {
    if (locked === null) return "";
    const told = locked.told.replace(/[&<>"']/g, (letter) => entities[letter]!);
    const form = locked.password
      ? '<form><label for="password">Or log in by password</label><div><input id="password" type="password" autocomplete="current-password" maxlength="1024" required=""/><button>Log in</button></div></form>'
      : "";
    return `<section class="card login"><h2>Log in</h2><p>This page needs a login. Where the daemon runs, type</p><p><code>perpwatch page</code></p><p>and open the link that it prints in this browser. The link works once, within 10 minutes.</p>${form}${told === "" ? "" : `<p class="bad" role="alert">${told}</p>`}</section>`;
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
