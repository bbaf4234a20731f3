/**
 * What Discord refuses in the body of a message, as its reference states it (Create Message, Embed Limits), answered
 * in the shape of its "Invalid Form Body" errors.
 */

export interface FormProblem {
  /** Where: `["embeds", "0", "title"]`. */
  readonly path: readonly string[];
  readonly code: string;
  readonly message: string;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const tooLong = (path: readonly string[], most: number): FormProblem => ({
  path,
  code: "BASE_TYPE_MAX_LENGTH",
  message: `Must be ${most} or fewer in length.`,
});
const required = (path: readonly string[]): FormProblem => ({
  path,
  code: "BASE_TYPE_REQUIRED",
  message: "This field is required",
});

/** @returns every problem of a message body (POST or PATCH). Lengths are counted in UTF-16 units, the strictest reading. */
export function messageProblems(body: Json): FormProblem[] {
  const problems: FormProblem[] = [];
  const text = (value: unknown, path: readonly string[], most: number, need: boolean): number => {
    if (value === undefined || value === null) {
      if (need) problems.push(required(path));
      return 0;
    }
    if (typeof value !== "string") {
      problems.push({ path, code: "STRING_TYPE_CONVERT", message: "Could not interpret value as string." });
      return 0;
    }
    if (need && value.trim() === "") problems.push(required(path));
    if (value.length > most) problems.push(tooLong(path, most));
    return value.length;
  };

  text(body.content, ["content"], 2000, false);
  const nonce = body.nonce;
  if (typeof nonce === "string" && nonce.length > 25) problems.push(tooLong(["nonce"], 25));
  else if (nonce !== undefined && typeof nonce !== "string" && !Number.isInteger(nonce)) {
    problems.push({
      path: ["nonce"],
      code: "NONCE_TYPE_CHOICES",
      message: "Must be a string or an integer.",
    });
  }
  problems.push(...mentionProblems(body.allowed_mentions));

  const embeds = body.embeds;
  if (embeds !== undefined && embeds !== null && !Array.isArray(embeds)) {
    problems.push({ path: ["embeds"], code: "LIST_TYPE_CONVERT", message: "Only iterables may be used." });
  }
  let total = 0;
  const list: unknown[] = Array.isArray(embeds) ? embeds : [];
  if (list.length > 10) problems.push(tooLong(["embeds"], 10));
  for (const [index, embed] of list.entries()) {
    const at = (...more: string[]) => ["embeds", String(index), ...more];
    if (!isObject(embed)) {
      problems.push({ path: at(), code: "DICT_TYPE_CONVERT", message: "Only dictionaries may be used." });
      continue;
    }
    total += text(embed.title, at("title"), 256, false);
    total += text(embed.description, at("description"), 4096, false);
    if (isObject(embed.footer)) total += text(embed.footer.text, at("footer", "text"), 2048, true);
    if (isObject(embed.author)) total += text(embed.author.name, at("author", "name"), 256, true);
    const fields: unknown[] = Array.isArray(embed.fields) ? embed.fields : [];
    if (fields.length > 25) problems.push(tooLong(at("fields"), 25));
    for (const [number, field] of fields.entries()) {
      const named = isObject(field) ? field : {};
      total += text(named.name, at("fields", String(number), "name"), 256, true);
      total += text(named.value, at("fields", String(number), "value"), 1024, true);
    }
    const color = embed.color;
    if (
      color !== undefined &&
      !(Number.isInteger(color) && Number(color) >= 0 && Number(color) <= 0xffffff)
    ) {
      problems.push({
        path: at("color"),
        code: "NUMBER_TYPE_MAX",
        message: "int value should be less than or equal to 16777215.",
      });
    }
    const url = embed.url;
    if (
      url !== undefined &&
      !(typeof url === "string" && /^https?:\/\/[^\s]+$/.test(url) && URL.canParse(url))
    ) {
      problems.push({ path: at("url"), code: "URL_TYPE_INVALID_URL", message: "Not a well formed URL." });
    }
    const timestamp = embed.timestamp;
    if (timestamp !== undefined && !(typeof timestamp === "string" && !Number.isNaN(Date.parse(timestamp)))) {
      problems.push({
        path: at("timestamp"),
        code: "DATE_TIME_TYPE_PARSE",
        message: "Could not parse. Should be ISO8601.",
      });
    }
  }
  if (total > 6000) {
    problems.push({
      path: ["embeds"],
      code: "MAX_EMBED_SIZE_EXCEEDED",
      message: "Embed size exceeds maximum size of 6000",
    });
  }
  return problems;
}

function mentionProblems(value: unknown): FormProblem[] {
  if (!isObject(value)) return [];
  const problems: FormProblem[] = [];
  const parse: unknown[] = Array.isArray(value.parse) ? value.parse : [];
  for (const kind of parse) {
    if (kind !== "roles" && kind !== "users" && kind !== "everyone") {
      problems.push({
        path: ["allowed_mentions", "parse"],
        code: "BASE_TYPE_CHOICES",
        message: "Value must be one of ('roles', 'users', 'everyone').",
      });
    }
  }
  for (const kind of ["users", "roles"] as const) {
    const ids: unknown[] = Array.isArray(value[kind]) ? value[kind] : [];
    if (ids.length > 100) problems.push(tooLong(["allowed_mentions", kind], 100));
    if (ids.length > 0 && parse.includes(kind)) {
      problems.push({
        path: ["allowed_mentions"],
        code: "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        message: `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`,
      });
    }
  }
  return problems;
}

/** The body of Discord's answer 400, code 50035. */
export function invalidForm(problems: readonly FormProblem[]): object {
  const errors: Json = {};
  for (const { path, code, message } of problems) {
    let node = errors;
    for (const step of path) {
      const next = node[step];
      if (isObject(next)) node = next;
      else {
        const made: Json = {};
        node[step] = made;
        node = made;
      }
    }
    const listed: unknown[] = Array.isArray(node._errors) ? node._errors : [];
    node._errors = [...listed, { code, message }];
  }
  return { message: "Invalid Form Body", code: 50035, errors };
}

/** Whom a message pings: what its content names, as far as allowed_mentions lets it. Embeds ping nobody. */
export function pinged(
  content: string,
  allowed: unknown,
): { users: string[]; roles: string[]; everyone: boolean } {
  const users = [...content.matchAll(/<@!?(\d+)>/g)].map((match) => match[1] ?? "");
  const roles = [...content.matchAll(/<@&(\d+)>/g)].map((match) => match[1] ?? "");
  const everyone = /@(everyone|here)\b/.test(content);
  if (!isObject(allowed)) return { users, roles, everyone };
  const parse: unknown[] = Array.isArray(allowed.parse) ? allowed.parse : [];
  const listed = (kind: "users" | "roles", ids: string[]) => {
    const permitted: unknown[] = Array.isArray(allowed[kind]) ? allowed[kind] : [];
    return ids.filter((id) => parse.includes(kind) || permitted.includes(id));
  };
  return {
    users: listed("users", users),
    roles: listed("roles", roles),
    everyone: everyone && parse.includes("everyone"),
  };
}
