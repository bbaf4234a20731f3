/**
 * The surface of the SDK, read from what it publishes: its exports at run time, and the members of its clients from its own
 * declarations, so that a new version with a new call is noticed. Private and protected members are no calls.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as sdk from "@ellipsis-labs/rise";

const home = dirname(createRequire(import.meta.url).resolve("@ellipsis-labs/rise/package.json"));
const declarations = readFileSync(join(home, "dist/index.d.ts"), "utf8");
export const version: string = JSON.parse(readFileSync(join(home, "package.json"), "utf8")).version;

interface Member {
  readonly name: string;
  /** The return type of a call, or the type of a property. */
  readonly type: string;
  readonly call: boolean;
}

const blocks = new Map<string, readonly Member[]>();
const parents = new Map<string, string>();
for (const [, name, parent, body] of declarations.matchAll(
  /^(?:declare (?:abstract )?class|interface) (\w+)(?:<[^\n]*>)?(?: extends (\w+))?[^\n]*\{(?:\n([\s\S]*?)^)?\}$/gm,
)) {
  blocks.set(name as string, membersOf(body ?? ""));
  if (parent !== undefined) parents.set(name as string, parent);
}

for (const [, name, of, picked] of declarations.matchAll(/^type (\w+) = Pick<(\w+), ([^>]*)>;/gm)) {
  const members = blocks.get(of as string) ?? [];
  blocks.set(
    name as string,
    members.filter((it) => picked?.includes(`"${it.name}"`)),
  );
}

function membersOf(body: string): Member[] {
  const members: Member[] = [];
  for (const statement of body.replaceAll(/^ *\/\*[\s\S]*?\*\/\n/gm, "").split(/;\n(?= {2}\S|$)/)) {
    const line = statement.trim().replaceAll(/\s+/g, " ");
    const [, access, word, rest = ""] =
      /^(private |protected |static |get )?(?:readonly )?(\w+)\??(.*)$/.exec(line) ?? [];
    if (word === undefined || access !== undefined || word === "constructor") continue;
    const method = rest.startsWith("(") || rest.startsWith("<");
    const type = method ? returned(rest) : rest.replace(/^: /, "");
    members.push({ name: word, type, call: method || /^(\(|<|ReturnType<)/.test(type) });
  }
  return members;
}

/** The part behind the parameters of a method. */
function returned(signature: string): string {
  return /\): ([^()]*)$/.exec(signature)?.[1] ?? "";
}

/** Types whose members are calls of their own; what they return in passing (`StoreApi`, plain data) is not. */
const ofInterest =
  /^(V1\w+Client|MarginCalculator|AuthSessionManager|Phoenix\w*(Client|Resource|Data|Manager|Metadata|Builders))$/;

/**
 * `path.method` of every call that can be made on a value of this type and on what its properties and methods hand out,
 * a type once, where it is reached by the shortest way.
 */
export function callsOf(type: string, path: string): string[] {
  const seen = new Set([type]);
  const queue = [{ type, path }];
  const calls: string[] = [];
  for (const { type, path } of queue) {
    for (const member of allMembers(type)) {
      const own = `${path}.${member.name}`;
      if (member.call) calls.push(own);
      for (const [, method] of member.call ? [] : member.type.matchAll(/(?:^\{|;) (\w+)\(/g)) {
        calls.push(`${own}.${method}`);
      }
      const inner = member.type.replace(/^Promise<(.*)>$/, "$1").replace(/ \| undefined$/, "");
      if (!ofInterest.test(inner) || seen.has(inner)) continue;
      seen.add(inner);
      queue.push({ type: inner, path: member.call ? `${own}()` : own });
    }
  }
  return [...new Set(calls)];
}

function allMembers(type: string): Member[] {
  const own = blocks.get(type);
  if (!own) throw new Error(`${type}: not among the SDK's declarations`);
  const parent = parents.get(type);
  return parent !== undefined && blocks.has(parent) ? [...own, ...allMembers(parent)] : [...own];
}

/** Names of the exports that can be called; of the namespaces too, where the top does not have them already. */
export function exportedCalls(): string[] {
  const top = Object.entries(sdk).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
  const { api, auth, flight, ws } = sdk;
  const inside = Object.entries({ api, auth, flight, ws }).flatMap(([space, exported]) =>
    Object.entries(exported).flatMap(([name, value]) =>
      typeof value === "function" && !(name in sdk) ? [`${space}.${name}`] : [],
    ),
  );
  const fetchers = Object.keys(sdk.AccountFetchers).map((name) => `AccountFetchers.${name}`);
  return [...top, ...inside, ...fetchers];
}
