/**
 * Wallets, their trader accounts and positions: those with old data first, then by margin ratio. The function is sent
 * to the browser as source text, so its body may not refer to anything outside of it, except types.
 */
import type { Format, Safe } from "./format.ts";
import type { Account, Answer, Connection, Parts, Position, Wallet } from "./parts.ts";

export type WalletsView = ReturnType<typeof createWalletsView>;

export function createWalletsView(format: Format, parts: Parts) {
  const { html, numeric, usd, signedUsd, price, amount, percent, times, count, span, plural, words } = format;
  const {
    when,
    badge,
    more,
    bar,
    distanceOf,
    ratioOf,
    distanceTone,
    ratioTone,
    staleness,
    ages,
    refusedInbox,
    compare,
    maxWallets,
  } = parts;

  /** The age of figures that depend on state and mark price. */
  type AgeOf = ReturnType<typeof ages>;

  const oldNote = ({ ageMs, old }: ReturnType<AgeOf>) =>
    when(
      old,
      () => html` <small class="bad">${ageMs === null ? "never seen" : `${span(ageMs)} old`}</small>`,
    );

  function positionRow(position: Position, wallet: string, ageOf: AgeOf): Safe {
    const figure = (name: string) => numeric(position.figures[name]);
    const distance = distanceOf(position);
    const liquidation = figure("liquidationPrice");
    const safe = distance === Number.POSITIVE_INFINITY || liquidation === 0;
    const pnl = figure("unrealizedPnl");
    const stop = position.figures.stopLossPrice === null ? "none" : price(figure("stopLossPrice"));
    const size = figure("size");
    const tone = distanceTone(distance);
    const age = ageOf(position, wallet);
    const cell = (label: string, text: string | Safe, kind = "") =>
      html`<td class="${kind}" data-label="${label}">${text}</td>`;
    return html`<tr data-key="${position.name}"><th scope="row">${position.symbol}<span class="side">${position.side.startsWith("short") ? "▼ short" : "▲ long"}</span></th>${[
      cell("Size", amount(size === null ? null : Math.abs(size))),
      cell("Notional", usd(figure("notional"))),
      cell("Entry", price(figure("entryPrice"))),
      cell("Mark", html`${price(figure("markPrice"))}${oldNote(age)}`),
      cell("Liquidation", safe ? "none" : price(liquidation)),
    ]}<td class="distance ${tone}" data-label="Distance"><span class="measure">${bar(tone, safe ? 1 : (distance ?? 0) / 0.3, `${percent(distance)} from liquidation`)}<b>${percent(safe ? Number.POSITIVE_INFINITY : distance)}</b></span></td>${cell("Stop loss", stop)}${cell("Unrealized PnL at mark", signedUsd(pnl), tint(pnl))}</tr>`;
  }

  function accountBlock(account: Account, wallet: string, ageOf: AgeOf): Safe {
    const figure = (name: string) => numeric(account.figures[name]);
    const ratio = ratioOf(account);
    const tone = ratioTone(ratio);
    const positions = [...account.positions].sort(
      (a, b) =>
        (distanceOf(a) ?? Number.POSITIVE_INFINITY) - (distanceOf(b) ?? Number.POSITIVE_INFINITY) || 0,
    );
    const tier = account.riskTier;
    const odd = account.state !== null && account.state !== "active" && account.state !== "cold";
    const fact = (label: string, text: string) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`;
    return html`<div class="account" data-key="${account.name}"><div class="head"><h4>${account.name}</h4>${oldNote(ageOf(account, wallet))}${when(
      tier !== null && tier !== "safe",
      () => badge(tier === "atRisk" ? "warning" : "critical", words(tier ?? "")),
    )}${when(odd, () => badge("warning", words(account.state ?? "")))}</div><dl class="facts"><div class="ratio ${tone}"><dt>Margin ratio</dt><dd><span class="measure">${bar(tone, ratio ?? 0, `margin ratio ${percent(ratio)}`)}<b>${percent(ratio)}</b></span></dd></div>${[
      fact("Equity", usd(figure("equity"))),
      fact("Maintenance", usd(figure("maintenanceMargin"))),
      fact("Free collateral", usd(figure("freeCollateral"))),
      fact("Leverage", times(figure("leverage"))),
      fact("Orders", count(numeric(account.orders))),
    ]}</dl>${
      positions.length === 0
        ? html`<p class="calm">No open position.</p>`
        : html`<table><thead><tr>${["Market", "Size", "Notional", "Entry", "Mark", "Liquidation", "Distance", "Stop loss", "Unrealized PnL at mark"].map((label) => html`<th scope="col">${label}</th>`)}</tr></thead><tbody>${positions.map((position) => positionRow(position, wallet, ageOf))}</tbody></table>`
    }</div>`;
  }

  function worth(wallet: Wallet): Safe {
    const [equity, pnl] = [numeric(wallet.figures.equity), numeric(wallet.figures.pnl)];
    return html`${when(equity !== null, () => html`<span class="worth">equity <b>${usd(equity)}</b></span>`)}${when(
      pnl !== null,
      () =>
        html`<span class="worth" title="equity less net deposits, since watching began">PnL since watched <b class="${tint(pnl)}">${signedUsd(pnl)}</b></span>`,
    )}`;
  }

  function tint(pnl: number | null): string {
    return pnl === null || pnl === 0 ? "" : pnl > 0 ? "gain" : "loss";
  }

  function wallets(status: Answer, connection: Connection): Safe {
    const stale = staleness(status, connection);
    const ageOf = ages(status, connection);
    const worstOf = (wallet: Wallet) =>
      wallet.accounts.reduce((most, account) => Math.max(most, ratioOf(account) ?? 0), 0);
    const sorted = [...status.watch.wallets]
      .map((wallet) => ({ wallet, ...stale(wallet), worst: worstOf(wallet) }))
      .sort((a, b) => Number(b.old) - Number(a.old) || compare(b.worst, a.worst));
    const shown = sorted.slice(0, maxWallets).map(({ wallet, ageMs, old }) => {
      const unacked = numeric(wallet.unacked) ?? 0;
      const refused = refusedInbox(status, wallet);
      const authority = wallet.authority;
      const short = authority.length > 12 ? `${authority.slice(0, 4)}…${authority.slice(-4)}` : authority;
      return html`<section class="card wallet${old ? " old" : ""}" data-key="${wallet.name}"><div class="head"><h3>${wallet.name}</h3><code title="${authority}">${short}</code>${
        wallet.watchOnly
          ? badge("quiet", "watch only")
          : wallet.signedIn
            ? refused === ""
              ? badge("quiet", "signed in")
              : badge("critical", `signed in, but notifications are refused: ${refused}`)
            : badge("warning", `signed out${wallet.sessionDetail === "" ? "" : `: ${wallet.sessionDetail}`}`)
      }${when(unacked > 0, () => badge("quiet", plural(unacked, "notification")))}${worth(wallet)}<span class="age ${old ? "critical" : "ok"}">${ageMs === null ? "not seen yet" : `${old ? "data is old: " : "data "}${span(ageMs)}${old ? "" : " old"}`}</span></div>${
        wallet.accounts.length === 0
          ? html`<p class="calm">${ageMs === null ? "Waiting for the first answer." : "No trader account."}</p>`
          : [...wallet.accounts]
              .sort((a, b) => compare(ratioOf(b) ?? 0, ratioOf(a) ?? 0))
              .map((account) => accountBlock(account, wallet.name, ageOf))
      }</section>`;
    });
    return html`<h2>Wallets</h2>${shown.length === 0 ? html`<p class="calm">No wallet is configured.</p>` : shown}${more(sorted.length - shown.length, "wallet")}`;
  }

  return wallets;
}
