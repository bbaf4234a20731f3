/** The text of a part of an expression. */
import type { ASTNode } from "@marcbachmann/cel-js";

/** The text of a node. The tree has no parentheses: those around its first and last part are added. */
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
