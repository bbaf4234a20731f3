/** Requests to the daemon at both doors: headers, addresses and bodies; and what a daemon answers to a command. */
import type { InjectOptions } from "fastify";
import { decode } from "../../../src/domain/text/json.ts";
import { Access } from "../../../src/web/access/access.ts";
import { addressGroup, clientAddress } from "../../../src/web/access/client-address.ts";
import { cookiesOf } from "../../../src/web/access/cookie.ts";
import { LoginThrottle } from "../../../src/web/access/login-throttle.ts";
import { PasswordChecker } from "../../../src/web/access/password-checker.ts";
import { serveAccess, serveSession } from "../../../src/web/access/routes.ts";
import { serveApi } from "../../../src/web/api.ts";
import { createAuthorizer, hostName } from "../../../src/web/authorizer.ts";
import { runAtOnce } from "../../../src/web/limits/query-runner.ts";
import { createServer } from "../../../src/web/server.ts";
import { toWire } from "../../../src/web/wire.ts";
import { clock, listenWith, memoryStore } from "../../web/open.ts";
import { source } from "../../web/world.ts";
import { isSyntax, json, type Parsers, words } from "./kinds.ts";

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const store = memoryStore();
const access = new Access({ store, clock, log });
const throttle = new LoginThrottle(clock, log);
const answers = source();
const { secret: token } = (await access.newToken("attacker", "act", null))!;
const settings = () => listenWith();

const tcp = createServer({ log, authorize: createAuthorizer({ settings, access, throttle }), limits: null });
serveApi(tcp, { source: answers, clock, runQuery: runAtOnce, cached: true });
serveSession(tcp, { settings, access, throttle, passwords: new PasswordChecker(throttle) });
const socket = createServer({ log, authorize: null, limits: null });
serveApi(socket, { source: answers, clock, runQuery: runAtOnce, cached: false });
serveAccess(socket, { access, link: () => null });

/** @returns false where it was refused; a failure of ours is an error */
async function asked(app: typeof tcp, request: InjectOptions): Promise<boolean> {
  answers.asked.length = 0;
  if (store.entries.size > 50) store.entries.clear();
  const { statusCode, body } = await app.inject(request);
  if (statusCode >= 500 && statusCode !== 503) throw new TypeError(`answered ${statusCode}: ${body}`);
  return statusCode < 400;
}

const posts = [
  "/api/v1/alerts/57/ack",
  "/api/v1/silences",
  "/api/v1/silences/1/expire",
  "/api/v1/notifications/ack",
  "/api/v1/notifications/audit",
  "/api/v1/drill",
  "/api/v1/channels/chat/test",
  "/api/v1/digest",
  "/api/v1/access/tokens",
  "/api/v1/session",
];
let turn = 0;
const headers = ["host", "cookie", "authorization", "origin", "sec-fetch-site", "x-forwarded-for"] as const;
/** Bytes that Node's own parser would have refused before they come here. */
const inHeader = (text: string) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, "").slice(0, 16_000);

export const parsers: Parsers = {
  "bodies of requests": {
    input: json([
      { by: "anna", comment: "seen" },
      { matchers: ["wallet=main"], author: "anna", endsMs: 1_900_000_000_000, upTo: "warning" },
      { wallet: "main", keys: ["a", "b"] },
      { wallet: "main", upToMs: 5 },
      { channels: ["chat"], by: "anna" },
      { receivers: ["chat"] },
      { name: "grafana", rights: "read", forMs: 86_400_000 },
      { password: "correct horse battery" },
    ]),
    run: (input: string) =>
      asked(turn % posts.length === posts.length - 1 ? tcp : socket, {
        method: "POST",
        url: posts[turn++ % posts.length]!,
        headers: { "content-type": "application/json", host: "localhost" },
        payload: input,
      }),
  },
  "addresses of requests": {
    input: words(
      [
        "/api/v1/alerts?state=firing&limit=5&shadow",
        "/api/v1/what-if?wallet=main&price=SOL=-10%25&close=BTC&deposit=5",
        "/api/v1/notifications?wallet=main&unacked=true&limit=10",
        "/api/v1/rules/LiquidationNear/explanation?subject=a/b",
        "/api/v1/alerts/57",
        "/metrics",
      ],
      16_000,
    ),
    run: (input: string) => {
      const url = `/${inHeader(input.slice(1)).replace(/\s/g, "%20")}`;
      // The stand-in for a socket takes no such address; real sockets are attacked in listener.test.ts.
      if (!URL.canParse(url.replace(/^\/\//, "/"), "http://localhost")) return false;
      return asked(tcp, {
        ...{ method: "GET", url },
        headers: { host: "127.0.0.1:8787", authorization: `Bearer ${token}` },
      });
    },
  },
  "headers of requests": {
    input: words(
      [
        "127.0.0.1:8787",
        "[::1]:8787",
        "perpwatch_session_80=abc; a=b",
        `Bearer ${token}`,
        "https://evil.example",
        "same-origin",
        "1.2.3.4, ::ffff:5.6.7.8",
      ],
      16_000,
    ),
    run: (input: string) =>
      asked(tcp, {
        method: turn % 2 === 0 ? "GET" : "POST",
        url: "/api/v1/silences",
        headers: {
          host: "127.0.0.1:8787",
          authorization: `Bearer ${token}`,
          [headers[turn++ % headers.length]!]: inHeader(input),
        },
      }),
  },
  "names of hosts and clients": {
    takesAll: true,
    input: words(
      [
        "perpwatch_session_8787=abc; a=b",
        "LocalHost.:80",
        "[fe80::1%eth0]:1",
        "2001:db8::1, [2001:db8::1]:4711",
      ],
      16_000,
    ),
    run: (input: string) => {
      const request = { headers: { "x-forwarded-for": input }, socket: { remoteAddress: "::1" } };
      addressGroup(clientAddress(request as never, true));
      addressGroup(input);
      hostName(input);
      for (const secret of cookiesOf(input, "perpwatch_session_8787")) access.find(secret, "session");
      return access.find(input, "token") === null;
    },
  },
  "answers of the daemon": {
    input: json([JSON.parse(toWire(answers.status())), { $number: "Infinity" }, { error: "no" }]),
    run: (input: string) => decode(input),
    mayThrow: isSyntax,
  },
};
