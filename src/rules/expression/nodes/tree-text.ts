/** The text of a part of an expression. */
import type { ASTNode } from "@marcbachmann/cel-js";

/** A node's own text. Parentheses are no part of the tree: those that it begins or ends within are added. */
export function sliceOf(text: string, { start, end }: ASTNode): string {
  const slice = text.slice(start, end).trim();
  let open = 0;
  let missing = 0;
  for (const letter of slice.replace(/"[^"]*"|'[^']*'/g, "")) {
    if (letter === "(") open++;
    else if (letter === ")" && open > 0) open--;
    else if (letter === ")") missing++;
  }
  return "(".repeat(missing) + slice + ")".repeat(open);
}
