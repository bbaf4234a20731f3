/** Checks a Discord channel without sending anything. Each failure has a fix. */
import type { SendFailure } from "../../domain/alerts/delivery.ts";
import type { ProbeResult, Warning } from "../channel.ts";
import type { ApiProblem, DiscordApi } from "./api.ts";
import { type Guild, has, type Overwrite, type PermissionName, permissionsIn } from "./permissions.ts";
import type { DiscordBotSettings, MentionSettings, WebhookAddress } from "./settings.ts";
import { threadFix } from "./threads.ts";

const fixByFailure: Readonly<Record<SendFailure, string>> = {
  authentication: "check the bot's permissions in the server",
  "rate-limited": "wait; perpwatch tries again by itself",
  rejected: "check the settings of this channel",
  unreachable: "check the network, a proxy or a firewall in between, and apiUrl",
  timeout: "check the network; perpwatch tries again by itself",
  "server-error": "wait; Discord is unwell and perpwatch tries again by itself",
};

function failed(problem: ApiProblem, fix = fixByFailure[problem.failure]): ProbeResult {
  return { kind: "failed", failure: problem.failure, detail: problem.detail, fix };
}

/** Runs a probe. An answer with an unexpected structure is a failure, not an error. */
async function guardForm(probe: () => Promise<ProbeResult>): Promise<ProbeResult> {
  try {
    return await probe();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const detail = "Discord's answer has another form than expected";
    return { kind: "failed", failure: "server-error", detail, fix: "check apiUrl" };
  }
}

/** Checks token, channel, permissions, and whether the configured mentions notify anybody. */
export const probeBot = (...parts: Parameters<typeof botProbe>): Promise<ProbeResult> =>
  guardForm(() => botProbe(...parts));

async function botProbe(
  api: DiscordApi,
  settings: Pick<DiscordBotSettings, "channelId" | "threads">,
  mention: MentionSettings | undefined,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const me = await api.call({ method: "GET", route: "/users/@me" }, signal);
  if (me.kind === "problem") {
    const fix =
      "put a valid bot token into the configuration: Discord developer portal, your application, Bot, Reset Token";
    return failed(me, me.failure === "authentication" ? fix : undefined);
  }
  const channel = await api.call({ method: "GET", route: `/channels/${settings.channelId}` }, signal);
  if (channel.kind === "problem") {
    if (channel.status === 404) {
      return failed(
        channel,
        "check channelId: in Discord, switch on developer mode, right-click the channel, Copy Channel ID",
      );
    }
    if (channel.status === 403) {
      return failed(
        channel,
        "invite the bot to the server, and give it View Channel and Send Messages in this channel",
      );
    }
    return failed(channel);
  }
  const bot = me.data as { id: string; username?: string };
  const { name, type, guild_id, permission_overwrites } = channel.data as {
    name?: string;
    type?: number;
    guild_id?: string;
    permission_overwrites?: readonly Overwrite[];
  };
  const where = `bot ${api.words(bot.username ?? bot.id)} in #${api.words(name ?? settings.channelId)}`;
  if (guild_id === undefined) return { kind: "ok", detail: where };

  const guild = await api.call({ method: "GET", route: `/guilds/${guild_id}` }, signal);
  const member = await api.call({ method: "GET", route: `/guilds/${guild_id}/members/${bot.id}` }, signal);
  if (guild.kind === "problem" || member.kind === "problem") {
    return { kind: "ok", detail: where, warnings: [unreadablePermissions] };
  }
  const { roles } = member.data as { roles: readonly string[] };
  const bits = permissionsIn(guild.data as Guild, permission_overwrites ?? [], { id: bot.id, roles });
  const missing = (names: readonly PermissionName[]) => names.filter((one) => !has(bits, one));

  const needed = missing(["View Channel", "Send Messages"]);
  if (needed.length > 0) {
    const list = needed.join(" and ");
    return {
      kind: "failed",
      failure: "authentication",
      detail: `${where} lacks ${list}`,
      fix: `give the bot ${list} in this channel: channel settings, Permissions`,
    };
  }
  const warnings: Warning[] = missing(["Embed Links", "Attach Files", "Read Message History"]).map((one) => ({
    detail: `without ${one} ${missingEffect[one] ?? "it can do less"}`,
    fix: `give the bot ${one} in this channel`,
  }));
  const lacks = missing(["Create Public Threads", "Send Messages in Threads"]).join(" and ");
  if (settings.threads && type !== undefined && !threadChannelTypes.has(type))
    warnings.push({
      detail: "a channel of this kind has no threads",
      fix: "take a text channel, or set threads: false",
    });
  else if (settings.threads && lacks !== "")
    warnings.push({
      detail: `without ${lacks} what follows a critical message stays in the channel`,
      fix: threadFix,
    });
  warnings.push(...silentMentionWarnings(guild.data as Guild, mention, has(bits, "Mention Everyone")));
  return { kind: "ok", detail: where, ...(warnings.length === 0 ? {} : { warnings }) };
}

const unreadablePermissions: Warning = {
  detail: "the bot's permissions could not be read",
  fix: "see that the bot is a member of the server, and look again",
};

/** Channel types with threads: text and announcement channels. */
const threadChannelTypes: ReadonlySet<number> = new Set([0, 5]);

const missingEffect: Readonly<Partial<Record<PermissionName, string>>> = {
  "Embed Links": "messages go as plain text",
  "Attach Files": "messages have no charts",
  "Read Message History": "it cannot reply, nor look whether a message arrived",
};

/** Warns about mentions that Discord shows without notifying anybody; nobody would notice before they are needed. */
function silentMentionWarnings(
  guild: Guild,
  mention: MentionSettings | undefined,
  everyone: boolean,
): Warning[] {
  const warnings: Warning[] = [];
  for (const text of new Set(Object.values(mention ?? {}))) {
    if (everyone || text === undefined) continue;
    const id = /^<@&(\d+)>$/.exec(text)?.[1];
    const role = guild.roles.find((one) => one.id === id);
    if (id !== undefined && role === undefined)
      warnings.push({
        detail: `the role ${id} of mention is not in this server`,
        fix: "copy the id of a role of this server into mention",
      });
    else if (role?.mentionable === false) {
      warnings.push({
        detail: `the role ${role.id} of mention pings nobody`,
        fix: "allow anyone to mention it, or give the bot Mention Everyone",
      });
    } else if (text.startsWith("@"))
      warnings.push({ detail: `${text} pings nobody`, fix: "give the bot Mention Everyone" });
  }
  return warnings;
}

export const probeWebhook = (...parts: Parameters<typeof webhookProbe>): Promise<ProbeResult> =>
  guardForm(() => webhookProbe(...parts));

async function webhookProbe(
  api: DiscordApi,
  { id, token }: WebhookAddress,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const hook = await api.call({ method: "GET", route: `/webhooks/${id}/${token}` }, signal);
  if (hook.kind === "ok") {
    const { name } = hook.data as { name?: string };
    return { kind: "ok", detail: `webhook ${api.words(name ?? id)}` };
  }
  const gone = hook.status === 404 || hook.failure === "authentication";
  const fix =
    "make a new webhook (channel settings, Integrations, Webhooks) and put its address into the configuration";
  return failed(hook, gone ? fix : undefined);
}
