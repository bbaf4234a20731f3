/**
 * The ledger's side: addresses that the SDK derives, instructions that it builds from the simulator's configuration,
 * and what it reads from the chain itself.
 */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { branded, type Call, type Calls, chain, local, parses } from "./call.ts";
import { stopLossRequest } from "./calls-api.ts";
import { permissionOf, snapshotOf } from "./calls-onboarding.ts";
import type { Desk } from "./desk.ts";

type Pda = sdk.PhoenixPdaClient;
/** An address that the SDK derives, held against the one that the simulator names; null: it names none. */
const derived = (
  derive: (pda: Pda, desk: Desk) => unknown,
  named: (desk: Desk) => unknown = () => null,
): Call =>
  parses(async (desk) => {
    const address = await derive(desk.client.pda, desk);
    const told = await named(desk);
    if (told !== null) expect(address).toBe(told);
    return `${String(address).slice(0, 6)}…${told === null ? "" : " as the simulator says"}`;
  });

const solOf = async (desk: Desk) => (await snapshotOf(desk)).markets.find((it) => it.symbol === "SOL")!;
const mint = async (desk: Desk) => branded<sdk.MintAddress>((await snapshotOf(desk)).exchange.canonicalMint);
const owner = ({ lived }: Desk) => branded<sdk.Authority>(lived.authority);
const account = ({ lived }: Desk) => branded<sdk.TraderAddress>(lived.traderPda);

const pdaCalls: Calls = {
  "client.pda.getProgramAddress": derived(
    (pda) => pda.getProgramAddress(),
    async (desk) => (await snapshotOf(desk)).exchange.programId,
  ),
  "client.pda.getLogAuthorityAddress": derived(
    (pda) => pda.getLogAuthorityAddress(),
    () => logAuthority,
  ),
  "client.pda.getGlobalConfigurationAddress": derived(
    (pda) => pda.getGlobalConfigurationAddress(),
    async (desk) => (await snapshotOf(desk)).exchange.globalConfig,
  ),
  "client.pda.getSplineCollectionAddress": derived(
    async (pda, desk) =>
      pda.getSplineCollectionAddress({ marketAccountAddress: branded((await solOf(desk)).marketPubkey) }),
    async (desk) => (await solOf(desk)).splinePubkey,
  ),
  "client.pda.getTraderAddress": derived(
    (pda, desk) =>
      pda.getTraderAddress({ authority: owner(desk), traderPdaIndex: 0, subaccountIndex: 1 } as never),
    ({ isolatedPda }) => isolatedPda,
  ),
  "client.pda.getTraderTokenAccountAddress": derived(async (pda, desk) =>
    pda.getTraderTokenAccountAddress({ authority: owner(desk), mint: await mint(desk) }),
  ),
  "client.pda.getGlobalVaultAddress": derived(
    async (pda, desk) => pda.getGlobalVaultAddress({ mint: await mint(desk) }),
    async (desk) => (await snapshotOf(desk)).exchange.globalVault,
  ),
  "client.pda.getEmberStateAddress": derived((pda) => pda.getEmberStateAddress()),
  "client.pda.getEmberVaultAddress": derived((pda) => pda.getEmberVaultAddress()),
  "client.pda.getPermissionAddress": derived(
    async (pda, desk) => {
      const { risk_authority, trader_onboarder } = await permissionOf(desk);
      return pda.getPermissionAddress({
        permissionAuthority: branded(risk_authority),
        delegatedKey: branded(trader_onboarder),
      });
    },
    // Nobody states which authority permits the onboarder: the simulator's account is a key of its own.
  ),
  "client.pda.getEscrowAddress": derived((pda, desk) =>
    pda.getEscrowAddress({ authority: branded(owner(desk)) }),
  ),
  "client.pda.getStopLossAddress": derived(
    async (pda, desk) =>
      pda.getStopLossAddress({
        traderAccount: account(desk),
        assetId: BigInt((await solOf(desk)).assetId),
      } as never),
    // Among the accounts of the instruction that the simulator builds, where the SDK's own has it.
    async (desk) => {
      const [instruction] = await desk.client.api.orders().placeStopLossOrder(stopLossRequest(desk));
      return instruction!.accounts.at(-2)!.address;
    },
  ),
  "client.pda.getConditionalOrdersAddress": derived((pda, desk) =>
    pda.getConditionalOrdersAddress({ traderAccount: account(desk) }),
  ),
  "client.pda.getFlightGlobalStateAddress": derived((pda) => pda.getFlightGlobalStateAddress()),
  "client.pda.getFlightBuilderStateAddress": derived((pda, desk) =>
    pda.getFlightBuilderStateAddress(owner(desk)),
  ),
  "client.pda.clearCache": local(({ newClient }) => {
    newClient().pda.clearCache();
    return "";
  }),
};
const logAuthority = "GdxfTLSsdSY37G6fZoYtdGDSfgFnbT2EmRpuePZxWShS";

type Packets = sdk.PhoenixOrderPacketBuilders;
const limitOf = ({ buildLimitOrderPacket }: Packets) =>
  buildLimitOrderPacket({ symbol: "SOL", side: sdk.Side.Bid, priceUsd: "140.5", baseUnits: "2" } as never);
const marketOf = ({ buildMarketOrderPacket }: Packets) =>
  buildMarketOrderPacket({ symbol: "SOL", side: sdk.Side.Ask, baseUnits: "2" } as never);
const postOnlyOf = async (packets: Packets) => {
  const { side, priceInTicks, numBaseLots, clientOrderId } = await limitOf(packets);
  return {
    side,
    priceInTicks,
    numBaseLots,
    clientOrderId,
    slide: false,
    lastValidSlot: null,
    orderFlags: 0,
    cancelExisting: false,
  };
};

const packetCalls: Calls = {
  "client.orderPackets.buildLimitOrderPacket": parses(async ({ client }) => {
    expect(await limitOf(client.orderPackets)).toMatchObject({ priceInTicks: 14_050n, numBaseLots: 200n });
    return "140.5 USD is 14050 ticks, 2 SOL are 200 lots";
  }),
  "client.orderPackets.buildMarketOrderPacket": parses(async ({ client }) => {
    expect(await marketOf(client.orderPackets)).toMatchObject({ priceInTicks: null, numBaseLots: 200n });
    return "2 SOL are 200 lots";
  }),
};

const [below, above] = [sdk.Direction.LessThan, sdk.Direction.GreaterThan];
const trigger = {
  triggerDirection: below,
  tradeSide: sdk.Side.Ask,
  triggerPrice: 13_000n,
  executionPrice: 12_900n,
  orderKind: sdk.StopLossOrderKind.IOC,
};

/** The arguments of each builder beside the wallet, its indices and SOL. */
const builders: Record<string, (desk: Desk) => object | Promise<object>> = {
  buildCancelAll: () => ({}),
  buildCancelOrdersById: () => ({ orders: [{ priceInTicks: 14_050n, orderSequenceNumber: 7n }] }),
  buildCancelUpTo: () => ({ side: sdk.Side.Bid, numOrdersToCancel: 3, tickLimit: 10_000n }),
  buildUncrossCrank: () => ({ matchLimit: 4 }),
  buildCancelStopLoss: () => ({ executionDirection: below }),
  buildCreateConditionalOrdersAccount: () => ({ capacity: 8 }),
  buildCreateEscrowRequest: ({ newKey, lived }) => ({
    senderAuthority: lived.authority,
    receiverAuthority: newKey().address,
    actions: [{ kind: "cash", amount: 1n }],
  }),
  buildDelegateTrader: ({ newKey, lived }) => ({
    traderWallet: lived.authority,
    newPositionAuthority: newKey().address,
  }),
  buildPlaceLimitOrder: async ({ client }) => ({ orderPacket: await limitOf(client.orderPackets) }),
  buildPlaceMarketOrder: async ({ client }) => ({ orderPacket: await marketOf(client.orderPackets) }),
  buildPlaceMarketOrderDelegated: async ({ client, newKey }) => ({
    orderPacket: await marketOf(client.orderPackets),
    positionAuthority: newKey().address,
    permissionAccount: newKey().address,
  }),
  buildPlacePositionConditionalOrder: () => ({ lessTriggerOrder: trigger, sizePercent: 100 }),
  buildPlaceAttachedConditionalOrder: () => ({
    orderId: { priceInTicks: 14_050n, orderSequenceNumber: 7n },
    greaterTriggerOrder: {
      ...trigger,
      triggerDirection: above,
      triggerPrice: 19_000n,
      executionPrice: 18_900n,
    },
  }),
  buildPlaceLimitOrderWithConditionals: async ({ client }) => ({
    orderPacket: { __kind: "Limit", ...(await limitOf(client.orderPackets)) },
    lessTriggerOrder: trigger,
  }),
  buildPlacePostOnlyOrder: async ({ client }) => ({ orderPacket: await postOnlyOf(client.orderPackets) }),
  placeLimitOrder: async ({ client }) => ({ orderPacket: await limitOf(client.orderPackets) }),
  placeMarketOrder: async ({ client }) => ({ orderPacket: await marketOf(client.orderPackets) }),
  placeMarketOrderDelegated: async ({ client, newKey }) => ({
    orderPacket: await marketOf(client.orderPackets),
    positionAuthority: newKey().address,
    permissionAccount: newKey().address,
  }),
  placePositionConditionalOrder: () => ({ lessTriggerOrder: trigger, sizePercent: 100 }),
  placePostOnlyOrder: async ({ client }) => ({ orderPacket: await postOnlyOf(client.orderPackets) }),
  buildDepositFunds: () => ({ amount: 5n }),
  buildWithdrawFunds: () => ({ amount: 5n }),
  buildTransferCollateral: () => ({ srcSubaccountIndex: 0, dstSubaccountIndex: 1, amount: 5n }),
  buildTransferCollateralChildToParent: () => ({ childSubaccountIndex: 1 }),
  buildEmberDeposit: () => ({ amount: 5n }),
  buildEmberWithdraw: () => ({ amount: 5n }),
  buildSyncParentToChild: ({ lived }) => ({ traderWallet: lived.authority, traderSubaccountIndex: 1 }),
  buildDepositIxs: () => ({ amount: 5n }),
  buildWithdrawIxs: () => ({ amount: 5n }),
  buildHawkeyeViewMargin: () => ({}),
  buildHawkeyeViewMarginForAsset: () => ({}),
  buildHawkeyeViewLiquidationPrice: () => ({}),
  buildHawkeyeViewBbo: () => ({}),
  buildHawkeyeViewFunding: () => ({}),
};

interface Built {
  readonly programAddress: string;
  readonly accounts: readonly { readonly address: string; readonly role: number }[];
  readonly data: ArrayLike<number>;
}

type Build = (params: object) => Promise<Built | { readonly instructions: readonly Built[] }>;

const built = ({ programAddress, accounts, data }: Built): string => {
  expect(programAddress).toMatch(/^\w{32,44}$/);
  return `${accounts.length} accounts, ${data.length} bytes`;
};

const instructionCalls: Calls = Object.fromEntries(
  Object.entries(builders).map(([name, more]) => [
    `client.ixs.${name}`,
    parses(async (desk) => {
      const build = branded<Build>(desk.client.ixs[name as keyof sdk.PhoenixIxClient]);
      const result = await build({
        authority: desk.lived.authority,
        traderPdaIndex: 0,
        traderSubaccountIndex: 0,
        symbol: "SOL",
        ...(await more(desk)),
      });
      return "instructions" in result ? result.instructions.map(built).join("; ") : built(result);
    }),
  ]),
);

/** An instruction in plain words, to hold one against another. */
const plainly = ({ programAddress, accounts, data }: Built) => ({
  programAddress,
  accounts: accounts.map(({ address, role }) => [address, role]),
  data: Buffer.from(Array.from(data)).toString("hex"),
});
const registered = ({ programId, keys, data }: sdk.RegisterIxInstruction) =>
  plainly({
    programAddress: programId,
    accounts: keys.map((it) => ({
      address: it.pubkey,
      role: (it.isSigner ? 2 : 0) + (it.isWritable ? 1 : 0),
    })),
    data: Uint8Array.from(data),
  });

const heldAgainst: Calls = {
  "client.ixs.buildRegisterTrader": parses(async ({ client, newKey }) => {
    const { address } = newKey();
    const who = { traderAuthority: address, txFeePayer: address };
    const [register] = (await client.api.exchange().buildRegisterIxs(who)).instructions;
    const own = await client.ixs.buildRegisterTrader({
      authority: branded(address),
      marginType: sdk.MarginType.Cross,
    });
    expect(registered(register!)).toEqual(plainly(own));
    return "byte for byte the simulator's";
  }),
  "client.ixs.buildOnboardTraderDelegated": parses(async (desk) => {
    const { client, newKey } = desk;
    const { address } = newKey();
    const who = { traderAuthority: address, txFeePayer: address };
    const { instructions } = await client.api.exchange().buildRegisterIxs(who);
    const { trader_onboarder, permission_account } = await permissionOf(desk);
    const own = await client.ixs.buildOnboardTraderDelegated({
      authority: branded(trader_onboarder),
      traderAuthority: branded(address),
      permissionAccount: branded(permission_account),
    });
    expect(registered(instructions[1]!)).toEqual(plainly(own));
    return "byte for byte the simulator's";
  }),
  "client.ixs.buildPlaceStopLoss": parses(async (desk) => {
    const [theirs] = await desk.client.api.orders().placeStopLossOrder(stopLossRequest(desk));
    const own = await desk.client.ixs.buildPlaceStopLoss({
      authority: owner(desk),
      symbol: branded("SOL"),
      triggerPrice: 13_000n,
      executionPrice: 12_900n,
      tradeSide: sdk.Side.Ask,
      executionDirection: below,
      orderKind: sdk.StopLossOrderKind.IOC,
    });
    const [one, other] = [plainly(theirs!), plainly(own)];
    expect(one.accounts).toEqual(other.accounts);
    // The SDK leaves the size open; the service writes the one that was asked for.
    const but = (hex: string) => `${hex.slice(0, 48)}…${hex.slice(64)}`;
    expect(but(one.data)).toBe(but(other.data));
    return "byte for byte the simulator's, but for the size";
  }),
};

const onlyLedger = "the account stands on the real ledger only";
/** Nothing stands at a derived address; at a key, what everybody begins with, and no data. */
const noAccount = /was not returned from RPC|Expected byte array constant/;
const hawkeye = "a program of the real ledger computes it";
const trader = (desk: Desk) => ({ authority: owner(desk), symbol: branded<sdk.Symbol>("SOL") });

/** Runs nowhere but on the real ledger: here the simulation of it says so. */
const viewed = (
  view: (desk: Desk) => Promise<{ readonly err: unknown; readonly returnData: unknown }>,
): Call =>
  chain(
    hawkeye,
    async (desk) => {
      const { err, returnData } = await view(desk);
      if (err !== null && returnData === null) throw new Error(`refused: ${JSON.stringify(err)}`);
    },
    /refused: /,
  );

const chainCalls: Calls = {
  "client.rpc.accounts.fetchAccount": parses(async (desk) => {
    const { data } = await desk.client.rpc.accounts.fetchAccount(branded(account(desk)));
    return `${data.length} bytes`;
  }),
  "client.rpc.exchange.getGlobalConfiguration": chain(
    onlyLedger,
    ({ client }) => client.rpc.exchange.getGlobalConfiguration(),
    noAccount,
  ),
  "client.rpc.exchange.getPerpAssetMap": chain(
    onlyLedger,
    ({ client }) => client.rpc.exchange.getPerpAssetMap(),
    noAccount,
  ),
  "client.rpc.markets.getOrderbookHeader": parses(async ({ client }) => {
    const head = await client.rpc.markets.getOrderbookHeader(branded("SOL"));
    expect(head).toMatchObject({
      assetSymbol: "SOL",
      baseLotsDecimals: 2,
      tickSizeInQuoteLotsPerBaseLot: 100n,
    });
    return "tick size and lots of a market";
  }),
  "client.rpc.markets.getOrderbook": chain(
    "the market's account of the simulated ledger is its head alone",
    ({ client }) => client.rpc.markets.getOrderbook(branded("SOL")),
    /cannot decode empty byte arrays/,
  ),
  "client.rpc.markets.getSplineCollection": chain(
    onlyLedger,
    ({ client }) => client.rpc.markets.getSplineCollection(branded("SOL")),
    noAccount,
  ),
  "client.rpc.hawkeye.simulateInstruction": viewed(async (desk) =>
    desk.client.rpc.hawkeye.simulateInstruction(
      await desk.client.ixs.buildHawkeyeViewMargin({ authority: owner(desk) }),
    ),
  ),
  "client.rpc.hawkeye.viewMargin": viewed((desk) =>
    desk.client.rpc.hawkeye.viewMargin({ authority: owner(desk) }),
  ),
  "client.rpc.hawkeye.viewMarginForAsset": viewed((desk) =>
    desk.client.rpc.hawkeye.viewMarginForAsset(trader(desk)),
  ),
  "client.rpc.hawkeye.viewLiquidationPrice": viewed((desk) =>
    desk.client.rpc.hawkeye.viewLiquidationPrice(trader(desk)),
  ),
  "client.rpc.hawkeye.viewBbo": viewed((desk) => desk.client.rpc.hawkeye.viewBbo({ symbol: branded("SOL") })),
  "client.rpc.hawkeye.viewFunding": viewed((desk) => desk.client.rpc.hawkeye.viewFunding(trader(desk))),
  fetchTrader: parses(async (desk) => {
    const it = await sdk.fetchTrader({ client: desk.client.rpc.accounts, address: account(desk) });
    expect([it.authority, it.traderPdaIndex, it.traderSubaccountIndex]).toEqual([owner(desk), 0, 0]);
    return `room for ${it.maxPositions} positions`;
  }),
};

export const ledgerCalls: Calls = {
  ...pdaCalls,
  ...packetCalls,
  ...instructionCalls,
  ...heldAgainst,
  ...chainCalls,
};
