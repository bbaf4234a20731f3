/** Differences between the exchange's inbox and the stored notifications that two audits in a row find. */
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import { differenceWords } from "../../domain/inbox.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert } from "../live-alert.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const inboxRule = "InboxDiffers" satisfies BuiltInRule;

const maxNamed = 5;

export interface InboxAlertsOptions {
  readonly alerts: AlertBook;
  /** Returns the wallet of this name, if it is watched. */
  readonly wallet: (name: string) => Pick<WatchedWallet, "watchOnly"> | undefined;
  /** True if inboxes are audited on a schedule. */
  readonly audits: boolean;
}

export class InboxAlerts implements OwnAlert {
  readonly observes = ["inboxAudited"] as const;
  readonly raises = [inboxRule] as const;
  readonly #alerts: AlertBook;
  readonly #options: InboxAlertsOptions;
  readonly #live = new Map<string, LiveAlert>();

  constructor(options: InboxAlertsOptions) {
    this.#alerts = options.alerts;
    this.#options = options;
  }

  restore(live: LiveAlert): Over | null {
    const { wallet } = live.alert;
    if (!this.#options.audits)
      return {
        ending: "noLongerWatched",
        why: "acknowledge.audit is off: no inbox is audited by itself",
      };
    if (wallet !== null && this.#options.wallet(wallet)?.watchOnly)
      return { ending: "noLongerWatched", why: `${wallet} has no key here: its inbox cannot be read` };
    if (wallet !== null) this.#live.set(wallet, live);
    return null;
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    if (seen.kind !== "inboxAudited" || this.#options.wallet(seen.wallet) === undefined) return;
    const { wallet, differences, lasting } = seen;
    const known = this.#live.get(wallet);
    if (known && differences === 0) {
      this.#live.delete(wallet);
      this.#alerts.end(builder, known, "recovered", {
        summary: `${wallet}: the exchange's inbox and what is known here agree again`,
        description: "",
        value: null,
        dataAtMs: builder.atMs,
        details: [],
      });
    }
    if (known || lasting.length === 0) return;
    const shown = lasting.slice(0, maxNamed).map(({ kind, key }) => `${key}: ${differenceWords[kind]}`);
    const more = lasting.length - shown.length;
    const live = this.#alerts.fire(
      builder,
      newAlert(builder.atMs, {
        rule: inboxRule,
        subject: wallet,
        wallet,
        severity: "warning",
        summary: `${wallet}: the exchange's inbox differs from what is known here, in ${lasting.length} notifications`,
        description: `Two audits in a row found it: ${shown.join("; ")}${more > 0 ? `; ${more} more` : ""}. notifications audit lists all of it.`,
        details: [["Notifications", String(lasting.length)]],
      }),
    );
    this.#live.set(wallet, live);
  }
}
