/** liquidation-risk.yaml. */
import {
  above,
  below,
  claimsOf,
  type Ease,
  keepMs,
  type Level,
  money,
  type Predicate,
  percent,
} from "../predicate.ts";
import type { View } from "../view.ts";

/** A joint move is told to 0.001 %. */
export const moveRoom = 1.2e-5;

export const levelBelow = (
  value: number,
  severity: Level["severity"],
  on: number,
  off: number,
  ease: Ease,
): Level => ({
  severity,
  on: below(value, on, ease),
  off: above(value, off, ease),
});

export const liquidationNear: Predicate = {
  rule: "LiquidationNear",
  forMs: 0,
  keepMs,
  byOldPositions: true,
  standsStill: true,
  subjects: (view) => view.positions(),
  worsens: { towards: "lower", value: (view, subject) => view.position(subject)?.figures.distance },
  levels: (view, subject, ease) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { distance } = held.figures;
    const nearest = [...held.of.positions.values()].every((other) => other.distance >= distance);
    const near = below(distance, 0.05, ease);
    const joint = nearest && below(held.of.adverse, 0.05, ease, moveRoom);
    const clear = above(distance, 0.06, ease) && above(held.of.adverse, 0.06, ease, moveRoom);
    return [
      levelBelow(distance, "info", 0.2, 0.22, ease),
      levelBelow(distance, "warning", 0.1, 0.12, ease),
      { severity: "critical", on: near || joint, off: clear },
    ];
  },
  claims: (view, subject, text) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { figures, of } = held;
    return claimsOf(text, [
      ["distance", new RegExp(`is ${percent} from liquidation`), figures.distance],
      ["joint move", new RegExp(`, ${percent} if every position`), of.adverse, moveRoom],
    ]);
  },
};

/** In place of a liquidation price where there is none. */
export const missing = (side: "long" | "short"): number => (side === "long" ? 0 : Number.POSITIVE_INFINITY);

export const accountLiquidationNear: Predicate = {
  rule: "AccountLiquidationNear",
  forMs: 0,
  keepMs,
  byOldPositions: true,
  standsStill: true,
  subjects: (view) => view.accounts(),
  worsens: { towards: "lower", value: (view, subject) => view.account(subject)?.adverse },
  levels: (view, subject, ease) => {
    const figures = view.account(subject);
    if (!figures) return undefined;
    const several = figures.positions.size > 1;
    const on = several && below(figures.adverse, 0.08, ease, moveRoom);
    return [{ severity: "warning", on, off: !several || above(figures.adverse, 0.1, ease, moveRoom) }];
  },
  claims: (view, subject, text) => {
    const figures = view.account(subject);
    if (!figures) return undefined;
    return [
      ...claimsOf(text, [
        ["joint move", new RegExp(`is ${percent} from liquidation if every`), figures.adverse, moveRoom],
        ["positions", /(\d+) positions?, gross/, figures.positions.size],
      ]),
      ...accountClaims(view, subject, text),
    ];
  },
};

/** Figures of an account, as several texts have them. */
export function accountClaims(
  view: Pick<View, "account">,
  subject: string,
  text: Parameters<Predicate["claims"]>[2],
) {
  const figures = view.account(subject);
  return claimsOf(text, [
    ["gross", new RegExp(`[Gg]ross ${money}`), figures?.gross],
    ["net", new RegExp(`net ${money}`), figures?.net],
    ["effective collateral", new RegExp(`[Ee]ffective collateral ${money}`), figures?.effective],
    ["effective collateral", new RegExp(`of ${money} effective`), figures?.effective],
    ["maintenance margin", new RegExp(`[Mm]aintenance margin ${money}`), figures?.maintenance],
    ["cancel margin", new RegExp(`cancel margin ${money}`), figures?.cancel],
    ["unrealized PnL", new RegExp(`Unrealized PnL ${money}`), figures?.unrealized],
    [
      "adverse move",
      new RegExp(`a further move of ${percent} against every position`),
      figures?.adverse,
      moveRoom,
    ],
    [
      "move of the only position",
      new RegExp(`a further move of ${percent} against its position`),
      figures && (figures.positions.size === 1 ? [...figures.positions.values()][0]!.distance : Number.NaN),
    ],
    [
      "shortfall",
      new RegExp(`a deposit of ${money} ends`),
      figures && Math.max(0, figures.cancel - figures.effective) * 1.00001 + 0.01,
      0.02,
    ],
  ]);
}
