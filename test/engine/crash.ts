/** Wallets that a falling market brings near liquidation: a watch with the messages that leave of it. */
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Capacity } from "../../src/domain/alerts/delivery.ts";
import type { Silence } from "../../src/domain/alerts/silence.ts";
import { Delivery, type ReplayedMessage } from "../../src/replay/delivery.ts";
import {
  Harness,
  type HarnessOptions,
  mainWallet,
  marketConfig,
  position,
  prices,
  subaccount,
} from "./harness.ts";

export const second = 1_000;
export const minute = 60 * second;
export const symbols = ["SOL", "BTC", "ETH"] as const;
export const capacities: ReadonlyMap<string, Capacity> = new Map([
  ["chat", { edits: true }],
  ["hook", { apart: true, maxNamed: 50 }],
  ["alarm", { byAccount: true, maxNamed: 8 }],
]);

export const near = `
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.10 }
      critical: { when: value < 0.05 }
    keepFiringFor: 0s
    summary: "{{ wallet.name }} {{ percent(value) }}"
`;

interface Account {
  readonly collateral: number;
  /** Units of the long in each market. */
  readonly sizes: readonly number[];
}

/** Wallets whose accounts are as far from liquidation as said, in each market alike. */
export class Crash {
  harness: Harness;
  readonly messages: ReplayedMessage[] = [];
  readonly changes: AlertChange[] = [];
  readonly #byId = new Map<number, AlertChange>();
  /** The newest change of each alert that fires. */
  readonly #firing = new Map<number, AlertChange>();
  #options: HarnessOptions;
  readonly #delivery: Delivery;
  readonly #marks = new Map<string, number>(symbols.map((symbol) => [symbol, 100]));
  readonly #accounts: (Account & { readonly wallet: string })[];
  #handed = 0;
  #silences = 0;

  /** @param accounts one of each wallet: `mm-1`, `mm-2`, … */
  constructor(accounts: readonly Account[], options: Partial<HarnessOptions> = {}) {
    this.#accounts = accounts.map((one, i) => ({ wallet: `mm-${i + 1}`, ...one }));
    const wallets = this.#accounts.map(({ wallet: name }) => ({ ...mainWallet, name }));
    this.#options = {
      rules: `rules:\n${near}`,
      wallets,
      routing: { receivers: ["chat", "mail"] },
      capacities,
      ...options,
    };
    this.harness = new Harness(this.#options);
    this.#delivery = new Delivery({
      stormFold: 3,
      capacities,
      onMessage: (message) => void this.messages.push(message),
    });
    this.look();
  }

  /** All is read anew. */
  look(marks: Readonly<Record<string, number>> = {}): void {
    const { harness } = this;
    for (const [symbol, mark] of Object.entries(marks)) this.#marks.set(symbol, mark);
    harness.config(...symbols.map((symbol) => marketConfig(symbol)));
    harness.mark(...[...this.#marks].map(([symbol, mark]) => prices(mark, symbol)));
    for (const { wallet, collateral, sizes } of this.#accounts) {
      const positions = sizes.flatMap((size, i) => (size === 0 ? [] : [position(size, 100, symbols[i]!)]));
      harness.account([subaccount(collateral, positions)], wallet);
      harness.events("liquidations", [], wallet);
    }
    this.hand();
  }

  /** Other collateral, or other positions, of one wallet from the next reading on. */
  set(wallet: string, account: Partial<Account>): void {
    const at = this.#accounts.findIndex((one) => one.wallet === wallet);
    this.#accounts[at] = { ...this.#accounts[at]!, ...account };
  }

  /** Time passes; all is read every five seconds. */
  pass(ms: number): void {
    const untilMs = this.harness.nowMs + ms;
    while (this.harness.nowMs < untilMs) {
      this.harness.pass(Math.min(second, untilMs - this.harness.nowMs));
      if (this.harness.nowMs % (5 * second) === 0) this.look();
      this.hand();
    }
  }

  hand(): void {
    for (; this.#handed < this.harness.all.length; this.#handed++) {
      const { deliveryItems: owed, alertChanges } = this.harness.all[this.#handed]!;
      this.changes.push(...alertChanges);
      for (const change of alertChanges) {
        this.#byId.set(change.id, change);
        if (change.alert.state === "firing") this.#firing.set(change.alertId, change);
        else this.#firing.delete(change.alertId);
      }
      const items = owed.map((item) => ({ item, change: this.#byId.get(item.changeId)! }));
      this.#delivery.addPending(
        items,
        Math.max(...owed.map(({ owedAtMs }) => owedAtMs), Number.NEGATIVE_INFINITY),
      );
    }
    this.#delivery.sendUntil(this.harness.nowMs);
  }

  /** The daemon crashes and starts anew. @param byMs what the clock shows more than before */
  restart(byMs = second): void {
    this.harness = this.harness.restarted(this.#options, byMs);
    this.#handed = 0;
    this.#delivery.beginStart();
    this.#delivery.started(null, this.harness.nowMs);
    this.look();
  }

  reload(options: Partial<HarnessOptions>): void {
    this.#options = { ...this.#options, ...options };
    this.harness.reload(this.#options);
    this.look();
  }

  /** Silences wallets that match. */
  silence(wallets: string, ms: number, upTo: Silence["upTo"] = "critical"): void {
    const { nowMs } = this.harness;
    this.#silences++;
    const silence: Silence = {
      ...{ id: this.#silences, match: { wallet: { matches: wallets } }, upTo, author: "ann", comment: "" },
      ...{ startsMs: nowMs, endsMs: nowMs + ms, createdMs: nowMs },
    };
    this.harness.see({ kind: "silenced", atMs: nowMs, silence });
    this.hand();
  }

  /** The newest change of each alert that fires. */
  get firing(): readonly AlertChange[] {
    return [...this.#firing.values()];
  }

  /** Somebody acknowledges what fires of these wallets. */
  acknowledge(...wallets: readonly string[]): void {
    const atMs = this.harness.nowMs;
    for (const { alert } of this.firing)
      if (wallets.length === 0 || wallets.includes(alert.wallet ?? ""))
        this.harness.see({ kind: "acknowledged", atMs, alert, by: "ann", comment: "" });
    this.hand();
  }

  of(receiver: string, fromMs = 0): readonly ReplayedMessage[] {
    return this.messages.filter((one) => one.receiver === receiver && one.atMs >= fromMs);
  }

  notifying(receiver: string, fromMs = 0): readonly ReplayedMessage[] {
    return this.of(receiver, fromMs).filter(({ quiet }) => !quiet);
  }
}

/** The account of `main/0.0/SOL`. */
export const accountOf = (subject: string) => subject.split("/").slice(0, 2).join("/");
