/**
 * Makes a scenario with a violation smaller: leaves out troubles and deeds as long as the same check fails, half of them at a time
 * first, then single ones. The plan that is left is data, to be written to a file and played again.
 */
import type { Plan } from "./scenario.ts";

/** @param fails plays a plan: true if the violation is still there   @param most plays at most so many */
export async function shrink(
  plan: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  most = 120,
): Promise<{ readonly plan: Plan; readonly played: number }> {
  let played = 0;
  let best = plan;
  const without = async <T>(list: readonly T[], put: (kept: readonly T[]) => Plan): Promise<void> => {
    let kept = list;
    for (let size = Math.ceil(kept.length / 2); size >= 1 && kept.length > 0; size = Math.floor(size / 2)) {
      for (let at = 0; at < kept.length && played < most; ) {
        const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
        played++;
        if (await fails(put(fewer))) {
          kept = fewer;
          best = put(kept);
        } else at += size;
      }
    }
  };
  const { troubles } = plan;
  await without(troubles.faults, (faults) => ({ ...best, troubles: { ...best.troubles, faults } }));
  await without(troubles.life, (life) => ({ ...best, troubles: { ...best.troubles, life } }));
  // Whole wallets first: what nobody does to them leaves them at rest.
  const { accounts, deeds } = plan.world;
  const walletOf = (deed: (typeof deeds)[number]): string =>
    "account" in deed ? accounts[deed.account]!.wallet : "from" in deed ? accounts[deed.from]!.wallet : "";
  const wallets = [...new Set(deeds.map(walletOf))].filter((name) => name !== "");
  await without(wallets, (names) => ({
    ...best,
    world: {
      ...best.world,
      deeds: deeds.filter((deed) => walletOf(deed) === "" || names.includes(walletOf(deed))),
    },
  }));
  await without(best.world.deeds, (left) => ({ ...best, world: { ...best.world, deeds: left } }));
  return { plan: best, played };
}
