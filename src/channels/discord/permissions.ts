/**
 * Computes a bot's permissions in a channel by Discord's rules: roles of the server, then the channel's overwrites.
 * Pure.
 */

export const permissionBits = {
  Administrator: 1n << 3n,
  "View Channel": 1n << 10n,
  "Send Messages": 1n << 11n,
  "Embed Links": 1n << 14n,
  "Attach Files": 1n << 15n,
  "Read Message History": 1n << 16n,
  "Mention Everyone": 1n << 17n,
  "Create Public Threads": 1n << 35n,
  "Send Messages in Threads": 1n << 38n,
} as const;
export type PermissionName = keyof typeof permissionBits;

export interface Guild {
  readonly id: string;
  readonly owner_id?: string;
  readonly roles: readonly {
    readonly id: string;
    readonly permissions: string;
    readonly mentionable?: boolean;
  }[];
}

export interface Overwrite {
  readonly id: string;
  /** 0: a role, 1: a member. */
  readonly type: number;
  readonly allow: string;
  readonly deny: string;
}

const allPermissions = (1n << 60n) - 1n;

/** @returns the permissions as bits */
export function permissionsIn(
  guild: Guild,
  overwrites: readonly Overwrite[],
  member: { readonly id: string; readonly roles: readonly string[] },
): bigint {
  if (guild.owner_id === member.id) return allPermissions;
  const held = new Set([guild.id, ...member.roles]);
  let bits = 0n;
  for (const role of guild.roles) if (held.has(role.id)) bits |= BigInt(role.permissions);
  if ((bits & permissionBits.Administrator) !== 0n) return allPermissions;

  const apply = (some: readonly Overwrite[]) => {
    for (const { deny } of some) bits &= ~BigInt(deny);
    for (const { allow } of some) bits |= BigInt(allow);
  };
  apply(overwrites.filter(({ id, type }) => type === 0 && id === guild.id));
  apply(overwrites.filter(({ id, type }) => type === 0 && id !== guild.id && held.has(id)));
  apply(overwrites.filter(({ id, type }) => type === 1 && id === member.id));
  return bits;
}

export function has(bits: bigint, name: PermissionName): boolean {
  return (bits & permissionBits[name]) !== 0n;
}
