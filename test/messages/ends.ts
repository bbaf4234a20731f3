/** Ends that no figures of a rule test come to: by a reload, and by a payment whose record came late. From made-up answers, judged as live. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { Harness, mainWallet, position, subaccount } from "../engine/harness.ts";
import { flow, live, second } from "../engine/traded.ts";
import { packs } from "./judged.ts";

const pack = (name: string) => readFileSync(path.join(packs, `${name}.yaml`), "utf8");

export function otherEnds(): readonly AlertChange[] {
  return [
    explained(),
    byReload({ rules: pack("margin") }),
    byReload({ wallets: [{ ...mainWallet, name: "other" }] }),
  ];
}

/** A withdrawal of which the history tells after it was taken for a loss. */
function explained(): AlertChange {
  const h = new Harness({ rules: pack("drawdown") });
  const held = (usd: number) => [subaccount(usd, [position(100, 150)])];
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, 600 * second, held(10_000));
  h.pass(second);
  h.account(held(8_800));
  const { slot } = h;
  live(h, 60 * second, held(8_800));
  h.events("collateral", [flow(h, -1_200, slot)]);
  return endIn(h, "LosingFast");
}

/** A position that was near liquidation when the configuration changed. */
function byReload(options: { readonly rules?: string; readonly wallets?: typeof wallets }): AlertChange {
  const settings = { rules: pack("liquidation-risk"), wallets };
  const h = Harness.seeing(settings, 104, [subaccount(5_000, [position(100, 150)])]);
  h.pass(5 * second);
  h.reload({ ...settings, ...options });
  h.pass(second);
  return endIn(h, "LiquidationNear");
}

const wallets = [mainWallet];

function endIn({ changes }: Harness, rule: string): AlertChange {
  const found = changes.find(({ kind, alert }) => kind === "ended" && alert.rule === rule);
  if (found === undefined) throw new Error(`no alert of ${rule} ended`);
  return found;
}
