/** The control calls of the simulator, for its help. */

interface DocumentedCall {
  /** With its method, unless that is POST. */
  readonly call: string;
  readonly does: string;
  /** JSON; absent for calls without a body. */
  readonly body?: string;
}

const documented: readonly DocumentedCall[] = [
  { call: "advance", does: "moves simulated time, ms", body: '{"ms": 60000}' },
  {
    call: "mark-price",
    does: "sets a mark price and holds it there; margins, liquidations, notifications follow",
    body: '{"symbol": "SOL", "price": "118.5"}',
  },
  {
    call: "funding-rate",
    does: "pins a market's funding rate; null: free",
    body: '{"symbol": "SOL", "ratePercentage": "0.01"}',
  },
  {
    call: "market",
    does: "sets the status of a market, or the session of a commodity (session, nextTransitionMs)",
    body: '{"symbol": "SOL", "status": "paused"}',
  },
  {
    call: "position",
    does: "gives an account this position; size 0: none",
    body: '{"authority": "ADDRESS", "symbol": "SOL", "size": "100", "entryPrice": "150"}',
  },
  {
    call: "collateral",
    does: "sets an account's collateral, USD",
    body: '{"authority": "ADDRESS", "amount": "4000"}',
  },
  {
    call: "spot-collateral",
    does: "sets how much native SOL stands as an account's collateral, SOL",
    body: '{"authority": "ADDRESS", "balance": "40"}',
  },
  {
    call: "order",
    does: "places a limit order, bid or ask; restedMs: for how long it has rested already",
    body: '{"authority": "ADDRESS", "symbol": "ETH", "side": "bid", "price": "2990", "size": "0.1"}',
  },
  {
    call: "rights",
    does: "sets which rights the exchange took away from an account; none: it has all of them",
    body: '{"authority": "ADDRESS", "lost": ["withdrawCollateral"]}',
  },
  {
    call: "twap",
    does: "trades at the market in parts, everyMs apart, the first of them now; reduceOnly: ends with the position",
    body: '{"authority": "ADDRESS", "symbol": "SOL", "side": "ask", "size": "3", "parts": 3, "everyMs": 30000}',
  },
  {
    call: "notification",
    does: "puts a notification into an inbox; source: event, admin or general",
    body: '{"authority": "ADDRESS", "source": "event", "notificationType": "order_filled"}',
  },
  {
    call: "session",
    does: "expire-access, expire-refresh, revoke or rotate-elsewhere",
    body: '{"authority": "ADDRESS", "action": "expire-access"}',
  },
  { call: "role", does: "sets the role of a wallet", body: '{"authority": "ADDRESS", "role": "user"}' },
  {
    call: "exchange",
    does: "sets the exchange's status: active, gated, withdrawalsAvailable",
    body: '{"active": false}',
  },
  {
    call: "fault",
    does: "makes requests fail: status, error, retryAfter, delayMs, body, drop (request, reply, body), omit, set; times: how often",
    body: '{"path": "/v1/*", "status": 503, "times": 5}',
  },
  { call: "trader", does: "makes one more trader", body: '{"name": "late"}' },
  { call: "GET fault", does: "lists the faults" },
  { call: "DELETE fault", does: "ends all faults" },
  { call: "GET requests", does: "what was asked, with counts; ?path=/v1/* narrows" },
  { call: "DELETE requests", does: "forgets what was asked" },
  { call: "GET state", does: "the truth: markets, accounts, notifications and which are acknowledged" },
];

export function controlCallsHelp(): string {
  const lines = documented.flatMap(({ call, does, body }) => {
    const [name, method] = call.split(" ").reverse() as [string, string?];
    const url = `http://127.0.0.1:8899/sim/${name}`;
    const asked =
      body === undefined ? (method === "GET" ? url : `-X ${method} ${url}`) : `-d '${body}' ${url}`;
    return [`  ${call}: ${does}`, `    $ curl -s ${asked}`];
  });
  return [
    "Control calls, while it listens on loopback. Numbers are decimals in strings; an account is named by the",
    'authority of its trader (or "trader": its name), with pdaIndex and subaccountIndex where they are not 0. A call',
    "answers after all that follows from it has happened.",
    "",
    ...lines,
  ].join("\n");
}
