/**
 * The reasons for which Discord refuses the body of a message, as its reference states it (Create Message, Embed Limits),
 * answered in the shape of its "Invalid Form Body" errors.
 */

export interface FormProblem {
  /** The path: `["embeds", "0", "title"]`. */
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
  problems.push(...mentionProblems(body.allowed_mentions), ...componentProblems(body.components));

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

/** Rows of buttons: 5 of 5, each with an id of its own. */
function componentProblems(value: unknown): FormProblem[] {
  if (value === undefined || value === null) return [];
  const problems: FormProblem[] = [];
  const rows: unknown[] = Array.isArray(value) ? value : [];
  if (!Array.isArray(value) || rows.length > 5) problems.push(tooLong(["components"], 5));
  const ids = new Set<string>();
  for (const [index, row] of rows.entries()) {
    const at = ["components", String(index), "components"];
    const buttons: unknown[] = isObject(row) && Array.isArray(row.components) ? row.components : [];
    if (!isObject(row) || row.type !== 1 || buttons.length === 0) problems.push(required(at));
    if (buttons.length > 5) problems.push(tooLong(at, 5));
    for (const button of buttons) {
      const { label, custom_id } = isObject(button) ? button : {};
      if (typeof label !== "string" || label === "") problems.push(required([...at, "label"]));
      else if (label.length > 80) problems.push(tooLong([...at, "label"], 80));
      if (typeof custom_id !== "string" || custom_id === "") problems.push(required([...at, "custom_id"]));
      else if (custom_id.length > 100) problems.push(tooLong([...at, "custom_id"], 100));
      else if (ids.has(custom_id)) {
        const message = "Component custom id cannot be duplicated";
        problems.push({ path: at, code: "COMPONENT_CUSTOM_ID_DUPLICATED", message });
      } else ids.add(custom_id);
    }
  }
  return problems;
}

/** @returns every problem of a list of slash commands */
export function commandProblems(value: unknown): FormProblem[] {
  if (!Array.isArray(value)) return [required([])];
  const problems: FormProblem[] = [];
  const nameable = (raw: unknown, path: readonly string[]) => {
    const { name, description } = isObject(raw) ? raw : {};
    if (typeof name !== "string" || !/^[-_a-z0-9]{1,32}$/.test(name)) {
      const message = "Command name is invalid";
      problems.push({ path, code: "APPLICATION_COMMAND_INVALID_NAME", message });
    }
    if (typeof description !== "string" || description === "")
      problems.push(required([...path, "description"]));
    else if (description.length > 100) problems.push(tooLong([...path, "description"], 100));
  };
  if (value.length > 100) problems.push(tooLong([], 100));
  for (const [index, command] of (value as unknown[]).entries()) {
    nameable(command, [String(index)]);
    const options: unknown[] = isObject(command) && Array.isArray(command.options) ? command.options : [];
    if (options.length > 25) problems.push(tooLong([String(index), "options"], 25));
    let optional = false;
    for (const [number, option] of options.entries()) {
      const path = [String(index), "options", String(number)];
      nameable(option, path);
      const needed = isObject(option) && option.required === true;
      if (needed && optional) {
        const message = "Required options must be placed before non-required options";
        problems.push({ path, code: "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message });
      }
      optional ||= !needed;
    }
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

/** The people whom a message pings: what its content names, as far as allowed_mentions lets it. Embeds ping nobody. */
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
