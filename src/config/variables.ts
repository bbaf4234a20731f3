/**
 * `${NAME}` takes an environment variable; `$${NAME}` stands for the text `${NAME}`.
 *
 * Braces mean something else to YAML inside `{ … }`, so they are exchanged for marks of the same length before the file
 * is parsed, and looked up in the scalars afterwards. What a variable holds is therefore never parsed as YAML.
 */

const open = "\uE000";
const close = "\uE001";
const literal = "\uE002";
const marks = /[\uE000-\uE002]/;
const marked = /\uE002?\$\uE000([^\uE000-\uE002]*)\uE001/g;
const wanted = /^[A-Za-z_][A-Za-z0-9_]*$/;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The file's text with its variables marked. Every character keeps its place. */
export function markVariables(text: string): string {
  return text.replace(/\$?\$\{([^{}\r\n]*)\}/g, (whole, name: string) =>
    whole.startsWith("$$") ? `${literal}$${open}${name}${close}` : `$${open}${name}${close}`,
  );
}

/** True if a text holds the marks themselves, which no text that a person writes does. */
export function hasMarks(text: string): boolean {
  return marks.test(text);
}

export interface Substituted {
  readonly text: string;
  /** The values of the variables, for those who must not repeat it. */
  readonly values: readonly string[];
  /** The whole text is one variable. */
  readonly whole: boolean;
  readonly unset: readonly string[];
  /** The texts between braces that are no names. */
  readonly badNames: readonly string[];
}

export function substitute(text: string, env: Environment): Substituted {
  const values: string[] = [];
  const unset: string[] = [];
  const badNames: string[] = [];
  let whole = false;
  const result = text.replace(marked, (match, name: string) => {
    if (match.startsWith(literal)) return `\${${name}}`;
    if (!wanted.test(name)) {
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
