/**
 * `perpwatch check --online`: each wallet signs in, each endpoint in use is read once, each channel is looked at. The
 * sessions are this command's own and revoked at its end; nothing is stored, sent or acknowledged.
 */

import type { DaemonSettings, WalletSettings } from "../daemon/settings.ts";
import { WantedMarkets } from "../evaluate/wanted-markets.ts";
import { ExchangeError } from "../exchange/errors.ts";
import type { BadRecordReport, ClientCall, Exchange, ExchangeClient } from "../exchange/index.ts";
import { unlistedSymbols } from "../rules/index.ts";
import { SignerUnavailable } from "../signer/signer.ts";
import { traderAddress } from "../wallet/address.ts";
import { memorySessions, probeChannel, withChannel, withExchange } from "./standalone.ts";

export interface Finding {
  /** `markets`, `main: sign-in`, `channel chat`. */
  readonly what: string;
  /** `note`: worth knowing, and nothing has to be done. */
  readonly state: "ok" | "note" | "failed";
  readonly detail: string;
  readonly fix: string | null;
}

const hourMs = 3_600_000;
/** For one question with its repeats. */
const patienceMs = 15_000;

/** One after the other; each is told as soon as it is known. */
export async function checkOnline(
  settings: DaemonSettings,
  out: NodeJS.WriteStream,
  tell: (finding: Finding) => void,
): Promise<void> {
  const badRecords: BadRecordReport[] = [];
  await withExchange(
    settings,
    memorySessions(),
    async (exchange) => {
      const desk = { ...{ settings, exchange, badRecords, tell }, signer: new SignerTroubles() };
      if (!(await askExchange(desk))) return;
      for (const wallet of settings.wallets) await askWallet(wallet, desk);
      if (settings.ledger !== null) await askLedger(settings.ledger, desk);
    },
    (report) => void badRecords.push(report),
  );
  for (const name of Object.keys(settings.channels)) {
    const result = await withChannel(settings, name, out, probeChannel);
    const what = `channel ${name}`;
    if (result.kind === "ok") {
      tell({ what, state: "ok", detail: result.detail, fix: null });
      for (const { detail, fix } of result.warnings ?? []) tell({ what, state: "note", detail, fix });
    } else tell({ what, state: "failed", detail: result.detail, fix: result.fix });
  }
}

/** The signer of wallets that it cannot sign in: one finding, however many they are. */
class SignerTroubles {
  readonly #told = new Set<string>();

  /** @returns true if the wallet can be signed for */
  async permits({ key }: WalletSettings, { settings, tell }: Desk): Promise<boolean> {
    if (key === null) return false;
    try {
      await key.sessionKey();
      return true;
    } catch (error) {
      if (!(error instanceof SignerUnavailable)) throw error;
      const detail = error.message;
      if (!this.#told.has(detail))
        tell({ what: "signer", state: "failed", detail, fix: signerFix(settings) });
      this.#told.add(detail);
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

interface Desk {
  readonly signer: SignerTroubles;
  readonly settings: DaemonSettings;
  readonly exchange: Exchange;
  readonly badRecords: BadRecordReport[];
  readonly tell: (finding: Finding) => void;
}

/** @returns false when nobody answers, or no exchange: nothing else has to be waited for */
async function askExchange(desk: Desk): Promise<boolean> {
  const { client } = desk.exchange;
  const call = { deadlineMs: patienceMs };
  const first: Finding[] = [];
  const markets = await read(
    "markets",
    { ...desk, tell: (finding) => void first.push(finding) },
    () => client.markets({}, call),
    (rows) => `${rows.length} markets`,
  );
  if ((markets ?? []).length === 0 && (await isStranger(first, desk))) return false;
  for (const finding of first) desk.tell(finding);
  const listed = markets?.map((market) => market.symbol) ?? [];
  for (const { rule, symbol, nearest } of listed.length > 0
    ? unlistedSymbols(desk.settings.ruleSet, listed)
    : []) {
    const fix = nearest === null ? "look at the names of the exchange's markets" : `did you mean ${nearest}?`;
    const detail = `the exchange lists no market ${symbol}: the rule waits for one that may never come`;
    desk.tell({ what: `rule ${rule}`, state: "note", detail, fix });
  }
  if (markets === undefined && desk.exchange.http.time.known === false) return false;
  await read("latestMarketsStats", desk, () => client.latestMarketsStats({}, call));
  await read("collateralAssets", desk, () => client.collateralAssets({}, call));
  await read(
    "exchangeStatus",
    desk,
    () => client.exchangeStatus({}, call),
    ({ active }) => (active ? "trading" : "trading is off"),
  );
  const symbol = markets?.[0]?.symbol;
  if (symbol !== undefined) {
    const startTime = Date.now() - hourMs;
    await read("fundingRates", desk, () => client.fundingRates({ symbol, startTime }, call));
    await read("candles", desk, () => client.candles({ symbol, timeframe: "1h", startTime, limit: 1 }, call));
    const wanted = new WantedMarkets(desk.settings.ruleSet, desk.settings.templates.named);
    const wants = (source: "orderbook" | "calendars") => wanted.estimate(source, { markets: 1, held: 1 }) > 0;
    if (wants("orderbook")) await read("orderbook", desk, () => client.orderbook({ symbol }, call));
    const commodity = markets?.find((market) => market.commodityStatus !== null)?.symbol;
    if (wants("calendars")) await askCalendar(commodity ?? symbol, desk);
  }
  const { http } = desk.exchange;
  const offsetMs = http.time.refusedOffsetMs ?? http.offsetMs;
  if (Math.abs(offsetMs) > 2_000) {
    desk.tell({
      what: "clock",
      state: "failed",
      detail: `this machine's clock is ${Math.round(Math.abs(offsetMs) / 1_000)} s ${offsetMs > 0 ? "ahead of" : "behind"} the exchange's`,
      fix: "synchronise it (timedatectl set-ntp true)",
    });
  }
  return true;
}

/** Requests a calendar. A market without one is an answer. */
async function askCalendar(symbol: string, desk: Desk): Promise<void> {
  const { client } = desk.exchange;
  const transition = () => client.nextMarketCalendarTransition({ symbol }, { deadlineMs: patienceMs });
  await read(
    "nextMarketCalendarTransition",
    desk,
    () =>
      transition().catch((error: unknown) => {
        if (error instanceof ExchangeError && (error.status === 404 || error.status === 400)) return null;
        throw error;
      }),
    (answer) => `${symbol}: ${answer === null ? "always open, it has no calendar" : answer.currentState}`,
  );
}

/**
 * Something answers there with success, and with nothing of an exchange: one misspelt address is not two dozen failures.
 * @param found what became of the first read; a second one has to fail like it
 */
async function isStranger(found: readonly Finding[], desk: Desk): Promise<boolean> {
  const misfits = (findings: readonly Finding[]) =>
    findings.some(({ fix, detail }) => fix === fixes["bad-record"] || /^\w+: 404\b/.test(detail));
  if (!misfits(found)) return false;
  const again: Finding[] = [];
  const { client } = desk.exchange;
  const quiet = { ...desk, tell: (finding: Finding) => void again.push(finding) };
  await read("exchangeStatus", quiet, () => client.exchangeStatus({}, { deadlineMs: patienceMs }));
  if (!misfits(again)) return false;
  desk.tell({
    what: "exchange",
    state: "failed",
    detail: `${desk.settings.exchange.baseUrl} answers, and not as the exchange does (${found[0]!.detail})`,
    fix: "is exchange.baseUrl the exchange's address? Nothing else was asked there",
  });
  return true;
}

async function askLedger(ledger: NonNullable<DaemonSettings["ledger"]>, desk: Desk): Promise<void> {
  const { createLedger, LedgerError } = await import("../ledger/rpc.ts");
  try {
    const height = await createLedger({ ...ledger, patienceMs }).blockHeight();
    desk.tell({ what: "ledger", state: "ok", detail: `block height ${height}`, fix: null });
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    const fix = "look at ledger.rpcUrl; only onboard and stop-loss need it";
    desk.tell({ what: "ledger", state: "failed", detail: error.message, fix });
  }
}

async function askWallet(wallet: WalletSettings, desk: Desk): Promise<void> {
  const { client, sessions } = desk.exchange;
  const { name, authority } = wallet;
  const session = sessions.of(name);
  let signedIn = false;
  if (session === undefined) {
    const detail = "watch-only: public reads, no notifications";
    desk.tell({ what: name, state: "note", detail, fix: null });
  } else if (await desk.signer.permits(wallet, desk)) {
    signedIn =
      (await read(
        `${name}: sign-in`,
        desk,
        async () => {
          await session.access({ endMs: performance.now() + patienceMs });
          return true;
        },
        () => session.detail,
      )) === true;
  }
  const call: ClientCall = signedIn ? { wallet: name, deadlineMs: patienceMs } : { deadlineMs: patienceMs };
  for (const pdaIndex of wallet.pdaIndices) await askAccounts(wallet, pdaIndex, client, call, signedIn, desk);
  const more = { limit: 1 } as const;
  await read(`${name}: userCollateralHistory`, desk, () =>
    client.userCollateralHistory({ authority, ...more }, call),
  );
  await read(`${name}: orderHistory`, desk, () => client.orderHistory({ authority, ...more }, call));
  await read(`${name}: tradesHistory`, desk, () => client.tradesHistory({ authority, ...more }, call));
  const endTime = Date.now();
  const day = { startTime: endTime - 24 * hourMs, endTime };
  await read(`${name}: userPnl`, desk, () => client.userPnl({ authority, resolution: "1d", ...day }, call));
  if (signedIn) {
    // A session that stays behind ends by itself; that it could not be revoked changes nothing for the daemon.
    await session!.logout().catch(() => {});
  }
}

async function askAccounts(
  wallet: WalletSettings,
  pdaIndex: number,
  client: ExchangeClient,
  call: ClientCall,
  signedIn: boolean,
  desk: Desk,
): Promise<void> {
  const { name, authority } = wallet;
  const traderPubkey = traderAddress(authority, { pdaIndex, subaccount: 0 });
  const of = `${name}/${pdaIndex}`;
  await read(
    `${of}: traderState`,
    desk,
    () => client.traderState({ authority, traderPdaIndex: pdaIndex }, call),
    ({ snapshot }) => {
      const count = snapshot.subaccounts.length;
      return count === 1 ? "1 subaccount" : `${count} subaccounts`;
    },
  );
  const known = await read(
    `${of}: traderView`,
    desk,
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
    // Further reads of the account would only fail for the same reason.
    return desk.tell({ what: `${of}: traderView`, state: "failed", detail, fix });
  }
  const endTime = Date.now();
  const hour = { startTime: endTime - hourMs, endTime };
  await read(`${of}: portfolioValues`, desk, () =>
    client.portfolioValues({ traderPubkey, resolution: "15m", ...hour, limit: 4 }, call),
  );
  await read(`${of}: marketPnl`, desk, () =>
    client.marketPnl({ traderPubkey, resolution: "1h", ...hour, limit: 1 }, call),
  );
  await read(`${of}: fundingHourly`, desk, () =>
    client.fundingHourly({ authority, traderPdaIndex: pdaIndex, limit: 1 }, call),
  );
  await read(`${of}: liquidationHistory`, desk, () =>
    client.liquidationHistory({ authority, pdaIndex, limit: 1 }, call),
  );
  if (signedIn)
    await read(
      `${of}: notifications`,
      desk,
      () => client.notifications({ traderPubkey, limit: 1 }, call),
      () => "its inbox can be read",
    );
}

/** True if the exchange refuses because it has no trader account of that address. */
function isUnknownAccount(error: unknown): boolean {
  if (!(error instanceof ExchangeError)) return false;
  return error.status === 404 || /\b400 unknown_trader_account\b/.test(error.message);
}

/**
 * Asks one thing and tells how it went.
 * @param isGood of an answer: another one is for the caller to tell
 * @returns undefined when it failed
 */
async function read<T>(
  what: string,
  desk: Desk,
  ask: () => Promise<T>,
  detail: (answer: T) => string = () => "",
  isGood: (answer: T) => boolean = () => true,
): Promise<T | undefined> {
  const before = desk.badRecords.length;
  try {
    const answer = await ask();
    const bad = desk.badRecords.slice(before);
    if (!isGood(answer)) return answer;
    if (bad.length === 0) desk.tell({ what, state: "ok", detail: detail(answer), fix: null });
    else desk.tell({ what, state: "failed", detail: bad[0]!.problem, fix: fixes["bad-record"] });
    return answer;
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    desk.tell({ what, state: "failed", detail: error.message, fix: fixes[error.reason] });
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
