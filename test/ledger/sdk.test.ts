/**
 * The exchange's published SDK as reference: the same instructions, addresses, transactions and accounts, to the byte.
 */
import {
  buildActivateReferralTxRequest,
  buildOnboardTraderDelegatedIx,
  buildPlaceStopLossIx,
  buildReferralActivationTransaction,
  buildRegisterTraderIx,
  Direction,
  decodeOrderbookHeader,
  decodeTrader,
  getPhoenixStopLossAddress,
  Side,
  StopLossOrderKind,
} from "@ellipsis-labs/rise";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type NamedInstruction,
  onboardInstruction,
  registerInstruction,
  stopLossInstruction,
} from "../../src/contract/index.ts";
import { readMarketAccount } from "../../src/ledger/market-account.ts";
import { activationInstructions, plainInstructions } from "../../src/ledger/review.ts";
import { addressOf, logAuthority, stopLossAddress, traderAddress } from "../../src/wallet/address.ts";
import {
  assembleTransaction,
  readTransaction,
  signTransaction,
} from "../../src/wallet/ledger-transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { ask, quiet } from "../simulator/support.ts";

/** The SDK's addresses are branded text. */
type Branded = never;
const branded = (text: string) => text as Branded;

/** An instruction of the SDK in our form. Roles: bit 0 writable, bit 1 signer. */
function plain(instruction: {
  readonly programAddress: string;
  readonly accounts: readonly { readonly address: string; readonly role: number }[];
  readonly data: ArrayLike<number>;
}) {
  return {
    programId: String(instruction.programAddress),
    accounts: instruction.accounts.map(({ address, role }) => ({
      pubkey: String(address),
      isSigner: (role & 2) !== 0,
      isWritable: (role & 1) !== 0,
    })),
    data: [...Array.from(instruction.data)],
  };
}
const ours = ({ programId, accounts, data }: NamedInstruction) => ({
  programId,
  accounts: accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, isSigner, isWritable })),
  data: [...data],
});

const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(addressOf);
const parts = fc.record({
  ...{ globalConfig: key, authority: key, payer: key, onboarder: key, permission: key, asset: key },
  ...{ orderbook: key, spline: key, stopLossAccount: key },
  globalTraderIndex: fc.array(key, { minLength: 1, maxLength: 3 }),
  activeTraderBuffer: fc.array(key, { minLength: 1, maxLength: 3 }),
  maxPositions: fc.integer({ min: 32, max: 128 }),
  triggerTicks: fc.bigInt(1n, 2n ** 50n),
  executionTicks: fc.bigInt(1n, 2n ** 50n),
  bid: fc.boolean(),
  above: fc.boolean(),
  limit: fc.boolean(),
});

test("instructions are those that the SDK builds", () => {
  fc.assert(
    fc.property(parts, (it) => {
      const { authority, payer, globalConfig, globalTraderIndex, activeTraderBuffer, maxPositions } = it;
      const traderAccount = traderAddress(authority, { pdaIndex: 0, subaccount: 0 });
      const common = { logAuthority: logAuthority(), globalConfig, globalTraderIndex, activeTraderBuffer };
      const shared = {
        globalConfigurationAddress: branded(globalConfig),
        globalTraderIndex: globalTraderIndex as Branded,
        activeTraderBuffer: activeTraderBuffer as Branded,
        traderAccount: branded(traderAccount),
      };
      expect(ours(registerInstruction({ ...common, payer, authority, traderAccount, maxPositions }))).toEqual(
        plain(
          buildRegisterTraderIx({
            ...shared,
            payer: branded(payer),
            trader: branded(authority),
            maxPositions: BigInt(maxPositions),
            traderPdaIndex: 0,
            traderSubaccountIndex: 0,
          }),
        ),
      );
      const { onboarder, permission } = it;
      expect(
        ours(
          onboardInstruction({
            ...common,
            traderOnboarder: onboarder,
            permissionAccount: permission,
            traderAccount,
          }),
        ),
      ).toEqual(
        plain(
          buildOnboardTraderDelegatedIx({
            ...shared,
            authority: branded(onboarder),
            permissionAccount: branded(permission),
          }),
        ),
      );
      const { asset, orderbook, spline, stopLossAccount, triggerTicks, executionTicks, bid, above, limit } =
        it;
      expect(
        ours(
          stopLossInstruction({
            ...common,
            ...{ funder: payer, traderAccount, perpAssetMap: asset, orderbook, spline },
            ...{ positionAuthority: authority, stopLossAccount },
            order: {
              ...{ triggerTicks, executionTicks, baseLots: 0n, side: bid ? "bid" : "ask" },
              ...{ direction: above ? "above" : "below", kind: limit ? "limit" : "ioc" },
            },
          }),
        ),
      ).toEqual(
        plain(
          buildPlaceStopLossIx({
            ...shared,
            funder: branded(payer),
            perpAssetMap: branded(asset),
            orderbook: branded(orderbook),
            splineCollection: branded(spline),
            positionAuthority: branded(authority),
            stopLossAccount: branded(stopLossAccount),
            triggerPrice: triggerTicks,
            executionPrice: executionTicks,
            tradeSide: bid ? Side.Bid : Side.Ask,
            executionDirection: above ? Direction.GreaterThan : Direction.LessThan,
            orderKind: limit ? StopLossOrderKind.Limit : StopLossOrderKind.IOC,
          }),
        ),
      );
    }),
  );
});

test("a stop loss is kept where the SDK looks for it", async () => {
  await fc.assert(
    fc.asyncProperty(key, fc.nat(300), async (traderAccount, assetId) => {
      const address = await getPhoenixStopLossAddress({
        traderAccount: branded(traderAccount),
        assetId: BigInt(assetId),
      });
      expect(stopLossAddress(traderAccount, assetId)).toBe(address);
    }),
    { numRuns: 30 },
  );
});

test("an activation is the SDK's own, whoever pays and whether or not there is an account", async () => {
  const names = fc.record({ it: parts, blockhash: key, paid: fc.boolean(), registered: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(names, async ({ it, blockhash, paid, registered }) => {
      const { authority, onboarder, permission, maxPositions } = it;
      const feePayer = paid ? it.payer : authority;
      const accounts = { ...it, perpAssetMap: it.asset };
      const asked = { authority, feePayer, maxPositions, registered, accounts };
      const reviewed = activationInstructions(asked, { onboarder, account: permission });
      const { wire } = assembleTransaction({
        feePayer,
        blockhash,
        instructions: plainInstructions(reviewed),
      });
      const { unsignedTransactionBase64 } = await buildReferralActivationTransaction({
        referralCode: "EXAMPLE",
        traderAuthority: authority,
        recentBlockhash: blockhash,
        feePayer,
        includeRegisterTrader: !registered,
        registerTraderMaxPositions: BigInt(maxPositions),
        permission: {
          trader_onboarder: onboarder,
          permission_account: permission,
          risk_authority: onboarder,
        },
        exchangeAccounts: {
          phoenixProgramAddress: "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih",
          logAuthorityAddress: logAuthority(),
          globalConfigurationAddress: it.globalConfig,
          globalTraderIndex: it.globalTraderIndex,
          activeTraderBuffer: it.activeTraderBuffer,
        } as Branded,
      });
      expect(wire).toBe(unsignedTransactionBase64);
    }),
    { numRuns: 60 },
  );
});

test("the SDK activates a trader of the simulator, and reads accounts from its chain", async () => {
  await using simulator = await quiet();
  const newcomer = WalletKey.fromSeed(new Uint8Array(32).fill(31));
  const sponsor = WalletKey.fromSeed(new Uint8Array(32).fill(32));
  const get = async (path: string) => (await ask(simulator, path)).json;
  const rpc = async (method: string, params: unknown[] = []) =>
    (await ask(simulator, "/rpc", { body: { jsonrpc: "2.0", id: 1, method, params } })).json.result.value;
  const { exchange } = await get("/v1/exchange/snapshot");
  const build = async () =>
    buildActivateReferralTxRequest({
      referralCode: "EXAMPLE",
      traderAuthority: newcomer.address,
      feePayer: sponsor.address,
      recentBlockhash: (await rpc("getLatestBlockhash")).blockhash,
      permission: await get("/v1/referral/activation-permission"),
      exchangeAccounts: {
        phoenixProgramAddress: exchange.programId,
        logAuthorityAddress: logAuthority(),
        globalConfigurationAddress: exchange.globalConfig,
        globalTraderIndex: exchange.globalTraderIndex,
        activeTraderBuffer: exchange.activeTraderBuffer,
      } as Branded,
      rpcUrl: `${simulator.url}/rpc`,
      signTransaction: async (_transaction, { unsignedTransactionBase64 }) =>
        [newcomer, sponsor].reduce(signTransaction, readTransaction(unsignedTransactionBase64)).wire,
    });
  const first = await build();
  expect(first).toMatchObject({ includeRegisterTrader: true, traderActivationState: { status: "missing" } });
  const nonce = await get(`/v1/auth/nonce?wallet_pubkey=${newcomer.address}`);
  const login = {
    ...{ wallet_pubkey: newcomer.address, nonce_id: nonce.nonce_id },
    signature: newcomer.signText(nonce.message),
  };
  const { access_token: bearer } = (await ask(simulator, "/v1/auth/login/wallet", { body: login })).json;
  const answer = await ask(simulator, "/v1/referral/activate-tx", { body: first.request, bearer });
  expect(answer.json).toMatchObject({ status: "activated", trader_pda: first.traderPda });
  expect(await build()).toMatchObject({
    includeRegisterTrader: false,
    traderActivationState: { status: "activated", flags: 63 },
  });

  const main = simulator.traders[0]!;
  const account = await rpc("getAccountInfo", [main.traderPda, { encoding: "base64" }]);
  const trader = decodeTrader(new Uint8Array(Buffer.from(account.data[0], "base64")));
  const known = simulator.world.accounts.get(main.traderPda)!;
  expect(trader).toMatchObject({
    ...{ key: main.traderPda, authority: main.authority, maxPositions: 128 },
    state: { quoteLotCollateral: known.collateral, flags: 63 },
  });
  const lots = [...known.positions.values()].map((it) => it.baseLots);
  expect(trader.positions.entries.map((it) => it.value.baseLotPosition)).toEqual(lots);

  for (const market of simulator.world.markets.values()) {
    const { symbol, assetId, marketPubkey, baseLotsDecimals, tickSize } = market.spec;
    const found = await rpc("getAccountInfo", [marketPubkey, { encoding: "base64" }]);
    const bytes = new Uint8Array(Buffer.from(found.data[0], "base64"));
    const header = decodeOrderbookHeader(bytes);
    expect(header).toMatchObject({ assetSymbol: symbol, assetId, baseLotsDecimals, tradeList: [] });
    expect(header.tickSizeInQuoteLotsPerBaseLot).toBe(BigInt(tickSize));
    expect(header.defaultTakerFeeMicro).toBe(Number(market.spec.takerFeeMillionths));
    const read = readMarketAccount(marketPubkey, { owner: found.owner, data: bytes });
    expect(read).toEqual({ address: marketPubkey, symbol, assetId, tickSize, baseLotsDecimals });
  }
});
