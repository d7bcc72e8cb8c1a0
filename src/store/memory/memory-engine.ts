// Applies batches to the maps, one operation after the other; each is checked whole before it changes anything.
import { approvalProblem } from '../approval-rule.ts'
import type { OpResult, StoreOp } from '../assemble-store.ts'
import { insertProblem } from '../entry-rule.ts'
import { planResources, resourceKey } from '../resource-plan.ts'
import { spendProblem } from '../spend-rule.ts'
import { type ApplyResult, IllegalWrite, type LedgerWrite, type ResourceChange } from '../store.ts'
import { timerProblem } from '../timer-rule.ts'
import type { Refused } from '../write-queue.ts'
import { type MemoryData, pairKey } from './memory-data.ts'
import {
  addCheckpoint,
  chain,
  type Evidence,
  evidenceOf,
  prune,
  pruneCheckpoints,
  startOf,
} from './memory-evidence.ts'
import { noteStop } from './memory-governance.ts'
import { requestCancel, write } from './memory-ledger.ts'
import {
  adoptCalls,
  adoptEntries,
  beginBatch,
  claimTimers,
  endLife,
  reap,
  renew,
  startLife,
} from './memory-life.ts'
import { erase, forget } from './memory-retention.ts'

/** An operation, and the text of its evidence: what cannot become text is refused before it is in a batch. */
export interface MemoryOp {
  readonly op: StoreOp
  readonly evidence: readonly Evidence[]
}

/** What is applied as one, on behalf of which life, at which time by the store's clock. */
export interface MemoryBatch {
  readonly epoch: string
  readonly at: number
  /** Infinity: this life owns the store alone. */
  readonly leaseMs: number
  readonly ops: readonly MemoryOp[]
}

export function prepareOp(op: StoreOp): MemoryOp {
  const evidence = op.kind === 'write' ? op.write.evidence : op.kind === 'apply' ? op.evidence : undefined
  const problem = op.kind === 'write' ? writeProblem(op.write) : undefined
  if (problem !== undefined) throw new IllegalWrite(problem)
  return { op, evidence: (evidence ?? []).map(evidenceOf) }
}

/** What can be said of a write without a look at what is kept. */
function writeProblem(write: LedgerWrite): string | undefined {
  const { namespace, entry, approval, timers = [] } = write
  return (
    (entry?.kind === 'insert' ? insertProblem(entry) : undefined) ??
    (approval === undefined ? undefined : approvalProblem(namespace, approval)) ??
    spendProblem(write) ??
    timers.map(timerProblem).find((one) => one !== undefined)
  )
}

/** Throws `Fenced`, and changes nothing, when the life of the batch has ended. */
export function applyToMemory(data: MemoryData, batch: MemoryBatch): readonly (OpResult | Refused)[] {
  beginBatch(data, batch)
  const evidence: Evidence[] = []
  const results = batch.ops.map((prepared) => {
    if (prepared.op.kind === 'start') evidence.push(startOf(data, batch.epoch, prepared.op.at))
    const result = applyOp(data, batch, prepared.op)
    if (result.kind === 'written' || result.kind === 'applied') evidence.push(...prepared.evidence)
    return result
  })
  chain(data, batch.epoch, evidence)
  return results
}

function applyOp(data: MemoryData, batch: MemoryBatch, op: StoreOp): OpResult | Refused {
  switch (op.kind) {
    case 'start':
      startLife(data, batch)
      return { kind: 'written' }
    case 'write':
      return write(data, batch, op.write)
    case 'apply':
      return applyResources(data, op)
    case 'erase':
      return changed(erase(data, op.before, op.limit))
    case 'forget':
      return changed(forget(data, op.before, op.limit))
    case 'adopt-entries':
      return { kind: 'entries', entries: adoptEntries(data, batch.epoch, op.limit) }
    case 'adopt-calls':
      return { kind: 'calls', calls: adoptCalls(data, batch.epoch, op.limit) }
    case 'claim-timers':
      return { kind: 'timers', timers: claimTimers(data, batch, op.limit) }
    case 'cancel':
      return changed(requestCancel(data, op.namespace, op.id))
    case 'renew':
      return { kind: 'lives', lives: renew(data, batch.epoch, op.over, op.seen) }
    case 'reap':
      return { kind: 'reaped', epochs: reap(data, batch) }
    case 'end':
      endLife(data, batch.epoch)
      return { kind: 'written' }
    case 'checkpoint':
      return changed(addCheckpoint(data, op.row))
    case 'prune':
      return changed(prune(data, op.epoch, op.upToBatch, op.limit))
    case 'prune-checkpoints':
      return changed(pruneCheckpoints(data, op.before, op.limit))
  }
}

function changed(rows: number): OpResult {
  return { kind: 'changed', rows }
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
    noteStop(data, { namespace, ...('put' in one ? one.put : one.remove) })
  }
  data.resourceVersion = plan.lastVersion
  return { kind: 'applied', rows: plan.rows }
}
