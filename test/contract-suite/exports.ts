/**
 * The other callable exports of the SDK, and why it has no row: it asks nobody, it is made for us by a client whose calls
 * have rows, or it needs the real ledger. A new export that fits none of these has to be looked at.
 */
export interface Reason {
  readonly result: "asks nobody" | "has rows as" | "needs the chain";
  readonly why: string;
  readonly names: readonly (string | RegExp)[];
}

export const reasons: readonly Reason[] = [
  {
    result: "has rows as",
    why: "client, traderStates, marginParams: classes and makers of what the calls are made on",
    names: [
      /^(api\.)?(V1\w+Client|PhoenixHttpClient|PhoenixAuthClient|AuthSessionManager|MarginMarketParamsStore)$/,
      /^createPhoenix(Client|ExchangeCache|ExchangeCacheStore|ExchangeMetadata|IxClient|MarketData)$/,
      /^createPhoenix(OrderbookManager|PdaClient|RpcClient|TraderStateManager|WsClient|WsFacade)$/,
      "createTraderStateStore",
      "createWsClient",
      /^create\w+Adapter$/,
      "registerSubscription",
      "registerSubscriptions",
    ],
  },
  {
    result: "asks nobody",
    why: "writes or reads bytes: codecs, decoders of accounts, instructions out of given accounts",
    names: [
      /^(flight\.)?get\w+(Codec|Decoder|Encoder)$/,
      /^(flight\.)?(decode|encode)\w+$/,
      /^(flight\.)?build\w+Ixs?(Resolved)?$/,
      /^generate(AccountMeta|Padding|ArenaAccounts|(Readonly|Writable)(Signer)?Account)$/,
      /^build(CreateAssociatedTokenAccountIdempotent(Sync)?|SplToken(Approve|Transfer))$/,
      "packVenueInstructions",
      "packedAccountMetaState",
      "serializeReferralActivationSignedTransaction",
      "scaleLevelsToMultipleOrderPacket",
      "sha2_const",
    ],
  },
  {
    result: "asks nobody",
    why: "derives or picks addresses; those of client.pda are held against the simulator's",
    names: [
      /^(flight\.)?get\w+Address(es)?$/,
      /^derive\w+Address(es)?$/,
      /^(flight\.)?(client(Phoenix|Flight)|phoenix|flight)InstructionAddresses$/,
      /^(flight\.)?resolve(Phoenix(Builder|Instruction)|FlightInstruction)Addresses$/,
      /^flight\.resolvePhoenixFlight(FeeCollectorTraderAddress|OrderRequestFields)$/,
    ],
  },
  {
    result: "asks nobody",
    why: "builds flows and triggers out of what it is given",
    names: [
      /^build\w+Flow$/,
      /^build(TakeProfitStopLossTriggerOrders|TriggerOrderParams|TraderStateSubscriptionKey)$/,
      "normalizeTriggerOrderParams",
      "normalizeActions",
      "executionPriceFromSlippageBps",
      "flight.PhoenixFlightClient",
      "flight.isFlightClient",
      "flight.wrapInstructionWithFlight",
    ],
  },
  {
    result: "asks nobody",
    why: "plain arithmetic and names: brands, previews of order ladders, collateral in SOL, preference bits",
    names: [
      /^(baseLots|baseLotsPerTick|quoteLots|signedBaseLots|signedQuoteLots|ticks|side|symbol|toMaxPositions)$/,
      /^(chunkScaleLevelsForTx|clampScaleBias|clampScaleOrderCount|computeScaleOrderLevels|previewScaleOrder)$/,
      /^(discounted|maxWithdrawable|notional)SpotCollateral$/,
      "marginRetainedBps",
      "spotCollateralPrice",
      "getSpotCollateralAssetId",
      /^traderPreference(Bit|Key)$/,
      "hasReferralActivationCapabilities",
      "resolvePhoenixEnv",
      "toWebSocketUrl",
    ],
  },
  {
    result: "asks nobody",
    why: "storage, errors and switches of a session",
    names: [
      /^(AuthBackoffManager|LocalStorageAuthSessionStorage|MemoryAuthSessionStorage)$/,
      /^(ExchangeCacheSequenceError|PhoenixAuthError|PhoenixHttpError|SpotCollateralValuationError)$/,
      /^(debugAuth|isAuthDebugEnabled|isExternalSessionControl|createServiceAccountAuthSigner)$/,
      /^loadServiceAccountCredentialFrom(Env|Path)$/,
      /^(getOrFetchCached|invalidateCacheKey)$/,
    ],
  },
  {
    result: "asks nobody",
    why: "the machinery under client.streams",
    names: [/^ws\.\w+$/],
  },
  {
    result: "needs the chain",
    why: "reads an account that only the real ledger has",
    names: [
      /^(flight\.)?fetch\w+$/,
      /^AccountFetchers\.\w+$/,
      /^createAccountFetcher(WithDefault)?$/,
      /^getMarket(Address|Metadata)ForSymbol$/,
    ],
  },
  {
    result: "needs the chain",
    why: "signs and sends by a wallet of one's own; the instruction is that of client.ixs",
    names: [
      /^(place|cancel)\w*Orders?(Delegated)?$/,
      /^(createEscrowRequest|depositFunds|withdrawFunds|transferCollateral|registerTrader|uncrossCrank)$/,
      /^(cancelUpToOrders|cancelOrdersById)$/,
      /^build(CancelAll|CancelConditionalOrder|CancelOrdersById|CancelStopLoss|CancelUpTo|UncrossCrank)$/,
      /^build(CreateConditionalOrdersAccount|CreateEscrowRequest|DelegateTrader|OnboardTraderDelegated)$/,
      /^build(DepositFunds|WithdrawFunds|EmberDeposit|EmberWithdraw|RegisterTrader|SyncParentToChild)$/,
      /^buildTransferCollateral(ChildToParent)?$/,
      /^buildPlace(AttachedConditional|PositionConditional|PostOnly|Limit|Market)Order(Delegated|WithConditionals)?$/,
      "buildPlaceStopLoss",
    ],
  },
];

export function reasonOf(name: string): Reason | undefined {
  return reasons.find(({ names }) =>
    names.some((it) => (typeof it === "string" ? it === name : it.test(name))),
  );
}
