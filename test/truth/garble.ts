/** Answers that nobody can understand: text that is cut short, or one field of an impossible type. */
import { parseJson, writeJson } from "../../src/contract/json.ts";
import type { Random } from "../../src/domain/clock.ts";

/** `cut`: it is no JSON any more. `field`: it is, and a field that nobody reads may be the one. */
export type Garbling = "cut" | "field";

type Node = unknown[] | Record<string, unknown>;

/** @returns the text and what was done to it; null where there is nothing in it to be garbled */
export function garble(
  text: string,
  random: Random,
): { readonly text: string; readonly garbled: Garbling } | null {
  if (!/^[[{]/.test(text)) return null;
  const json = parseJson(text) as Node;
  const leaves = leavesOf(json);
  if (leaves.length === 0 || random() < 0.4)
    return { text: text.slice(0, Math.ceil(text.length / 2)), garbled: "cut" };
  const [node, key] = leaves[Math.floor(random() * leaves.length)]!;
  (node as Record<string | number, unknown>)[key] = { garbled: true };
  return { text: writeJson(json), garbled: "field" };
}

function leavesOf(node: Node): readonly (readonly [node: Node, key: string | number])[] {
  const entries = Array.isArray(node) ? [...node.entries()] : Object.entries(node);
  return entries.flatMap(([key, value]) =>
    typeof value === "object" && value !== null ? leavesOf(value as Node) : [[node, key] as const],
  );
}
