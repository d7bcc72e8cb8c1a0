// What a caller holds by now: its own permissions and those of its roles, narrowed by the scopes of its token (S41).
import type { Caller } from '../contract/caller.ts'
import type { ResolvedRole } from '../resource/resolved-governance.ts'
import type { DataClassification } from '../resource/resolved-tool.ts'
import { sha256Base64url } from '../util/canonical.ts'
import { highest } from './clearance.ts'
import { common, covers, isWildcard } from './covers.ts'
import { DOOR_PERMISSIONS } from './door-permission.ts'
import type { Held } from './rules.ts'

export interface HeldNow extends Held {
  /** Changes whenever a role of the caller, or what it holds by itself, does. */
  readonly version: string
}

/** What a caller without roles can see. */
export const DEFAULT_CLEARANCE: DataClassification = 'internal'

/** So that a stream of ever new callers does not fill the memory. */
const MAX_REMEMBERED = 1_000

interface Granted {
  readonly permissions: readonly string[]
  readonly clearance: DataClassification
  readonly missingRoles: readonly string[]
  readonly versions: string
}

export function createHeld(roles: readonly ResolvedRole[]): (caller: Caller) => HeldNow {
  const byName = new Map(roles.map((role) => [role.name, role]))
  const known = new Map<string, HeldNow>()
  const byCaller = new WeakMap<Caller, HeldNow>()

  /** Callers come anew with every request; what they hold is the same as long as they say the same. */
  function remembered(caller: Caller): HeldNow {
    const key = JSON.stringify([caller.roles, caller.permissions, caller.scopes ?? null])
    const before = known.get(key)
    if (before !== undefined) return before
    if (known.size >= MAX_REMEMBERED) known.clear()
    const held = narrow(caller, grantedBy(caller.roles, byName))
    known.set(key, held)
    return held
  }

  return (caller) => {
    const before = byCaller.get(caller)
    if (before !== undefined) return before
    const held = caller.admin ? heldByAdmin(caller) : remembered(caller)
    byCaller.set(caller, held)
    return held
  }
}

/** Without a look at roles: what the caller holds by itself. */
export function heldAlone(caller: Caller): HeldNow {
  if (caller.admin) return heldByAdmin(caller)
  return narrow(caller, { permissions: [], clearance: DEFAULT_CLEARANCE, missingRoles: [], versions: '' })
}

/**
 * Whether a permission is held. Where wildcards do not count it has to be held by name (S41). Roles are written in lower
 * case, so capabilities and classes are found in both; the name of a tool is only itself.
 */
export function hasPermission(held: Held, wanted: string, wildcards = true): boolean {
  if (held.all === true || held.named.has(wanted)) return true
  if (wildcards && held.permissions.some((permission) => covers(permission, wanted))) return true
  if (wanted.startsWith('tool:')) return false
  const lower = wanted.toLowerCase()
  return lower !== wanted && hasPermission(held, lower, wildcards)
}

function grantedBy(names: readonly string[], byName: ReadonlyMap<string, ResolvedRole>): Granted {
  const permissions = new Set<string>()
  const missing = new Set<string>()
  const versions: string[] = []
  // A set that grows while it is walked: every role once, so a circle ends.
  const reached = new Set(names)
  for (const name of reached) {
    const role = byName.get(name)
    if (role === undefined) {
      missing.add(name)
      continue
    }
    versions.push(`${name}@${role.version}`)
    for (const permission of role.permissions) permissions.add(permission)
    for (const inherited of role.inherits) reached.add(inherited)
  }
  const clearances = names.flatMap((name) => byName.get(name)?.clearance ?? [])
  return {
    permissions: [...permissions],
    clearance: clearances.length === 0 ? DEFAULT_CLEARANCE : highest(clearances),
    missingRoles: [...missing].sort(),
    versions: versions.sort().join(' '),
  }
}

function narrow(caller: Caller, granted: Granted): HeldNow {
  const { scopes } = caller
  const all = [...new Set([...caller.permissions, ...granted.permissions])]
  const permissions =
    scopes === undefined
      ? all
      : [...new Set(all.flatMap((one) => scopes.flatMap((scope) => common(one, scope) ?? [])))]
  // What a scope makes a name of was granted by a wildcard all the same: narrowing must not turn one into the other.
  const named = all.filter(
    (one) => !isWildcard(one) && (scopes === undefined || scopes.some((scope) => covers(scope, one))),
  )
  return {
    permissions,
    named: new Set(named),
    clearance: granted.clearance,
    missingRoles: granted.missingRoles,
    version: versionOf(granted.versions, ...all.toSorted(), 'scopes', ...(scopes ?? ['*']).toSorted()),
  }
}

function heldByAdmin(caller: Caller): HeldNow {
  const permissions = [...new Set([...caller.permissions, ...DOOR_PERMISSIONS])]
  return {
    all: true,
    permissions,
    named: new Set(permissions),
    clearance: 'restricted',
    missingRoles: [],
    version: 'admin',
  }
}

function versionOf(...parts: readonly string[]): string {
  return sha256Base64url(...parts).slice(0, 12)
}
