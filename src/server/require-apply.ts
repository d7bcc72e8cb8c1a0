// What a caller needs to apply these very manifests: the permission of each kind, and to be in their namespace.
import type { Caller } from '../contract/caller.ts'
import { KINDS } from '../resource/kinds.ts'
import { readManifests } from '../resource/manifest.ts'
import { requireNamespace, requirePermission, requireThawed } from './auth.ts'
import type { Edge } from './edge.ts'
import { refuseOwnRoles } from './own-role.ts'

/** Looked at before anything is planned: what would change in another namespace is not for this caller to see. */
export async function requireApply(
  edge: Pick<Edge, 'holds' | 'runtime'>,
  caller: Caller,
  text: Buffer,
): Promise<void> {
  requireThawed(caller, edge.runtime)
  if (caller.admin) return
  const { documents } = readManifests(text, 'body')
  const needed = KINDS.filter(({ name }) => documents.some(({ kind }) => kind === name))
  // Where nothing can be read, at least this is needed to learn why.
  if (needed.length === 0) requirePermission(caller, 'resource:write', edge.holds)
  for (const { permission } of needed) requirePermission(caller, permission, edge.holds)
  for (const { manifest } of documents) requireNamespace(caller, manifest.metadata.namespace)
  const named = documents.map(({ kind, manifest }) => ({ kind, name: manifest.metadata.name }))
  await refuseOwnRoles(edge, caller, named)
}
