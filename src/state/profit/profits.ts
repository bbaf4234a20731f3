/**
 * Updates the profit of each wallet from the states of its accounts and the records of its histories, and requests extra readings
 * of the histories while a change of collateral is not explained.
 */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { Today } from "../day/today.ts";
import type { Markets } from "../markets/markets.ts";
import { CollateralValues } from "./collateral-values.ts";
import { HistoryReadings } from "./history-readings.ts";
import { ProfitFigures } from "./profit-figures.ts";
import { ProfitRecords } from "./profit-records.ts";
import { ProfitStates } from "./profit-states.ts";
import { TransferDirections } from "./records/transfer-directions.ts";

export class Profits {
  readonly states: ProfitStates;
  readonly records: ProfitRecords;

  constructor(options: {
    readonly markets: Markets;
    readonly accounts: Accounts;
    readonly today: Today;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    /** Writes to the log. */
    readonly note: (text: string) => void;
    /** Called for each account that no longer exists. */
    readonly onGone: (account: string, builder: ChangesBuilder) => void;
    /** Called when collateral in other assets was paid in or out. */
    readonly onSpotFlow: (wallet: string, atMs: number) => void;
    /** True if a rule reads profit, so that histories are read at once. */
    readonly asked: boolean;
  }) {
    const { accounts, today, note, onGone, onSpotFlow } = options;
    const readings = new HistoryReadings(options.deadlines, options.builder, options.asked);
    const figures = new ProfitFigures({ accounts, today, readings, note, onSpotFlow });
    const values = new CollateralValues(options.markets);
    const directions = new TransferDirections(accounts);
    this.states = new ProfitStates({ accounts, values, figures, readings, onGone });
    this.records = new ProfitRecords({ today, directions, figures, note });
  }
}
