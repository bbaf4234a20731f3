/**
 * `perpwatch check --online`: signs in each wallet, reads each endpoint in use once, and probes each channel. The
 * sessions belong to this command and are revoked at its end; nothing is stored, sent or acknowledged.
 */

import type { DaemonSettings, WalletSettings } from "../../daemon/settings.ts";
import { WantedMarkets } from "../../evaluate/wanted-markets.ts";
import { ExchangeError } from "../../exchange/errors.ts";
import type { BadRecordReport, ClientCall, Exchange, ExchangeClient } from "../../exchange/index.ts";
import { unlistedSymbols } from "../../rules/index.ts";
import { SignerUnavailable } from "../../signer/signer.ts";
import { traderAddress } from "../../wallet/address.ts";
import { memorySessions, probeChannel, withChannel, withExchange } from "../standalone.ts";

export interface Finding {
  /** `markets`, `main: sign-in`, `channel chat`. */
  readonly what: string;
  /** `note`: information that needs no action. */
  readonly state: "ok" | "note" | "failed";
  readonly detail: string;
  readonly fix: string | null;
}

const hourMs = 3_600_000;
/** Time limit of one request with its retries. */
const patienceMs = 15_000;

/** Runs the checks one after the other, and reports each finding at once. */
export async function checkOnline(
  settings: DaemonSettings,
  out: NodeJS.WriteStream,
  report: (finding: Finding) => void,
): Promise<void> {
  const badRecords: BadRecordReport[] = [];
  await withExchange(
    settings,
    memorySessions(),
    async (exchange) => {
      const context = { ...{ settings, exchange, badRecords, report }, signer: new SignerFailures() };
      if (!(await askExchange(context))) return;
      for (const wallet of settings.wallets) await askWallet(wallet, context);
      if (settings.ledger !== null) await askLedger(settings.ledger, context);
    },
    (report) => void badRecords.push(report),
  );
  for (const name of Object.keys(settings.channels)) {
    const result = await withChannel(settings, name, out, probeChannel);
    const what = `channel ${name}`;
    if (result.kind === "ok") {
      report({ what, state: "ok", detail: result.detail, fix: null });
      for (const { detail, fix } of result.warnings ?? []) report({ what, state: "note", detail, fix });
    } else report({ what, state: "failed", detail: result.detail, fix: result.fix });
  }
}

/** Reports a signer that cannot sign once, for any number of wallets. */
class SignerFailures {
  readonly #reported = new Set<string>();

  /** @returns true if the wallet can be signed for */
  async canSign({ key }: WalletSettings, { settings, report }: CheckContext): Promise<boolean> {
    if (key === null) return false;
    try {
      await key.sessionKey();
      return true;
    } catch (error) {
      if (!(error instanceof SignerUnavailable)) throw error;
      const detail = error.message;
      if (!this.#reported.has(detail))
        report({ what: "signer", state: "failed", detail, fix: signerFix(settings) });
      this.#reported.add(detail);
      return false;
    }
  }
}

function signerFix({ signer }: DaemonSettings): string {
  if (signer.socket !== null)
    return "start perpwatch signer, or look at its log: it needs the passphrase in signer.passphraseFile or as its service's credential";
  return signer.passphraseFile === null
    ? "name a file that holds the passphrase (signer.passphraseFile), or run this on a terminal, which asks for it"
    : `look at ${signer.passphraseFile}: it has to hold the passphrase of ${signer.keystore}`;
}

interface CheckContext {
  readonly signer: SignerFailures;
  readonly settings: DaemonSettings;
  readonly exchange: Exchange;
  readonly badRecords: BadRecordReport[];
  readonly report: (finding: Finding) => void;
}

/** @returns false when no exchange answers, so that the remaining checks are skipped */
async function askExchange(context: CheckContext): Promise<boolean> {
  const { client } = context.exchange;
  const call = { deadlineMs: patienceMs };
  const first: Finding[] = [];
  const markets = await read(
    "markets",
    { ...context, report: (finding) => void first.push(finding) },
    () => client.markets({}, call),
    (rows) => `${rows.length} markets`,
  );
  if ((markets ?? []).length === 0 && (await isOtherServer(first, context))) return false;
  for (const finding of first) context.report(finding);
  const listed = markets?.map((market) => market.symbol) ?? [];
  for (const { rule, symbol, nearest } of listed.length > 0
    ? unlistedSymbols(context.settings.ruleSet, listed)
    : []) {
    const fix = nearest === null ? "look at the names of the exchange's markets" : `did you mean ${nearest}?`;
    const detail = `the exchange lists no market ${symbol}: the rule waits for one that may never come`;
    context.report({ what: `rule ${rule}`, state: "note", detail, fix });
  }
  if (markets === undefined && context.exchange.http.time.known === false) return false;
  await read("latestMarketsStats", context, () => client.latestMarketsStats({}, call));
  await read("collateralAssets", context, () => client.collateralAssets({}, call));
  await read(
    "exchangeStatus",
    context,
    () => client.exchangeStatus({}, call),
    ({ active }) => (active ? "trading" : "trading is off"),
  );
  const symbol = markets?.[0]?.symbol;
  if (symbol !== undefined) {
    const startTime = Date.now() - hourMs;
    await read("fundingRates", context, () => client.fundingRates({ symbol, startTime }, call));
    await read("candles", context, () =>
      client.candles({ symbol, timeframe: "1h", startTime, limit: 1 }, call),
    );
    const wanted = new WantedMarkets(context.settings.ruleSet, context.settings.templates.named);
    const wants = (source: "orderbook" | "calendars") => wanted.estimate(source, { markets: 1, held: 1 }) > 0;
    if (wants("orderbook")) await read("orderbook", context, () => client.orderbook({ symbol }, call));
    const commodity = markets?.find((market) => market.commodityStatus !== null)?.symbol;
    if (wants("calendars")) await askCalendar(commodity ?? symbol, context);
  }
  const { http } = context.exchange;
  const offsetMs = http.time.refusedOffsetMs ?? http.offsetMs;
  if (Math.abs(offsetMs) > 2_000) {
    context.report({
      what: "clock",
      state: "failed",
      detail: `this machine's clock is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs > 0 ? "ahead of" : "behind"} the exchange's`,
      fix: "synchronise it (timedatectl set-ntp true)",
    });
  }
  return true;
}

/** Reads a calendar. For a market without one the exchange answers 400 or 404, which is no failure. */
async function askCalendar(symbol: string, context: CheckContext): Promise<void> {
  const { client } = context.exchange;
  const transition = () => client.nextMarketCalendarTransition({ symbol }, { deadlineMs: patienceMs });
  await read(
    "nextMarketCalendarTransition",
    context,
    () =>
      transition().catch((error: unknown) => {
        if (error instanceof ExchangeError && (error.status === 404 || error.status === 400)) return null;
        throw error;
      }),
    (answer) => `${symbol}: ${answer === null ? "always open, it has no calendar" : answer.currentState}`,
  );
}

/**
 * Returns true if another server than an exchange answers, so that a mistyped address is reported as one failure.
 * @param found findings of the first read; a second read has to fail in the same way
 */
async function isOtherServer(found: readonly Finding[], context: CheckContext): Promise<boolean> {
  const hasUnexpectedAnswer = (findings: readonly Finding[]) =>
    findings.some(({ fix, detail }) => fix === fixes["bad-record"] || /^\w+: 404\b/.test(detail));
  if (!hasUnexpectedAnswer(found)) return false;
  const again: Finding[] = [];
  const { client } = context.exchange;
  const quiet = { ...context, report: (finding: Finding) => void again.push(finding) };
  await read("exchangeStatus", quiet, () => client.exchangeStatus({}, { deadlineMs: patienceMs }));
  if (!hasUnexpectedAnswer(again)) return false;
  context.report({
    what: "exchange",
    state: "failed",
    detail: `${context.settings.exchange.baseUrl} answers, and not as the exchange does (${found[0]!.detail})`,
    fix: "is exchange.baseUrl the exchange's address? Nothing else was asked there",
  });
  return true;
}

async function askLedger(
  ledger: NonNullable<DaemonSettings["ledger"]>,
  context: CheckContext,
): Promise<void> {
  const { createLedger, LedgerError } = await import("../../ledger/rpc.ts");
  try {
    const height = await createLedger({ ...ledger, patienceMs }).blockHeight();
    context.report({ what: "ledger", state: "ok", detail: `block height ${height}`, fix: null });
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const fix = "look at ledger.rpcUrl; only onboard and stop-loss need it";
    context.report({ what: "ledger", state: "failed", detail: error.message, fix });
  }
}

async function askWallet(wallet: WalletSettings, context: CheckContext): Promise<void> {
  const { client, sessions } = context.exchange;
  const { name, authority } = wallet;
  const session = sessions.of(name);
  let signedIn = false;
  if (session === undefined) {
    const detail = "watch-only: public reads, no notifications";
    context.report({ what: name, state: "note", detail, fix: null });
  } else if (await context.signer.canSign(wallet, context)) {
    signedIn =
      (await read(
        `${name}: sign-in`,
        context,
        async () => {
          await session.access({ endMs: performance.now() + patienceMs });
          return true;
        },
        () => session.detail,
      )) === true;
  }
  const call: ClientCall = signedIn ? { wallet: name, deadlineMs: patienceMs } : { deadlineMs: patienceMs };
  for (const pdaIndex of wallet.pdaIndices)
    await askAccounts(wallet, pdaIndex, client, call, signedIn, context);
  const more = { limit: 1 } as const;
  await read(`${name}: userCollateralHistory`, context, () =>
    client.userCollateralHistory({ authority, ...more }, call),
  );
  await read(`${name}: orderHistory`, context, () => client.orderHistory({ authority, ...more }, call));
  await read(`${name}: tradesHistory`, context, () => client.tradesHistory({ authority, ...more }, call));
  const endTime = Date.now();
  const day = { startTime: endTime - 24 * hourMs, endTime };
  await read(`${name}: userPnl`, context, () =>
    client.userPnl({ authority, resolution: "1d", ...day }, call),
  );
  if (signedIn) {
    // A session that remains ends by itself, so a failed logout is ignored.
    await session!.logout().catch(() => {});
  }
}

async function askAccounts(
  wallet: WalletSettings,
  pdaIndex: number,
  client: ExchangeClient,
  call: ClientCall,
  signedIn: boolean,
  context: CheckContext,
): Promise<void> {
  const { name, authority } = wallet;
  const traderPubkey = traderAddress(authority, { pdaIndex, subaccount: 0 });
  const of = `${name}/${pdaIndex}`;
  await read(
    `${of}: traderState`,
    context,
    () => client.traderState({ authority, traderPdaIndex: pdaIndex }, call),
    ({ snapshot }) => {
      const count = snapshot.subaccounts.length;
      return count === 1 ? "1 subaccount" : `${count} subaccounts`;
    },
  );
  const known = await read(
    `${of}: traderView`,
    context,
    () =>
      client.traderView({ traderPubkey }, call).catch((error: unknown) => {
        if (isUnknownAccount(error)) return null;
        throw error;
      }),
    () => "",
    (view) => view !== null,
  );
  if (known === null) {
    const detail = "the exchange knows no such trader account";
    const onboard = `Not registered yet: \`perpwatch onboard register --wallet ${name}\``;
    const fix =
      pdaIndex === 0
        ? `is ${authority} its address? ${onboard}`
        : "look at the accounts of this wallet (pdaIndices)";
    // Further reads of the account would fail for the same reason.
    return context.report({ what: `${of}: traderView`, state: "failed", detail, fix });
  }
  const endTime = Date.now();
  const hour = { startTime: endTime - hourMs, endTime };
  await read(`${of}: portfolioValues`, context, () =>
    client.portfolioValues({ traderPubkey, resolution: "15m", ...hour, limit: 4 }, call),
  );
  await read(`${of}: marketPnl`, context, () =>
    client.marketPnl({ traderPubkey, resolution: "1h", ...hour, limit: 1 }, call),
  );
  await read(`${of}: fundingHourly`, context, () =>
    client.fundingHourly({ authority, traderPdaIndex: pdaIndex, limit: 1 }, call),
  );
  await read(`${of}: liquidationHistory`, context, () =>
    client.liquidationHistory({ authority, pdaIndex, limit: 1 }, call),
  );
  if (signedIn)
    await read(
      `${of}: notifications`,
      context,
      () => client.notifications({ traderPubkey, limit: 1 }, call),
      () => "its inbox can be read",
    );
}

/** Returns true if the exchange has no trader account of that address. */
function isUnknownAccount(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  return error.status === 404 || /\b400 unknown_trader_account\b/.test(error.message);
}

/**
 * Makes one request and reports the result.
 * @param isGood false for an answer that the caller reports itself
 * @returns undefined after a failure
 */
async function read<T>(
  what: string,
  context: CheckContext,
  ask: () => Promise<T>,
  detail: (answer: T) => string = () => "",
  isGood: (answer: T) => boolean = () => true,
): Promise<T | undefined> {
  const before = context.badRecords.length;
  try {
    const answer = await ask();
    const bad = context.badRecords.slice(before);
    if (!isGood(answer)) return answer;
    if (bad.length === 0) context.report({ what, state: "ok", detail: detail(answer), fix: null });
    else context.report({ what, state: "failed", detail: bad[0]!.problem, fix: fixes["bad-record"] });
    return answer;
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    context.report({ what, state: "failed", detail: error.message, fix: fixes[error.reason] });
    return undefined;
  }
}

const fixes: Readonly<Record<ExchangeError["reason"], string>> = {
  unreachable: "look at exchange.baseUrl and at this machine's network",
  timeout: "look at exchange.baseUrl and at this machine's network, or try again later",
  "rate-limited": "lower exchange.requestsPerSecond, or stop what else asks from this address",
  "server-error": "the exchange is unwell: try again later",
  "signed-out": "look whether the exchange knows this wallet, and at its login: (message or transaction)",
  refused: "look at exchange.baseUrl, and whether the exchange knows this wallet",
  "bad-record": "the exchange answers what this version does not know: update perpwatch, or report it",
};
