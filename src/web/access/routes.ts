/** Routes for login and logout, and for the owner only: links, tokens, the end of all sessions. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { tokenNameForm, tokenNameRule } from "../../domain/access.ts";
import { CommitFailed } from "../../domain/ports.ts";
import { parse } from "../parse.ts";
import { Refused } from "../refused.ts";
import { isSecure, type ListenSettings } from "../settings.ts";
import { type Access, maxTokens } from "./access.ts";
import { addressGroup, clientAddress } from "./client-address.ts";
import { cookieName, cookiesOf, sessionCookie } from "./cookie.ts";
import { linkOf } from "./credential.ts";
import type { LoginThrottle } from "./login-throttle.ts";
import { maxPasswordLength } from "./password.ts";
import type { PasswordChecker } from "./password-checker.ts";

const login = z.strictObject({ password: z.string().max(maxPasswordLength) });
/** The body that a page of an earlier version sends, if it stayed open during an update. */
const earlierLinkBody = z.strictObject({ link: z.string() });
const open = { config: { access: "open" } } as const;

export interface SessionOptions {
  readonly settings: () => ListenSettings;
  readonly access: Access;
  readonly throttle: LoginThrottle;
  readonly passwords: PasswordChecker;
}

/** `/api/v1/session`, on the listener. */
export function serveSession(app: FastifyInstance, options: SessionOptions): void {
  const { settings, access, throttle, passwords } = options;

  app.get("/api/v1/session", async ({ caller }) => ({ by: caller.by, rights: caller.rights }));

  app.post("/api/v1/session", open, async (request, reply) => {
    const now = settings();
    const link = linkOf(request.raw);
    const displayAddress = clientAddress(request.raw, now.behindProxy);
    const address = addressGroup(displayAddress);
    if (link !== null) {
      if (!access.takeLink(link)) {
        throttle.failed(address, displayAddress, "link");
        throw new Refused(
          401,
          "this link was used already, or is older than 10 minutes; perpwatch page makes a new one",
          { password: now.passwordHash !== null },
        );
      }
    } else {
      if (earlierLinkBody.safeParse(request.body).success)
        throw new Refused(
          400,
          "this page is of an earlier version: reload it, then open the link again; it was not used up",
          { password: now.passwordHash !== null },
        );
      const given = parse(login, request.body, "body");
      if (now.passwordHash === null)
        throw new Refused(409, "no password is configured; perpwatch page makes a link to log in");
      const answer = await passwords.check(given.password, now.passwordHash, address, displayAddress);
      if (answer.kind === "wait") {
        const seconds = Math.ceil(answer.ms / 1_000);
        reply.header("retry-after", seconds);
        throw new Refused(
          429,
          `too many logins failed; try again in ${seconds} s, or log in by a link of perpwatch page`,
        );
      }
      if (answer.kind === "wrong") throw new Refused(401, "this password is wrong", { password: true });
    }
    throttle.markKnown(address);
    const { secret, expiresMs } = await access.newSession(link !== null ? "link" : "password");
    reply.header("set-cookie", sessionCookie(cookieName(request.raw), secret, isSecure(now)));
    return { expiresMs };
  });

  app.delete("/api/v1/session", open, async (request, reply) => {
    const name = cookieName(request.raw);
    reply.header("set-cookie", sessionCookie(name, null, isSecure(settings())));
    for (const secret of cookiesOf(request.headers.cookie, name))
      await orUnavailable(
        access.endSession(secret),
        "you are logged out, but the session would be valid again after a restart",
        "perpwatch page logout removes it",
      );
    return { result: "ended" };
  });
}

const tokenName = z.string().regex(tokenNameForm, tokenNameRule);
const tokenWish = z.strictObject({
  name: tokenName,
  rights: z.enum(["read", "act"]).default("read"),
  forMs: z
    .number()
    .min(1_000)
    .max(3_650 * 86_400_000)
    .optional(),
});

export interface OwnersOptions {
  readonly access: Access;
  /**
   * Creates a one-time link, or returns the page's URL if it needs no login (it does not expire); null: there is no
   * page.
   */
  readonly link: () => { readonly url: string; readonly expiresMs: number | null } | null;
}

/** `/api/v1/access`, on its owner's socket. */
export function serveAccess(app: FastifyInstance, { access, link }: OwnersOptions): void {
  app.post("/api/v1/access/links", async () => {
    const made = link();
    if (made === null)
      throw new Refused(
        409,
        "there is no page: dashboard.listen is off, or the daemon's log says what is wrong with it",
      );
    return made;
  });

  app.post("/api/v1/access/sessions/end", async () => ({
    ended: await orUnavailable(
      access.endSessions(),
      "all sessions have ended, but would be valid again after a restart",
    ),
  }));

  app.get("/api/v1/access/tokens", async () => ({ tokens: access.tokens() }));

  app.post("/api/v1/access/tokens", async (request) => {
    const { name, rights, forMs } = parse(tokenWish, request.body, "body");
    const made = await orUnavailable(
      access.newToken(name, rights ?? "read", forMs ?? null),
      "the token was not made",
    );
    if (made === null)
      throw new Refused(
        409,
        access.tokens().some((one) => one.name === name)
          ? `there is a token ${name} already: give this one another name, or revoke that one first (perpwatch token revoke ${name})`
          : `there are ${maxTokens} tokens already: revoke one first (perpwatch token list)`,
      );
    return { token: made.secret, name, rights: rights ?? "read", expiresMs: made.expiresMs };
  });

  app.post<{ Params: { name: string } }>("/api/v1/access/tokens/:name/revoke", async (request) => {
    const { name } = parse(z.strictObject({ name: tokenName }), request.params, "path");
    const revoking = orUnavailable(
      access.revokeToken(name),
      "the token is valid no more, but would be again after a restart",
    );
    if (!(await revoking)) throw new Refused(404, `no token is called ${name}`);
    return { result: "revoked" };
  });
}

/** @throws {Refused} if the database cannot be written now */
function orUnavailable<T>(writing: Promise<T>, what: string, next = "run this again"): Promise<T> {
  return writing.catch((error: unknown) => {
    if (!(error instanceof CommitFailed)) throw error;
    throw new Refused(503, `${what}: ${error.message}; ${next} when that is fixed`);
  });
}
