/**
 * Substitutes environment variables: `${NAME}` is a variable, `$${NAME}` stands for the text `${NAME}`.
 *
 * Braces have a meaning in YAML inside `{ … }`, so they are replaced by marks of the same length before parsing, and
 * resolved in the scalars afterwards. The value of a variable is therefore never parsed as YAML.
 */

const openMark = "\uE000";
const closeMark = "\uE001";
const literalMark = "\uE002";
const marks = /[\uE000-\uE002]/;
const markedVariable = /\uE002?\$\uE000([^\uE000-\uE002]*)\uE001/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Marks the variables in a file's text. Positions do not change. */
export function markVariables(text: string): string {
  return text.replace(/\$?\$\{([^{}\r\n]*)\}/g, (whole, name: string) =>
    whole.startsWith("$$")
      ? `${literalMark}$${openMark}${name}${closeMark}`
      : `$${openMark}${name}${closeMark}`,
  );
}

/** Returns true if a text contains marks. */
export function hasMarks(text: string): boolean {
  return marks.test(text);
}

export interface Substituted {
  readonly text: string;
  /** Values of the variables, which must not be shown. */
  readonly values: readonly string[];
  /** True if the whole text is one variable. */
  readonly whole: boolean;
  readonly unset: readonly string[];
  /** Texts between braces that are not valid names. */
  readonly badNames: readonly string[];
}

export function substitute(text: string, env: Environment): Substituted {
  const values: string[] = [];
  const unset: string[] = [];
  const badNames: string[] = [];
  let whole = false;
  const result = text.replace(markedVariable, (match, name: string) => {
    if (match.startsWith(literalMark)) return `\${${name}}`;
    if (!variableName.test(name)) {
      badNames.push(name);
      return "";
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined) {
      unset.push(name);
      return "";
    }
    whole = match.length === text.length;
    values.push(value);
    return value;
  });
  return { text: result, values, whole, unset, badNames };
}
