/** The types that the compiler derives from the table: checked by `npm run typecheck`, run here only to be a test file. */
import { expectTypeOf, test } from "vitest";
import type { ArgsFor, Client, Handlers, RecordFor, ServerArgsFor } from "../../src/contract/endpoints.ts";
import type { MessageFor, SubscriptionFor } from "../../src/contract/stream/stream-channels.ts";

test("arguments, records, client and server follow from the table", () => {
  expectTypeOf<ArgsFor<"fundingHourly">>().toEqualTypeOf<{
    authority: string;
    traderPdaIndex?: number | undefined;
    symbol?: string | undefined;
    limit?: number | undefined;
    cursor?: string | undefined;
  }>();
  expectTypeOf<ServerArgsFor<"traderState">>().toEqualTypeOf<{ authority: string; traderPdaIndex: number }>();
  expectTypeOf<ArgsFor<"userPnl">["resolution"]>().toEqualTypeOf<"1m" | "1d">();
  expectTypeOf<ArgsFor<"authorityCollateralHistory">["limit"]>().toEqualTypeOf<number>();
  expectTypeOf<RecordFor<"logout">>().toEqualTypeOf<null>();
  expectTypeOf<RecordFor<"fundingHourly">["nextCursor"]>().toEqualTypeOf<string | null>();
  expectTypeOf<
    RecordFor<"traderState">["snapshot"]["subaccounts"][number]["collateral"]
  >().toEqualTypeOf<bigint>();
  expectTypeOf<RecordFor<"latestMarketsStats">["markets"][number]["mark_price"]>().toEqualTypeOf<number>();
  // Unknown fields pass through, but a slip of the pen does not.
  expectTypeOf<RecordFor<"exchangeStatus">>().toEqualTypeOf<{
    active: boolean;
    gated: boolean;
    withdrawalsAvailable: boolean;
  }>();

  expectTypeOf<Client["exchangeStatus"]>().toBeCallableWith();
  expectTypeOf<Client["traderState"]>().toBeCallableWith({ authority: "x" }, {});
  expectTypeOf<Parameters<Client["traderState"]>>().not.toExtend<[]>();
  expectTypeOf<Client["markets"]>().returns.resolves.toEqualTypeOf<RecordFor<"markets">>();
  expectTypeOf<Handlers<null>["exchangeStatus"]>().returns.extract<{ active: boolean }>().toExtend<{
    active: boolean;
    withdrawalsAvailable?: boolean | null | undefined;
  }>();

  expectTypeOf<SubscriptionFor<"traderState">>().toExtend<{ authority: string; traderPdaIndex: number }>();
  expectTypeOf<MessageFor<"markPrice">["markPrice"]>().toEqualTypeOf<number>();
});
