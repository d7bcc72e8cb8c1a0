// Applies batches to the maps, one operation after the other; each is checked whole before it changes anything.
import { isOutcome } from '../../contract/answer.ts'
import type { CallRecord } from '../../contract/call.ts'
import type { OpResult, StoreOp } from '../assemble-store.ts'
import { insertProblem, isSettled, moveProblem, startsAttempt } from '../entry-rule.ts'
import { EMPTY_CHAIN, hashRecord, linkBatch, startRecord } from '../evidence-chain.ts'
import { planResources, resourceKey } from '../resource-plan.ts'
import type {
  ApplyResult,
  EntryInsert,
  EntryUpdate,
  EvidenceLink,
  EvidenceRecord,
  LedgerWrite,
  ResourceChange,
  WriteResult,
} from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { findIdentity, type MemoryData, pairKey } from './memory-data.ts'

const WRITTEN: WriteResult = Object.freeze({ kind: 'written' })

/** An operation, and the text of its evidence: what cannot become text is refused before it is in a batch. */
export interface MemoryOp {
  readonly op: StoreOp
  readonly evidence: readonly Evidence[]
}

interface Evidence {
  readonly record: EvidenceRecord
  /** The text of its body. */
  readonly body: string
}

export function prepareOp(op: StoreOp): MemoryOp {
  const evidence = op.kind === 'write' ? op.write.evidence : op.kind === 'apply' ? op.evidence : undefined
  return { op, evidence: (evidence ?? []).map((record) => ({ record, body: JSON.stringify(record.body) })) }
}

export function applyToMemory(
  data: MemoryData,
  epoch: string,
  ops: readonly MemoryOp[],
): readonly (OpResult | Refused)[] {
  const evidence: Evidence[] = []
  const results = ops.map((prepared) => {
    const result = applyOp(data, prepared.op)
    if (prepared.op.kind === 'start') evidence.push(startOf(data, epoch, prepared.op.at))
    if (result.kind === 'written' || result.kind === 'applied') evidence.push(...prepared.evidence)
    return result
  })
  chain(data, epoch, evidence)
  return results
}

function applyOp(data: MemoryData, op: StoreOp): OpResult | Refused {
  switch (op.kind) {
    case 'start':
      return WRITTEN
    case 'write':
      return write(data, op.write)
    case 'apply':
      return applyResources(data, op)
    case 'erase':
      return { kind: 'changed', rows: erase(data, op.before, op.limit) }
    case 'forget':
      return { kind: 'changed', rows: forget(data, op.before, op.limit) }
  }
}

function write(data: MemoryData, op: LedgerWrite): WriteResult | Refused {
  if (op.entry !== undefined) {
    const result = op.entry.kind === 'insert' ? insert(data, op.entry) : update(data, op.entry)
    if (result.kind !== 'written') return result
  }
  for (const record of op.calls ?? []) {
    const at = pairKey(record.namespace, record.id)
    if (record.state !== 'running' || !data.calls.has(at)) data.calls.set(at, { record, erased: false })
  }
  return WRITTEN
}

function insert(data: MemoryData, op: EntryInsert): WriteResult | Refused {
  const { entry, uniqueSince } = op
  const problem = insertProblem(op)
  if (problem !== undefined) return { kind: 'refused', message: problem }
  const at = pairKey(entry.scope, entry.key)
  const found = data.entries.get(at)
  if (found !== undefined) return { kind: 'conflict', on: 'key', entry: found }
  if (uniqueSince !== undefined && entry.identity !== undefined) {
    const earlier = findIdentity(data, entry.identity, uniqueSince)
    if (earlier !== undefined) return { kind: 'conflict', on: 'identity', entry: earlier }
  }
  const id = pairKey(entry.namespace, entry.id)
  if (data.entryKeys.has(id)) return { kind: 'refused', message: `entry id ${entry.id} is already in use` }
  data.entries.set(at, entry)
  data.entryKeys.set(id, at)
  if (entry.identity !== undefined) {
    const same = data.identities.get(entry.identity)
    if (same === undefined) data.identities.set(entry.identity, [at])
    else same.push(at)
  }
  return WRITTEN
}

function update(data: MemoryData, op: EntryUpdate): WriteResult | Refused {
  const at = pairKey(op.scope, op.key)
  const found = data.entries.get(at)
  if (found === undefined || found.revision !== op.revision) {
    return { kind: 'conflict', on: 'revision', ...(found === undefined ? {} : { entry: found }) }
  }
  if (op.uniqueSince !== undefined && found.identity !== undefined) {
    const earlier = findIdentity(data, found.identity, op.uniqueSince)
    if (earlier !== undefined && earlier !== found)
      return { kind: 'conflict', on: 'identity', entry: earlier }
  }
  const message = moveProblem({ state: found.state, erased: found.erased === true }, op)
  if (message !== undefined) return { kind: 'refused', message }
  const { outcome, settledAt, ...rest } = found
  const kept = startsAttempt(op.path) ? rest : found
  data.entries.set(at, {
    ...kept,
    ...op.set,
    state: op.path.at(-1) ?? found.state,
    revision: found.revision + 1,
  })
  return WRITTEN
}

function applyResources(data: MemoryData, op: Extract<StoreOp, { kind: 'apply' }>): ApplyResult {
  const { namespace, changes, at } = op
  const keyOf = (change: ResourceChange) => pairKey(namespace, resourceKey(change))
  const plan = planResources({
    namespace,
    changes,
    at,
    find: (change) => data.resources.get(keyOf(change)),
    lastVersion: data.resourceVersion,
  })
  if (plan.kind === 'conflict') {
    const change = changes[plan.index] as ResourceChange
    return { kind: 'conflict', change, ...(plan.found === undefined ? {} : { found: plan.found }) }
  }
  for (const one of plan.writes) {
    if ('put' in one) data.resources.set(keyOf(one.put), one.put)
    else data.resources.delete(keyOf(one.remove))
  }
  data.resourceVersion = plan.lastVersion
  return { kind: 'applied', rows: plan.rows }
}

function erase(data: MemoryData, before: number, limit: number): number {
  let rows = 0
  for (const [at, entry] of data.entries) {
    if (rows >= limit) return rows
    if (entry.erased || !isSettled(entry.state) || entry.settledAt === undefined || entry.settledAt >= before)
      continue
    const { payload, outcome, ...rest } = entry
    // The revision moves, so that nobody who read the entry before can still bring it to run.
    data.entries.set(at, { ...rest, revision: entry.revision + 1, erased: true })
    rows += 1
  }
  for (const [at, { record, erased }] of data.calls) {
    if (rows >= limit) return rows
    if (erased || !endedBefore(record, before)) continue
    data.calls.set(at, { record: withoutResult(record), erased: true })
    rows += 1
  }
  return rows
}

function forget(data: MemoryData, before: number, limit: number): number {
  let rows = 0
  for (const [at, entry] of data.entries) {
    if (rows >= limit) return rows
    if (!entry.erased || entry.settledAt === undefined || entry.settledAt >= before) continue
    data.entries.delete(at)
    data.entryKeys.delete(pairKey(entry.namespace, entry.id))
    if (entry.identity !== undefined) {
      const same = (data.identities.get(entry.identity) ?? []).filter((other) => other !== at)
      if (same.length === 0) data.identities.delete(entry.identity)
      else data.identities.set(entry.identity, same)
    }
    rows += 1
  }
  for (const [at, { record, erased }] of data.calls) {
    if (rows >= limit) return rows
    if (!erased || !endedBefore(record, before)) continue
    data.calls.delete(at)
    rows += 1
  }
  return rows
}

function endedBefore(record: CallRecord, before: number): boolean {
  return isOutcome(record.state) && record.endedAt !== undefined && record.endedAt < before
}

/** What the tool returned goes; that the call was, and how it ended, stays. */
function withoutResult(record: CallRecord): CallRecord {
  if (record.answer === undefined) return record
  const { output, commitToken, ...rest } = record.answer
  return { ...record, answer: { ...rest, sideEffects: [] } }
}

function startOf(data: MemoryData, epoch: string, at: number): Evidence {
  const before = [...data.heads].filter(([other]) => other !== epoch).at(-1)
  const record = startRecord(at, before === undefined ? undefined : { epoch: before[0], head: before[1] })
  return { record: { ...record, body: JSON.parse(record.body) }, body: record.body }
}

function chain(data: MemoryData, epoch: string, evidence: readonly Evidence[]): void {
  if (evidence.length === 0) return
  const before = data.heads.get(epoch) ?? EMPTY_CHAIN
  const records = evidence.map(({ record, body }, index) => {
    const seq = before.seq + index + 1
    return { ...record, seq, hash: hashRecord(epoch, seq, { ...record, body }) }
  })
  const { link, head } = linkBatch(
    before,
    records.map((record) => record.hash),
  )
  const links: EvidenceLink[] = data.links.get(epoch) ?? []
  links.push({ epoch, ...link, records })
  data.links.set(epoch, links)
  data.heads.set(epoch, head)
}
