/** Sample rule files, one for each feature of rules. The reference shows them; a test loads each. */

export interface Example {
  readonly title: string;
  readonly text: string;
  readonly yaml: string;
}

export const firstRule = `rules:
  - name: MarginTooHigh
    scope: trader                    # judged for every trader account
    when: trader.marginRatio > 0.8
    severity: critical               # info | warning | critical
    summary: "{{ wallet.name }}: margin ratio {{ percent(trader.marginRatio) }}"
`;

export const examples: readonly Example[] = [
  {
    title: "Levels",
    text: 'One alert that rises and falls, instead of three that overlap. Each level may have its own way back (`resolveWhen`); `ruleOverrides` that give a `when` drop the one of the rule file, and may give another. An alert whose condition no longer holds fires until that has lasted for `keepFiringFor`; messages about others list it as "Ending" meanwhile. For `for` and `keepFiringFor` counts the time up to which the data were fresh, and then from the next reading on. While positions are too old and prices are not, time that the last known positions fulfil a condition at the current prices counts for `for` as well: an alert that it fires states their age. Once the positions are read again without one, that time is forgotten, since nobody saw what was held meanwhile.',
    yaml: `rules:
  - name: NearLiquidation
    scope: position
    value: position.liquidationDistance   # what levels compare and messages show
    worse: lower                          # higher | lower | away from 0 (as the conditions give it)
    worst: 0                              # liquidation: remind.worseBy is a share of what is left to it (of the value)
    levels:
      info:     { when: value < 0.20 }
      warning:  { when: value < 0.10, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    for: 0s                               # must hold this long before it fires (0s)
    keepFiringFor: 1m                     # must be gone this long before it is resolved (1m)
    target: value > 0.15                  # what advice leads to, beside that no level holds (that alone)
    summary: "{{ wallet.name }}: {{ position.symbol }} {{ position.side }} is {{ percent(value) }} from liquidation"
    description: "Mark {{ price(position.markPrice) }}, liquidation {{ price(position.liquidationPrice) }}."
    runbook: https://example.org/liquidation
`,
  },
  {
    title: "Whose rule it is",
    text: "`select` names wallets, symbols and labels of wallets; what is outside is no subject. The empty text selects wallets without the label. A limit of a wallet in config.yaml is one number, or differs by market: `limits: { maxInventory: { SOL: 50000, default: 10000 } }`; then a rule gets that of its subject's market, else `default`, else it is missing. A rule without a market (of scope trader, wallet) that names such a limit is refused. Everything else has a default.",
    yaml: `rules:
  - name: DeskInventory
    scope: position
    select: { desk: [alpha, beta], symbol: [SOL, BTC] }
    when: position.notional > wallet.limits.maxInventory
    severity: warning
    labels: { team: risk }                # for routing, beside rule, severity, wallet, symbol, scope
    staleAfter: 15s                       # older inputs are no data (3 × the schedule of what it reads)
    noData: alert                         # alert | keep (alert for a rule that can be critical)
    mode: shadow                          # live | shadow: judged and recorded, never sent
    summary: "{{ wallet.name }}: {{ amount(position.size) }} {{ position.symbol }} is above the desk's limit"
`,
  },
  {
    title: "Positions and orders of an account",
    text: "`exists`, `exists_one`, `all`, `filter` and `map` run over `trader.positions` and `trader.orders`.",
    yaml: `rules:
  - name: NoStop
    scope: trader
    when: trader.positions.exists(p, p.notional > 10000.0 && !p.hasStopLoss)
    severity: warning
    for: 5m
    summary: >-
      {{ trader.name }}: {{ size(trader.positions.filter(p, !p.hasStopLoss)) }} positions without a stop loss,
      {{ usd(sum(trader.positions.filter(p, !p.hasStopLoss).map(p, p.notional))) }} in all
  - name: OneSided
    scope: trader
    when: abs(trader.netNotional) > 0.9 * trader.grossNotional && size(trader.positions) > 2
    severity: info
    summary: "{{ trader.name }}: nearly everything points one way"
`,
  },
  {
    title: "What to do",
    text: "`depositTo` and `reduceTo` say with which amounts a condition would hold. Each supposes some fifty accounts: in a condition, put something cheap before it with `&&`.",
    yaml: `rules:
  - name: DeepDeposit
    scope: trader
    when: trader.marginRatio > 0.7 && depositTo(trader.marginRatio < 0.5) > 1000.0
    severity: critical
    summary: "{{ trader.name }} needs {{ depositTo(trader.marginRatio < 0.5) }}"
  - name: TooNear
    scope: position
    when: position.liquidationDistance < 0.08
    severity: warning
    summary: >-
      {{ wallet.name }}: {{ position.side == "long" ? "sell" : "buy" }}
      {{ amount(abs(reduceTo(position.liquidationDistance > 0.15))) }} {{ position.symbol }}
`,
  },
  {
    title: "Looking back",
    text: 'The path is quoted, so is the window: a duration up to 32d, or "today" (since midnight in the configured time zone). Windows up to ten minutes are exact; longer ones to the minute at both ends.',
    yaml: `rules:
  - name: EquityFell
    scope: trader
    when: changeRatio("trader.equity", "1h") < -0.1 || drawdown("wallet.pnl", "today") > 0.15
    severity: critical
    summary: "{{ trader.name }}: equity {{ percent(changeRatio('trader.equity', '1h')) }} in an hour"
  - name: OddFunding
    scope: market
    when: >-
      abs(zscore("market.fundingRate", "7d")) > 3.0 ||
      market.fundingRate > quantileOver("market.fundingRate", 0.99, "7d")
    severity: info
    summary: "{{ market.symbol }}: funding is unlike the week before"
  - name: FrozenPrice
    scope: market
    when: since("market.markPrice") > duration("10m") || seriesAge("market.markPrice") > duration("2m")
    severity: warning
    summary: "{{ market.symbol }}: no new price for {{ duration(since('market.markPrice')) }}"
`,
  },
  {
    title: "Sums and counts of events",
    text: "Of the rule's own subject. A third argument counts only those that fit.",
    yaml: `rules:
  - name: FundingPaid
    scope: wallet
    when: sumOver("funding.payment", "24h") < -500.0
    severity: warning
    summary: "{{ wallet.name }}: paid {{ usd(-sumOver('funding.payment', '24h')) }} of funding in a day"
  - name: WithdrawalsPileUp
    scope: wallet
    when: countOver("collateral", "24h", "collateral.eventType == 'withdrawal'") > 3.0
    severity: critical
    summary: "{{ wallet.name }}: {{ countOver('collateral', '24h', \\"collateral.eventType == 'withdrawal'\\") }} withdrawals in a day"
`,
  },
  {
    title: "Several wallets together",
    text: "What the selected wallets hold is a book: one for each market with `by: market`, one over all with `by: none`, one over all markets for each value of a label with `by: LABEL` (`by: desk`; its subjects are `book/NAME/desk=alpha`, its alerts carry the label, and wallets without it are in none). Its sums are unknown while a part of them is, and say of which wallet. `sumOver` and `countOver` count the fills, funding payments and flows of its wallets. A pair is two or more legs that config.yaml declares under `pairs:`. Both are unknown while one of their wallets is not seen.",
    yaml: `rules:
  - name: DeskTooLong
    scope: book
    by: market                            # market | none | a label of wallets
    when: book.netNotional > 500000.0
    severity: critical
    summary: "{{ market.symbol }}: the desk is long {{ usd(book.netNotional) }} net over {{ amount(book.wallets) }} wallets"
  - name: DeskNearLiquidation
    scope: book
    by: none
    when: book.adverseMoveToLiquidation < 0.05
    severity: warning
    summary: "a wallet of the desk is {{ percent(book.adverseMoveToLiquidation) }} from liquidation"
  - name: DeskLossToday
    scope: book
    by: desk                              # a rule for each desk: alpha, beta, …
    value: book.pnlToday
    levels:
      warning: { when: value < -10000.0 }
      critical: { when: value < -25000.0 }
    summary: "{{ book.label }} lost {{ usd(-value) }} today: fees {{ usd(book.feesToday) }}, funding {{ usd(book.fundingToday) }}"
`,
  },
  {
    title: "Other markets",
    text: "Any rule can name a market by its symbol, in expressions and in history.",
    yaml: `rules:
  - name: BitcoinFalls
    scope: position
    select: { symbol: SOL }
    when: market("BTC").markPrice < minOver("market[BTC].markPrice", "24h") * 1.001
    severity: info
    summary: "BTC is at its low of the day, at {{ price(market('BTC').markPrice) }}: look after {{ position.symbol }}"
`,
  },
  {
    title: "Named values",
    text: "A figure with a name of its own, for every subject of its scope. It has a history, and stands wherever a field of that subject does.",
    yaml: `values:
  - name: basis
    scope: market
    value: market.markPrice / market.oraclePrice - 1.0
    unit: ratio                           # how it is printed; default: what it is made of
    description: how far the mark is from the oracle
rules:
  - name: Apart
    scope: market
    when: abs(value.basis) > 0.01 && abs(value.basis) > 3.0 * stddevOver("value.basis", "24h")
    severity: warning
    for: 30s
    summary: "{{ market.symbol }}: mark and oracle are {{ value.basis }} apart"
  - name: ApartOnMine
    scope: position
    when: abs(value.basis) > 0.02 || market("BTC").value.basis > 0.02
    severity: critical
    summary: "{{ wallet.name }}: {{ position.symbol }} is marked {{ value.basis }} off the oracle"
`,
  },
  {
    title: "Events",
    text: "Judged once for each event; each match is one alert, which needs no resolution. `throttle` holds back all but one message a subject; on notifications, `acknowledge` says when they count as handled.",
    yaml: `rules:
  - name: GotLiquidated
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }}: {{ event.kind }} of {{ event.symbol }}, {{ usd(event.notional) }} at {{ price(event.price) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 1m
    acknowledge: whenDelivered            # never | whenDelivered | whenAcknowledged | always
    summary: "{{ wallet.name }}: filled {{ event.symbol }}{{ has(event.price) ? ' at ' + price(event.price) : '' }}"
  - name: WithdrawalRightLost
    on: capability
    when: event.before == "yes" && event.after != "yes"
    severity: warning
    summary: "{{ wallet.name }}: lost the right {{ event.field }}"
`,
  },
  {
    title: "Time of day, names, ages",
    text: "`now` is the time of judging; `like` takes patterns whose cost is bounded (regular expressions are refused).",
    yaml: `rules:
  - name: NightShift
    scope: trader
    when: trader.marginRatio > 0.5 && (now.getHours("Europe/Berlin") >= 22 || now.getHours("Europe/Berlin") < 7)
    severity: warning
    summary: "{{ trader.name }}: margin ratio {{ percent(trader.marginRatio) }}, and nobody is at the desk"
  - name: OldData
    scope: wallet
    when: wallet.name.like("mm-*") && wallet.dataAge > duration("30s")
    severity: info
    summary: "{{ wallet.name }}: data are {{ duration(wallet.dataAge) }} old"
`,
  },
];
