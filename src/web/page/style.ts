/** The page's style sheet. Colour is used only where attention is needed. */
export const style = `
:root {
  color-scheme: light dark;
  --background: #f4f5f7; --card: #ffffff; --ink: #1b2230; --soft: #5b6678; --line: #e3e6eb; --track: #e9ecf1;
  --ok: #3d8b6e; --warning: #a76a0a; --critical: #c0303f; --info: #3f6fb0;
  --warning-wash: #fdf5e4; --critical-wash: #fdeeee; --fill-ok: #8fb8a8; --fill-warning: #dba13c; --fill-critical: #d6505d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --background: #0f1319; --card: #171c24; --ink: #e4e8ef; --soft: #929db0; --line: #262d38; --track: #262d38;
    --ok: #69b898; --warning: #e3ad4e; --critical: #f2737f; --info: #7fabe6;
    --warning-wash: #2a2317; --critical-wash: #2d1a1e; --fill-ok: #447a66; --fill-warning: #c28a2c; --fill-critical: #d6505d;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--background); color: var(--ink); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
main, header, footer { max-width: 1180px; margin: 0 auto; padding: 0 20px; }
h1, h2, h3, h4, p, ul, dl, dd { margin: 0; padding: 0; }
ul { list-style: none; }
h1 { font-size: 16px; font-weight: 650; letter-spacing: -.01em; }
h2 { font-size: 12px; font-weight: 600; text-transform: uppercase; letter-spacing: .07em; color: var(--soft); margin: 28px 0 10px; }
h3 { font-size: 15px; font-weight: 650; }
h4 { font-size: 13px; font-weight: 600; color: var(--soft); }
code { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--soft); }
strong { font-weight: 600; overflow-wrap: anywhere; }
header { display: flex; align-items: center; gap: 12px; padding-top: 18px; padding-bottom: 14px; }
header .mark { width: 18px; height: 18px; flex: none; }
.mark path { fill: none; stroke: var(--ink); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.mark .line { stroke: var(--critical); stroke-width: 1.5; stroke-dasharray: 2 3; }
#state { margin-left: auto; display: flex; align-items: center; gap: 10px; }
footer { padding-top: 28px; padding-bottom: 32px; color: var(--soft); font-size: 12px; }
.note, .more, .calm, small { color: var(--soft); font-size: 12.5px; }
.more { margin-top: 8px; }
.calm { padding: 2px 0; }
.bad { color: var(--critical); font-size: 12.5px; }
.card, .tile, .alert, .rows, .pairs, .lines { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 99px; font-size: 11.5px; font-weight: 600; line-height: 1.55; background: var(--track); color: var(--soft); white-space: nowrap; max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
.badge.ok { color: var(--ok); }
.badge.info { color: var(--info); }
.badge.warning { background: var(--warning-wash); color: var(--warning); }
.badge.critical { background: var(--critical); color: var(--card); }
.badge.hollow { background: none; box-shadow: inset 0 0 0 1px currentColor; }
.badge.critical.hollow { color: var(--critical); }
.banner { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; padding: 12px 16px; margin-bottom: 14px; border-radius: 10px; border: 1px solid var(--line); background: var(--card); }
.banner.warning { background: var(--warning-wash); border-color: var(--warning); }
.banner.critical { background: var(--critical-wash); border-color: var(--critical); }
.banner.critical strong { color: var(--critical); } .banner.warning strong { color: var(--warning); }
.tiles { display: grid; grid-template-columns: repeat(5, 1fr); gap: 10px; }
.tile { padding: 11px 14px 12px; min-width: 0; border-top: 3px solid var(--line); }
.tile dt { color: var(--soft); font-size: 12.5px; }
.tile b { display: block; font-size: 22px; font-weight: 620; line-height: 1.3; letter-spacing: -.02em; }
.tile small { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tile.warning { border-top-color: var(--fill-warning); } .tile.warning b { color: var(--warning); }
.tile.critical { border-top-color: var(--fill-critical); } .tile.critical b { color: var(--critical); }
.alerts { display: grid; gap: 8px; }
.alert { padding: 11px 14px; border-left: 4px solid var(--info); overflow-wrap: anywhere; }
.alert.warning { border-left-color: var(--fill-warning); }
.alert.critical { border-left-color: var(--fill-critical); background: var(--critical-wash); }
.lead { display: flex; flex-wrap: wrap; gap: 3px 9px; align-items: center; }
.alert p { margin-top: 2px; }
.subject { color: var(--soft); overflow-wrap: anywhere; }
.lines { margin-top: 8px; }
.line { display: flex; flex-wrap: wrap; gap: 3px 9px; align-items: center; padding: 7px 14px; }
.line + .line, .rows li + li { border-top: 1px solid var(--line); }
.wallet { padding: 14px 16px 4px; margin-bottom: 12px; }
.wallet.old { border-color: var(--critical); }
.wallet.old .account { opacity: .55; }
.head { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; min-width: 0; }
.age { margin-left: auto; font-size: 12.5px; color: var(--soft); }
.age.critical { color: var(--critical); font-weight: 600; }
.wallet > .calm { padding: 6px 0 12px; }
.account { padding: 12px 0; }
.account + .account { border-top: 1px solid var(--line); }
.wallet > .head + .account { padding-top: 8px; }
.facts { display: grid; grid-template-columns: 1.7fr repeat(5, 1fr); gap: 8px 18px; padding: 8px 0 10px; }
.facts dt, .pairs dt { color: var(--soft); font-size: 12px; }
.facts dd { font-weight: 550; }
.measure { display: flex; align-items: center; gap: 9px; }
.measure b { font-weight: 620; white-space: nowrap; }
.bar { width: 100%; min-width: 44px; height: 6px; flex: 1; display: block; }
.bar .track { fill: var(--track); } .bar .fill { fill: var(--fill-ok); }
.bar.warning .fill { fill: var(--fill-warning); } .bar.critical .fill { fill: var(--fill-critical); } .bar.quiet .fill { fill: none; }
.warning > .measure b, .warning > dd .measure b { color: var(--warning); }
.critical > .measure b, .critical > dd .measure b { color: var(--critical); }
table { width: 100%; border-collapse: collapse; table-layout: fixed; }
thead th:first-child { width: 15%; } thead th:nth-child(7) { width: 20%; } thead th:last-child { width: 12%; white-space: normal; }
.worth { color: var(--soft); font-size: 12.5px; } .worth b { font-weight: 600; color: var(--ink); } .worth b.gain { color: var(--ok); } .worth b.loss { color: var(--critical); }
thead th { color: var(--soft); font-size: 12px; font-weight: 450; padding: 4px 0 4px 14px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: bottom; }
td, tbody th { padding: 7px 0 7px 14px; text-align: right; font-weight: 450; white-space: nowrap; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th, thead th:first-child { text-align: left; padding-left: 0; font-weight: 620; }
thead th:first-child { font-weight: 450; }
.distance .measure b { min-width: 56px; text-align: right; }
.side { margin-left: 8px; color: var(--soft); font-weight: 450; font-size: 12.5px; }
.gain { color: var(--ok); } .loss { color: var(--critical); }
.columns { display: grid; grid-template-columns: 1fr 1fr; gap: 0 16px; align-items: start; }
.rows li { display: flex; gap: 10px; padding: 9px 14px; align-items: baseline; }
.rows li > div { flex: 1; min-width: 0; overflow-wrap: anywhere; }
.dot { width: 8px; height: 8px; border-radius: 50%; background: var(--soft); flex: none; align-self: flex-start; margin-top: 7px; }
.dot.ok { background: var(--fill-ok); } .dot.warning { background: var(--fill-warning); } .dot.critical { background: var(--fill-critical); }
.end { display: grid; text-align: right; flex: none; }
.end b { font-weight: 550; }
.pairs { display: grid; grid-template-columns: repeat(2, 1fr); gap: 12px 18px; padding: 14px; }
.pairs div { min-width: 0; }
.pairs dd { font-weight: 550; overflow-wrap: anywhere; }
.pairs small { display: block; font-weight: 400; }
.pairs .bad dd { color: var(--critical); } .pairs .caution dd { color: var(--warning); }
body.gone main > :not(#banner), body.gone footer { opacity: .5; filter: grayscale(.85); }
body.loading main > :not(#banner):not(.first):not(#login) { display: none; }
body:not(.loading) .first { display: none; }
body.locked main > :not(#login), body.locked #state, body:not(.session) #logout { display: none; }
.login { max-width: 460px; margin: 48px auto; padding: 8px 24px 24px; }
.login p { margin-top: 8px; }
.login code { display: inline-block; padding: 6px 12px; border-radius: 6px; background: var(--track); color: var(--ink); font-size: 13.5px; }
.login form { margin-top: 20px; padding-top: 16px; border-top: 1px solid var(--line); }
.login form div { display: flex; gap: 8px; margin-top: 6px; }
.login input { flex: 1; min-width: 0; }
button, input { padding: 6px 12px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: var(--ink); font: inherit; }
button { cursor: pointer; }
#logout { padding: 2px 10px; color: var(--soft); font-size: 12.5px; }
.first { padding: 60px 0; text-align: center; color: var(--soft); }
@media (max-width: 900px) {
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .tiles .tile:first-child { grid-column: 1 / -1; }
  .columns { grid-template-columns: 1fr; }
  .facts { grid-template-columns: repeat(3, 1fr); }
  .facts .ratio { grid-column: 1 / -1; }
}
@media (max-width: 720px) {
  main, header, footer { padding-left: 14px; padding-right: 14px; }
  thead { display: none; }
  table, tbody { display: block; }
  tbody tr { display: grid; grid-template-columns: repeat(3, 1fr); gap: 6px 14px; padding: 10px 0; border-top: 1px solid var(--line); }
  tbody tr + tr > * { border-top: 0; }
  tbody th, td { padding: 0; text-align: left; white-space: normal; }
  tbody th { grid-column: 1 / -1; }
  td::before { content: attr(data-label); display: block; color: var(--soft); font-size: 12px; }
  td.distance { grid-column: 1 / -1; width: auto; grid-row: 2; }
  .age { margin-left: 0; width: 100%; }
}
`;
