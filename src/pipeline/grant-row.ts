// A standing approval as it is kept: a row of the resource store.
import type { ApprovalGrant } from '../governance/grant.ts'
import type { Condition } from '../resource/resolved-governance.ts'
import type { ResourceRow } from '../store/store.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'

/** The one version that such a row has. */
export const GRANT_VERSION = '0.0.0'

export interface KeptGrant extends ApprovalGrant {
  readonly namespace: string
  readonly createdAt: number
  readonly reason?: string
}

export function grantBody({
  namespace: _,
  id: __,
  maxUses,
  createdAt,
  when,
  ...grant
}: KeptGrant): JsonObject {
  return {
    ...grant,
    created_at: createdAt,
    when: when.map((condition) => ({ ...condition })),
    ...(maxUses === undefined ? {} : { max_uses: maxUses }),
  }
}

/** A row that cannot be read grants nothing. */
export function readGrant({ namespace, name, body }: ResourceRow): KeptGrant | undefined {
  const { tool, digest, operation, when, caller, role, by, until, reason, max_uses: maxUses } = body
  const createdAt = body.created_at
  const texts = [tool, digest, operation, by]
  if (!texts.every((one) => typeof one === 'string' && one !== '')) return undefined
  if (typeof until !== 'number' || !Array.isArray(when) || !when.every(isCondition)) return undefined
  // One of these that is there and cannot be read would widen the grant if it were left out.
  if (![caller, role].every((one) => one === undefined || typeof one === 'string')) return undefined
  if (maxUses !== undefined && typeof maxUses !== 'number') return undefined
  return {
    namespace,
    id: name,
    tool: String(tool),
    digest: String(digest),
    operation: String(operation),
    when: when as unknown as readonly Condition[],
    by: String(by),
    until,
    createdAt: typeof createdAt === 'number' ? createdAt : 0,
    ...(typeof caller === 'string' ? { caller } : {}),
    ...(typeof role === 'string' ? { role } : {}),
    ...(maxUses === undefined ? {} : { maxUses }),
    ...(typeof reason === 'string' ? { reason } : {}),
  }
}

function isCondition(value: unknown): boolean {
  const condition = value as JsonObject
  return isJsonObject(condition) && typeof condition.field === 'string' && typeof condition.op === 'string'
}
