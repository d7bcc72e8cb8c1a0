// May this caller invoke this tool at all? Pure: the facts are passed in (S41).
import type { EffectClass } from '../contract/effect.ts'
import type { CallerSnapshot } from '../contract/entry.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'

export type Permission =
  | { readonly kind: 'permitted' }
  /** `missing` names what would have to be granted. */
  | { readonly kind: 'denied'; readonly missing: readonly string[]; readonly why: string }

/** Wildcards stop here: these need to be granted by name (S41). */
const NAMED_ONLY: readonly EffectClass[] = ['irreversible', 'financial-high-impact', 'administrative']

/** Whether the caller may know that a tool of this name exists: asked before version, schema or limits can be learned. */
export function mayInvokeName(caller: CallerSnapshot, name: string): boolean {
  return holds(caller.permissions, 'tool:', name, ':invoke', true)
}

export function permit(caller: CallerSnapshot, tool: ResolvedTool): Permission {
  const wildcards = caller.admin || !needsName(tool)
  const missing: string[] = []
  if (!holds(caller.permissions, 'tool:', tool.name, ':invoke', wildcards))
    missing.push(`tool:${tool.name}:invoke`)
  for (const capability of tool.capabilities) {
    if (!holds(caller.permissions, 'capability:', capability, '', wildcards))
      missing.push(`capability:${capability}`)
  }
  if (
    tool.permissionClass !== undefined &&
    !holds(caller.permissions, 'class:', tool.permissionClass, '', wildcards)
  ) {
    missing.push(`class:${tool.permissionClass}`)
  }
  if (missing.length === 0) return { kind: 'permitted' }
  const why = `${caller.actor} lacks ${missing.join(', ')}`
  return { kind: 'denied', missing, why: wildcards ? why : `${why} (wildcards do not cover this tool)` }
}

function needsName(tool: ResolvedTool): boolean {
  for (const name in tool.operations) {
    const operation = tool.operations[name]
    if (operation && NAMED_ONLY.includes(operation.effect.class)) return true
  }
  return false
}

/** A permission covers a name when it is that name, or, where wildcards count, ends in `*` and starts it. */
function holds(
  permissions: readonly string[],
  prefix: string,
  name: string,
  suffix: string,
  wildcards: boolean,
): boolean {
  const wanted = prefix + name + suffix
  for (const permission of permissions) {
    if (permission === wanted) return true
    if (!wildcards || !permission.startsWith(prefix) || !permission.endsWith(`*${suffix}`)) continue
    const stem = permission.slice(prefix.length, permission.length - suffix.length - 1)
    if (name.startsWith(stem)) return true
  }
  return false
}
