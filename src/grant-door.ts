// Standing approvals, for one caller: made, listed and taken back. Each is the word of one person, for a bounded class.
import { type Caller, kindOf } from './contract/caller.ts'
import type { Failure } from './contract/failure.ts'
import { createFailure } from './contract/projection.ts'
import { PolicyUnavailable } from './governance/authority.ts'
import { hasPermission } from './governance/held.ts'
import { GRANT_KIND } from './ledger/ledger.ts'
import { type DecideKit, frozenCaller } from './pipeline/decide-approval.ts'
import { GRANT_VERSION, grantBody, type KeptGrant, readGrant } from './pipeline/grant-row.ts'
import { standingOf } from './pipeline/standing.ts'
import { grantSpend, MILLION } from './pipeline/use-approval.ts'
import { isComparable } from './resource/comparison.ts'
import { COMPARISONS, type ResolvedTool } from './resource/resolved-tool.ts'
import type { ApprovalDoor, GrantResult, GrantView, GrantWish } from './runtime-api.ts'
import { isKeepable } from './store/entry-rule.ts'
import type { NewEvidence, ResourceChange } from './store/store.ts'
import { onlyUnavailable } from './store/unavailable.ts'
import { canonicalJson, sha256Hex } from './util/canonical.ts'

type GrantDoor = Pick<ApprovalDoor, 'makeGrant' | 'listGrants' | 'endGrant'>

const WRITE = 'grant:write'
const MOST_MS = 30 * 86_400_000
const MOST_USES = 1_000_000
const MOST_CONDITIONS = 50
const MOST_TEXT = 4_000
/** Grants that are over are taken out with the next one that is made, a few at a time. */
const SWEEP = 50

export function createGrantDoor(caller: Caller, kit: DecideKit): GrantDoor {
  const { store, world } = kit
  const { namespace, actor } = caller

  async function all(): Promise<readonly KeptGrant[]> {
    return (await kit.ledger.grants(namespace)).flatMap((row) => readGrant(row) ?? [])
  }

  async function view(grant: KeptGrant): Promise<GrantView> {
    const spend = grantSpend(grant)
    if (spend === undefined) return grant
    const spent = await kit.ledger.spent(namespace, [spend])
    return { ...grant, uses: (spent.get(spend.budget) ?? 0) / MILLION }
  }

  function evidence(type: NewEvidence['type'], grant: KeptGrant, more = {}): readonly NewEvidence[] {
    const { id, ...body } = { ...grantBody(grant), id: grant.id }
    return [{ namespace, callId: '', type, at: world.clock.now(), body: { grant_id: id, ...body, ...more } }]
  }

  /** Whoever agrees beforehand could have agreed when it was asked: people with the right to. */
  function refusal(role: string | undefined): Failure | undefined {
    const { held } = standingOf(caller, kit)
    const frozen = frozenCaller(caller, kit)
    if (frozen !== undefined) return frozen
    if (kindOf(caller) === 'agent')
      return denied('approver-agent', `${actor} is an agent; people and services make grants`, [])
    if (held.missingRoles.length > 0)
      return denied(
        'role-missing',
        `${actor} has roles that do not exist: ${held.missingRoles.join(', ')}`,
        [],
      )
    if (!hasPermission(held, WRITE)) return denied('permission-missing', `${actor} lacks ${WRITE}`, [WRITE])
    if (role === undefined && !hasPermission(held, 'approval:decide'))
      return denied('approver-unqualified', `${actor} lacks approval:decide`, ['approval:decide'])
    if (role !== undefined && !caller.admin && !caller.roles.includes(role))
      return denied('approver-unqualified', `${actor} is not of role ${role}`, [`role:${role}`])
    return undefined
  }

  async function make(wish: GrantWish): Promise<GrantResult> {
    const wrong = wrongWish(wish)
    if (wrong !== undefined) return refused(wrong)
    const found = kit.catalog.resolve(namespace, wish.tool, undefined, world.clock.now())
    const tool = found.kind === 'found' ? found.tool.tool : undefined
    const role = wish.role ?? tool?.approval.role
    const failure = refusal(role)
    if (failure !== undefined) return refused(failure)
    if (tool === undefined || found.kind !== 'found') {
      const { failure: id, message, details } = found as Extract<typeof found, { kind: 'failed' }>
      return refused(createFailure(id, { message, details }))
    }
    const operation = operationOf(tool, wish.operation)
    if (typeof operation !== 'string') return refused(operation)
    const { when = [], caller: meant, maxUses, reason } = wish
    const grant: KeptGrant = {
      namespace,
      id: world.id(),
      tool: tool.name,
      digest: tool.digest,
      operation,
      when,
      by: actor,
      createdAt: world.clock.now(),
      until: Math.floor(kit.steadyNow() + wish.ttlMs),
      ...(meant === undefined ? {} : { caller: meant }),
      ...(role === undefined ? {} : { role }),
      ...(maxUses === undefined ? {} : { maxUses }),
      ...(reason === undefined ? {} : { reason }),
    }
    const body = grantBody(grant)
    const digest = sha256Hex(canonicalJson(body))
    const put = { kind: GRANT_KIND, name: grant.id, version: GRANT_VERSION, put: { digest, body } }
    const over = (await all()).filter(({ until }) => until < kit.steadyNow()).slice(0, SWEEP)
    const changes = [...over.map(({ id }) => removal(id)), put]
    await store.resources.apply(namespace, changes, world.clock.now(), evidence('grant.made', grant))
    return { kind: 'ok', grant: await view(grant) }
  }

  async function end(id: string, reason: string | undefined): Promise<GrantResult> {
    const row = (await kit.ledger.grants(namespace)).find(({ name }) => name === id)
    const grant = row && readGrant(row)
    if (row === undefined || grant === undefined || !maySee(grant)) return { kind: 'not-found' }
    const { held } = standingOf(caller, kit)
    if (grant.by !== actor && !hasPermission(held, WRITE))
      return refused(denied('permission-missing', `${actor} lacks ${WRITE}`, [WRITE]))
    const last = await view(grant)
    const more = { ended_by: actor, ...(reason === undefined ? {} : { end_reason: reason }) }
    const facts = evidence('grant.ended', grant, more)
    // Of two who end it at once, one has ended it.
    const gone = { ...removal(id), expect: row.resourceVersion }
    const ended = await store.resources.apply(namespace, [gone], world.clock.now(), facts)
    return ended.kind === 'applied' ? { kind: 'ok', grant: last } : { kind: 'not-found' }
  }

  function maySee(grant: KeptGrant): boolean {
    const { held } = standingOf(caller, kit)
    const reads = ['approval:read', 'approval:decide', WRITE].some((one) => hasPermission(held, one))
    return reads || grant.by === actor || grant.caller === actor
  }

  async function guard(run: () => Promise<GrantResult>): Promise<GrantResult> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof PolicyUnavailable)
        return refused(createFailure('policy-unavailable', { message: error.message }))
      onlyUnavailable(error)
      return refused(createFailure('intent-not-recorded'))
    }
  }

  return {
    makeGrant: (wish) => guard(() => make(wish)),
    async listGrants() {
      const now = kit.steadyNow()
      const grants = (await all()).filter((grant) => grant.until > now && maySee(grant))
      return Promise.all(grants.map(view))
    },
    endGrant: (id, { reason } = {}) => guard(() => end(id, reason)),
  }
}

function removal(id: string): ResourceChange {
  return { kind: GRANT_KIND, name: id, version: GRANT_VERSION }
}

function operationOf({ name, operations }: ResolvedTool, wanted: string | undefined): string | Failure {
  const names = Object.keys(operations).filter((one) => operations[one]?.internal !== true)
  const [only, ...more] = names
  const chosen = wanted ?? (more.length === 0 ? only : names.find((one) => one === 'invoke'))
  if (chosen !== undefined && names.includes(chosen)) return chosen
  return createFailure('operation-unknown', {
    message:
      wanted === undefined
        ? `'${name}' has several operations: ${names.join(', ')}`
        : `'${name}' has no operation '${wanted}'; it has ${names.join(', ')}`,
    fix: 'Name one of them.',
    details: { operation: wanted ?? '', operations: names },
  })
}

function wrongWish({ ttlMs, maxUses, when = [], reason = '', caller = '' }: GrantWish): Failure | undefined {
  const violations: { path: string; message: string }[] = []
  const demand = (path: string, holds: boolean, message: string) => {
    if (!holds) violations.push({ path, message })
  }
  demand('/ttl', ttlMs >= 1_000 && ttlMs <= MOST_MS, 'must be between 1s and 30 days')
  const counts = maxUses === undefined || (Number.isInteger(maxUses) && maxUses >= 1 && maxUses <= MOST_USES)
  demand('/max_uses', counts, `must be a whole number from 1 to ${MOST_USES}`)
  demand('/when', when.length <= MOST_CONDITIONS, `must have at most ${MOST_CONDITIONS} conditions`)
  for (const [index, { field, op, value }] of when.entries()) {
    demand(
      `/when/${index}/field`,
      field === '' || field.startsWith('/'),
      'must be a JSON pointer, such as /amount',
    )
    const known = COMPARISONS.includes(op)
    demand(`/when/${index}/op`, known, `must be one of ${COMPARISONS.join(', ')}`)
    if (known) demand(`/when/${index}/value`, isComparable(op, value), `cannot be compared by ${op}`)
  }
  demand(
    '/reason',
    reason.length <= MOST_TEXT && isKeepable(reason),
    `must have at most ${MOST_TEXT} characters`,
  )
  demand('/caller', caller.length <= 256 && isKeepable(caller), 'must have at most 256 characters')
  if (violations.length === 0) return undefined
  const message = violations.map((one) => `${one.path}: ${one.message}`).join('; ')
  return createFailure('envelope-invalid', { message, details: { violations } })
}

function denied(code: string, message: string, missing: readonly string[]): Failure {
  return createFailure('permission-denied', { message, details: { code, missing } })
}

function refused(failure: Failure): GrantResult {
  return { kind: 'refused', failure }
}
