/** Registration and activation of new wallets by the SDK, with real signatures, on the simulator's chain. */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { PROGRAM_ID } from "../../src/contract/index.ts";
import { readTransaction, signTransaction } from "../../src/wallet/ledger-transaction.ts";
import { type Call, type Calls, parses } from "./call.ts";
import type { Desk } from "./desk.ts";

export const snapshotOf = ({ client }: Desk) => client.api.exchange().getSnapshot();
export const permissionOf = ({ client }: Desk) => client.api.invite().getReferralActivationPermission();

/** A new wallet, signed in. */
async function newcomer(desk: Desk) {
  const key = desk.newKey();
  const client = desk.newClient();
  await desk.signIn(client, key);
  return { key, client, invite: client.api.invite() };
}
const stateOf = async (client: sdk.PhoenixClient, authority: string) =>
  (await client.api.traders().getTraderStateSnapshot(authority)).snapshot.capabilities?.state;

async function activationOf(desk: Desk, more: object = {}) {
  const { key, client, invite } = await newcomer(desk);
  const { value } = await desk.rpc<{ value: { blockhash: string } }>("getLatestBlockhash");
  const request = await invite.buildActivateReferralTxRequest({
    referralCode: "EXAMPLE",
    traderAuthority: key.address,
    recentBlockhash: value.blockhash,
    rpcUrl: `${desk.simulator.url}/rpc`,
    signTransaction: (_transaction, { unsignedTransactionBase64 }) =>
      signTransaction(readTransaction(unsignedTransactionBase64), key).wire,
    ...more,
  });
  return { key, client, invite, request };
}

const activated = (name: "activateInvite" | "activateReferral"): Call =>
  parses(async (desk) => {
    const { key, client, invite } = await newcomer(desk);
    const { trader_pda } =
      name === "activateInvite"
        ? await invite.activateInvite({ authority: key.address, code: "EXAMPLE" })
        : await invite.activateReferral({ authority: key.address, referral_code: "EXAMPLE" });
    expect(await stateOf(client, key.address)).toBe("active");
    return `deprecated; ${trader_pda.slice(0, 6)}… is active`;
  });

const accountsOf = async (desk: Desk) =>
  sdk.referralActivationExchangeAccountsFromSnapshot((await snapshotOf(desk)).exchange);

export const onboardingCalls: Calls = {
  "client.api.invite().activateInvite": activated("activateInvite"),
  "client.api.invite().activateReferral": activated("activateReferral"),
  "client.api.invite().buildActivateReferralTxRequest": parses(async (desk) => {
    const { request } = await activationOf(desk);
    expect(request).toMatchObject({
      includeRegisterTrader: true,
      traderActivationState: { status: "missing" },
    });
    return "register and onboard, signed by the wallet";
  }),
  "client.api.invite().activateReferralTx": parses(async (desk) => {
    const { key, client, invite, request } = await activationOf(desk);
    expect(await invite.activateReferralTx(request.request)).toMatchObject({ status: "activated" });
    expect(await stateOf(client, key.address)).toBe("active");
    expect(await invite.activateReferralTx(request.request)).toMatchObject({ status: "already_activated" });
    return "activated; a second time already_activated";
  }),
  buildActivateReferralTxRequest: parses(async (desk) => {
    const key = desk.newKey();
    const { value } = await desk.rpc<{ value: { blockhash: string } }>("getLatestBlockhash");
    const request = await sdk.buildActivateReferralTxRequest({
      referralCode: "EXAMPLE",
      traderAuthority: key.address,
      recentBlockhash: value.blockhash,
      permission: await permissionOf(desk),
      exchangeAccounts: await accountsOf(desk),
      includeRegisterTrader: true,
      signTransaction: (_transaction, { unsignedTransactionBase64 }) =>
        signTransaction(readTransaction(unsignedTransactionBase64), key).wire,
    });
    return request.traderPda.slice(0, 6);
  }),
  buildReferralActivationTransaction: parses(async (desk) => {
    const { value } = await desk.rpc<{ value: { blockhash: string } }>("getLatestBlockhash");
    const transaction = await sdk.buildReferralActivationTransaction({
      referralCode: "EXAMPLE",
      traderAuthority: desk.newKey().address,
      recentBlockhash: value.blockhash,
      permission: await permissionOf(desk),
      exchangeAccounts: await accountsOf(desk),
    });
    return `${transaction.unsignedTransactionBytes.length} bytes`;
  }),
  referralActivationExchangeAccountsFromSnapshot: parses(async (desk) => {
    expect((await accountsOf(desk)).phoenixProgramAddress).toBe(PROGRAM_ID);
    return "out of the snapshot";
  }),
  getReferralActivationTraderState: parses(async (desk) => {
    const rpcUrl = `${desk.simulator.url}/rpc`;
    const exchangeAccounts = await accountsOf(desk);
    const of = async (traderAuthority: string) =>
      (await sdk.getReferralActivationTraderState({ traderAuthority, exchangeAccounts, rpcUrl })).status;
    expect([await of(desk.lived.authority), await of(desk.newKey().address)]).toEqual([
      "activated",
      "missing",
    ]);
    return "activated, and missing for a new key";
  }),
};
