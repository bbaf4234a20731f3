/** Descriptions of endpoints: for `api list`, `api describe`, the help of each, and the reference in Markdown. */
import {
  allEndpoints,
  type Constraint,
  type Endpoint,
  type Group,
  type Param,
  type RecordField,
  replyFields,
  wireName,
} from "../../../contract/index.ts";

/** In the order of the exchange's own documentation. */
export const groups: readonly { readonly name: Group; readonly title: string }[] = [
  { name: "exchange", title: "Exchange" },
  { name: "market", title: "Market data" },
  { name: "trader", title: "Trader data" },
  { name: "history", title: "Histories" },
  { name: "notifications", title: "Notifications" },
  { name: "auth", title: "Authentication" },
  { name: "onboarding", title: "Onboarding and instructions" },
  { name: "deprecated", title: "Deprecated" },
];

export function endpointsOf(group: Group): readonly Endpoint[] {
  return allEndpoints.filter((one) => one.group === group);
}

/** The accepted values of a parameter, in a few words: `integer, 1 to 200`. */
export function takes(param: Param): string {
  switch (param.type) {
    case "choice":
      return `one of ${param.choices?.join(", ")}`;
    case "integer":
    case "number":
      return `${param.type}${bounds(param)}`;
    case "key":
      return "public key, base58";
    case "time":
      return param.timeForm === "iso" ? "time, ISO 8601" : "time, Unix ms";
    case "boolean":
      return "true or false";
    case "list":
      return "comma-separated";
    case "json":
      return "JSON";
    case "string":
      return "text";
  }
}

function bounds({ min, max }: Param): string {
  if (min !== null && max !== null) return `, ${min} to ${max}`;
  if (min !== null) return `, at least ${min}`;
  return max === null ? "" : `, at most ${max}`;
}

/** The default of a parameter; null: none. */
function defaultOf(param: Param): string | null {
  if (param.defaultNote !== null) return param.defaultNote;
  return param.default === null ? null : String(param.default);
}

function sessionOf(endpoint: Endpoint): string {
  switch (endpoint.session) {
    case "required":
      return "needed (--wallet)";
    case "optional":
      return "welcome (--wallet)";
    case "none":
      return "none";
  }
}

/** The constraint between parameters, in words. */
function constraintText(rule: Constraint): string {
  switch (rule.kind) {
    case "range": {
      const apart = rule.maxMs === null ? "" : `, and at most ${rule.maxMs / 86_400_000} days before it`;
      return `${rule.from} is not after ${rule.to}${apart}`;
    }
    case "exclusive":
      return `${rule.params.join(" and ")} exclude each other`;
    case "anyOf":
      return `one of ${rule.params.join(", ")} is needed`;
  }
}

/** The paging of an endpoint, in words; null: it has none. */
function pagingText({ paging, order }: Endpoint): string | null {
  const rows = order === "newestFirst" ? "Newest first" : order === "oldestFirst" ? "Oldest first" : null;
  if (paging === null) return rows === null ? null : `${rows}.`;
  const newer =
    paging.newer === null ? "" : `, newer ones at ${paging.newer.argument} = ${paging.newer.field}`;
  const older = `older rows at ${paging.older.argument} = ${paging.older.field}${newer}; --all follows it to the end`;
  return `${rows === null ? "Rows" : rows}, in pages: ${older}.`;
}

/** The complete description of an endpoint, for a terminal. */
export function describeText(endpoint: Endpoint): string {
  const lines = [
    `${endpoint.name}: ${endpoint.summary}`,
    "",
    `  ${endpoint.method} ${endpoint.path}`,
    `  session: ${sessionOf(endpoint)}`,
  ];
  if (endpoint.deprecated !== null) lines.push(`  deprecated: ${endpoint.deprecated}`);
  const params = Object.entries(endpoint.params);
  if (params.length > 0) {
    lines.push("", "Parameters:");
    const names = params.map(([name, param]) => `--${name}${param.required ? " *" : ""}`);
    const width = Math.max(...names.map((name) => name.length));
    for (const [index, [name, param]] of params.entries())
      lines.push(`  ${names[index]!.padEnd(width)}  ${paramText(name, param)}`);
    if (params.some(([, param]) => param.required)) lines.push("  * has to be given");
  }
  for (const rule of endpoint.constraints) lines.push(`  ${constraintText(rule)}`);
  const fields = replyFields(endpoint);
  lines.push("", fields.length === 0 ? "Answers nothing." : "Answers:");
  const tree = fields.map(({ path }) => "  ".repeat(path.split(".").length) + path.split(".").at(-1)!);
  const width = Math.max(0, ...tree.map((name) => name.length));
  for (const [index, field] of fields.entries())
    lines.push(`${tree[index]!.padEnd(width)}  ${fieldText(field)}`);
  const paging = pagingText(endpoint);
  if (paging !== null) lines.push("", paging);
  if (endpoint.notes.length > 0) lines.push("", ...endpoint.notes.map((note) => `- ${note}`));
  const { errors } = endpoint;
  if (errors.length > 0) lines.push("", `Refuses with ${errors.join(", ")}; any may answer 429 and 5xx.`);
  return lines.join("\n");
}

/** An example call of the endpoint with all required arguments. */
export function exampleOf(endpoint: Endpoint): string {
  const { name, params, constraints, session } = endpoint;
  const first = constraints.flatMap((rule) => (rule.kind === "anyOf" ? rule.params.slice(0, 1) : []));
  const needed = Object.entries(params).filter(([own, { required }]) => required || first.includes(own));
  const ofWallet =
    session !== "none" && needed.some(([own]) => own === "authority" || own === "traderPubkey");
  const words = needed.flatMap(([own, param]) =>
    ofWallet && (own === "authority" || own === "traderPubkey") ? [] : [`--${own}`, exampleValue(own, param)],
  );
  const wallet = ofWallet || session === "required" ? ["--wallet", "main"] : [];
  return ["perpwatch", "api", name, ...wallet, ...words].join(" ");
}

const exampleKey = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

function exampleValue(name: string, param: Param): string {
  switch (param.type) {
    case "choice":
      return param.choices?.at(-1) ?? "";
    case "integer":
    case "number":
      return String(Math.min(Math.max(name === "limit" ? 100 : 1, param.min ?? 0), param.max ?? 100));
    case "key":
      return exampleKey;
    case "time":
      return "1h";
    case "boolean":
      return "true";
    case "string":
      if (name === "symbol") return "SOL";
      return name === "timeframe" ? "1h" : `@${dashedName(name)}.txt`;
    case "list":
      return `@${dashedName(name)}.txt`;
    case "json":
      return `@${dashedName(name)}.json`;
  }
}

function dashedName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The rest of a line about a parameter. */
function paramText(name: string, param: Param): string {
  const standard = defaultOf(param);
  const wire = wireName(name, param);
  return [
    param.description,
    `(${takes(param)}${standard === null ? "" : `; default ${standard}`}${wire === name ? "" : `; on the wire ${wire}`})`,
    ...(param.deprecated === null ? [] : [`Deprecated: ${param.deprecated}`]),
  ].join(" ");
}

/** The complete reference, for docs/api.md. */
export function referenceMarkdown(): string {
  const lines = [
    "# The exchange's API",
    "",
    "Every endpoint that perpwatch knows, as its client, its command line (`perpwatch api NAME --param value`) and its",
    "simulator take it. Made from the table in `src/contract/` by `npm run docs`; a test holds it to that.",
    "",
    "Parameters marked * have to be given. Session: whether the call carries a wallet's access token.",
    "",
  ];
  for (const { name, title } of groups) {
    const entries = endpointsOf(name);
    if (entries.length === 0) continue;
    lines.push(
      `- [${title}](#${anchor(title)}): ${entries.map((one) => `[${one.name}](#${anchor(one.name)})`).join(", ")}`,
    );
  }
  for (const { name, title } of groups) {
    const entries = endpointsOf(name);
    if (entries.length === 0) continue;
    lines.push("", `## ${title}`);
    for (const endpoint of entries) lines.push("", ...section(endpoint));
  }
  return `${lines.join("\n")}\n`;
}

function section(endpoint: Endpoint): string[] {
  const lines = [
    `### ${endpoint.name}`,
    "",
    endpoint.summary,
    "",
    `\`${endpoint.method} ${endpoint.path}\` · session: ${sessionOf(endpoint).replace(" (--wallet)", "")}` +
      (endpoint.errors.length === 0 ? "" : ` · refuses with ${endpoint.errors.join(", ")}`),
  ];
  if (endpoint.deprecated !== null) lines.push("", `**Deprecated:** ${endpoint.deprecated}`);
  const params = Object.entries(endpoint.params);
  if (params.length > 0) {
    lines.push("", "| parameter | in | takes | default | |", "| --- | --- | --- | --- | --- |");
    for (const [name, param] of params) {
      const wire = wireName(name, param);
      const called = `\`${name}\`${param.required ? " *" : ""}${wire === name ? "" : ` (\`${wire}\`)`}`;
      const about = param.description + (param.deprecated === null ? "" : ` Deprecated: ${param.deprecated}`);
      lines.push(row([called, param.in, takes(param), defaultOf(param) ?? "", about]));
    }
  }
  if (endpoint.constraints.length > 0)
    lines.push("", ...endpoint.constraints.map((rule) => `- ${constraintText(rule)}`));
  const fields = replyFields(endpoint);
  if (fields.length === 0) lines.push("", "Answers nothing.");
  else {
    lines.push("", "| answer | |", "| --- | --- |");
    for (const field of fields) lines.push(row([`\`${field.path}\``, fieldText(field)]));
  }
  const paging = pagingText(endpoint);
  if (paging !== null) lines.push("", paging);
  if (endpoint.notes.length > 0) lines.push("", ...endpoint.notes.map((note) => `- ${note}`));
  return lines;
}

function fieldText({ kind, optional }: RecordField): string {
  return optional ? `${kind}, may be missing` : kind;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}

function anchor(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}
