/** The reach of many scenarios: each trouble with each feature of a world, and each rule that fired and ended. */
import type { Judgement } from "./oracle/judge.ts";
import type { Plan } from "./scenario.ts";

/** The part that one scenario adds; plain data, since it crosses processes. */
export interface Reach {
  readonly troubles: readonly string[];
  readonly features: readonly string[];
  readonly rules: readonly (readonly [
    rule: string,
    count: { readonly fired: number; readonly ended: number },
  ])[];
}

export function reachOf({ world, troubles }: Plan, { counts }: Judgement): Reach {
  const { wallets, accounts, deeds } = world;
  const features: readonly (readonly [name: string, has: boolean])[] = [
    ["one wallet", wallets.length === 1],
    ["over six", wallets.length > 6],
    ["PDA indices", wallets.some(({ pdaIndices }) => pdaIndices.length > 1)],
    ["isolated", accounts.some(({ subaccount }) => subaccount > 0)],
    ["spot", accounts.some(({ spot }) => spot > 0)],
    ["watch-only", wallets.some(({ watchOnly }) => watchOnly)],
    ["money", deeds.some(({ kind }) => kind === "money" || kind === "transfer")],
    ["halt", deeds.some(({ kind }) => kind === "halt")],
    ["session", deeds.some(({ kind }) => kind === "session")],
    ["limit", world.requestsPerSecond !== null],
  ];
  return {
    troubles: [...new Set([...troubles.faults, ...troubles.life].map(({ kind }) => kind))],
    features: features.flatMap(([name, has]) => (has ? [name] : [])),
    rules: [...counts],
  };
}

export class Coverage {
  readonly #pairs = new Map<string, number>();
  readonly #troubles = new Set<string>();
  readonly #features = new Set<string>();
  readonly #rules = new Map<string, { fired: number; ended: number }>();

  add({ troubles, features, rules }: Reach): void {
    for (const trouble of troubles) this.#troubles.add(trouble);
    for (const feature of features) this.#features.add(feature);
    for (const trouble of troubles)
      for (const feature of features) {
        const key = `${trouble} ${feature}`;
        this.#pairs.set(key, (this.#pairs.get(key) ?? 0) + 1);
      }
    for (const [rule, { fired, ended }] of rules) {
      const sum = this.#rules.get(rule) ?? { fired: 0, ended: 0 };
      this.#rules.set(rule, { fired: sum.fired + fired, ended: sum.ended + ended });
    }
  }

  lines(): readonly string[] {
    const features = [...this.#features].sort();
    const row = (name: string, cells: readonly (string | number)[]): string =>
      `${name.padEnd(16)}${cells.map((cell) => String(cell).padStart(12)).join("")}`;
    const rules = [...this.#rules].sort(([a], [b]) => a.localeCompare(b));
    return [
      "",
      row("scenarios with", features),
      ...[...this.#troubles].sort().map((trouble) =>
        row(
          trouble,
          features.map((feature) => this.#pairs.get(`${trouble} ${feature}`) ?? 0),
        ),
      ),
      "",
      ...rules.map(([rule, { fired, ended }]) => `${rule.padEnd(28)}fired ${fired}, ended ${ended}`),
    ];
  }
}
