// Nobody but the admin changes a role that it has: whoever may write roles must not give itself what it lacks.
import type { Caller } from '../contract/caller.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { Edge } from './edge.ts'
import { Refusal } from './refusal.ts'

const KIND = 'AgentRole'

/** Refuses where one of these documents is a role of the caller, or one that its roles inherit from. */
export async function refuseOwnRoles(
  { runtime }: Pick<Edge, 'runtime'>,
  caller: Caller,
  documents: readonly { readonly kind: string; readonly name: string }[],
): Promise<void> {
  const roles = documents.filter(({ kind }) => kind === KIND).map(({ name }) => name)
  if (caller.admin || roles.length === 0) return
  const rows = await runtime.resources.list({ namespace: caller.namespace, kind: KIND })
  const inherits = new Map(rows.map(({ name, body }) => [name, inheritedBy(body)]))
  // A set that grows while it is walked: every role once, so a circle ends.
  const own = new Set(caller.roles)
  for (const name of own) for (const inherited of inherits.get(name) ?? []) own.add(inherited)
  const role = roles.find((name) => own.has(name))
  if (role === undefined) return
  throw new Refusal({
    failure: 'permission-denied',
    message: `${caller.actor} has the role ${role}, and cannot change what it grants.`,
    fix: 'Have somebody change it who does not have it, or the admin.',
    details: { code: 'permission-missing', missing: ['admin'] },
  })
}

function inheritedBy({ spec }: JsonObject): readonly string[] {
  const names = isJsonObject(spec) ? spec.inherits : undefined
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
}
