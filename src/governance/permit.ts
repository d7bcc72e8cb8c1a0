// May this caller invoke this tool at all? Pure: the facts are passed in (S41).
import type { EffectClass } from '../contract/effect.ts'
import type { CallerSnapshot } from '../contract/entry.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { hasPermission, heldAlone } from './held.ts'
import type { ReasonCode } from './reason-code.ts'
import type { Held } from './rules.ts'

export type Permission =
  | { readonly kind: 'permitted' }
  /** `missing` names what would have to be granted. */
  | {
      readonly kind: 'denied'
      readonly code: ReasonCode
      readonly missing: readonly string[]
      readonly why: string
    }

/** Wildcards stop here: these need to be granted by name (S41). */
const NAMED_ONLY: readonly EffectClass[] = ['irreversible', 'financial-high-impact', 'administrative']

/** Whether the caller may know that a tool of this name exists: asked before version, schema or limits can be learned. */
export function mayInvokeName(caller: CallerSnapshot, name: string, held: Held = heldAlone(caller)): boolean {
  return held.missingRoles.length === 0 && hasPermission(held, invokes(name))
}

export function permit(
  caller: CallerSnapshot,
  tool: ResolvedTool,
  held: Held = heldAlone(caller),
): Permission {
  if (held.missingRoles.length > 0) return roleMissing(caller, held)
  const wildcards = wildcardsCount(caller, tool)
  const missing = wantedBy(tool).filter((wanted) => !hasPermission(held, wanted, wildcards))
  if (missing.length === 0) return PERMITTED
  const why = `${caller.actor} lacks ${missing.join(', ')}`
  return {
    kind: 'denied',
    code: 'permission-missing',
    missing,
    why: wildcards ? why : `${why} (wildcards do not cover this tool)`,
  }
}

const PERMITTED: Permission = Object.freeze({ kind: 'permitted' })

export function invokes(name: string): string {
  return `tool:${name}:invoke`
}

/** S41: not for tools that cannot be undone, are financial or administrative; the local admin excepted. */
export function wildcardsCount(caller: CallerSnapshot, tool: ResolvedTool): boolean {
  if (caller.admin) return true
  for (const name in tool.operations) {
    const operation = tool.operations[name]
    if (operation && NAMED_ONLY.includes(operation.effect.class)) return false
  }
  return true
}

function wantedBy({ name, capabilities, permissionClass }: ResolvedTool): string[] {
  const wanted = [invokes(name)]
  for (const capability of capabilities) wanted.push(`capability:${capability}`)
  if (permissionClass !== undefined) wanted.push(`class:${permissionClass}`)
  return wanted
}

function roleMissing({ actor }: CallerSnapshot, { missingRoles }: Held): Permission {
  const roles = missingRoles.map((role) => `role:${role}`)
  const one = missingRoles.length === 1
  return {
    kind: 'denied',
    code: 'role-missing',
    missing: roles,
    why: `${actor} has the ${one ? 'role' : 'roles'} ${missingRoles.join(', ')}, which ${one ? 'does' : 'do'} not exist in this namespace`,
  }
}
