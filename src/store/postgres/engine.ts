// Applies a batch in one transaction, once. What was committed without an acknowledgement is found and not applied again.
import type pg from 'pg'
import { STOP_KIND } from '../../contract/stop.ts'
import type { OpResult } from '../assemble-store.ts'
import type { EvidenceText } from '../evidence-chain.ts'
import type { Refused } from '../write-queue.ts'
import { isOwnFault, Restart, reasonOf } from './database-error.ts'
import type { EncodedOp, EncodedOther } from './encode.ts'
import { writeGroup } from './group-writer.ts'
import {
  beginBatch,
  endLife,
  finishBatch,
  type LifeOptions,
  type LockedLife,
  type OddResults,
  readStart,
  reapLives,
  renewLife,
  type StopLock,
} from './life-writer.ts'
import { applyResources } from './resource-writer.ts'
import { type Part, runParts } from './statement.ts'
import {
  addCheckpoint,
  adoptCalls,
  adoptEntries,
  claimTimers,
  erase,
  forget,
  prune,
  pruneCheckpoints,
  requestCancel,
} from './upkeep-writer.ts'
import { type Step, stepsOf } from './write-group.ts'

export interface Batch {
  /** Counts the batches of one store, from 1. */
  readonly number: number
  readonly ops: readonly EncodedOp[]
}

/** What other processes may want to hear of, once the batch is committed. */
export interface News {
  readonly awaited: readonly string[]
  readonly canceled: readonly { readonly epoch: string; readonly id: string }[]
}

export interface Applied {
  readonly results: readonly (OpResult | Refused)[]
  readonly news: News
}

const WRITTEN: OpResult = Object.freeze({ kind: 'written' })

/** Rejects when it is not known to be committed; then the same batch is to be applied again, on another connection. */
export async function applyBatch(client: pg.Client, life: LifeOptions, batch: Batch): Promise<Applied> {
  try {
    return await attempt(client, life, batch, false)
  } catch (error) {
    if (!isOwnFault(error)) throw error
    // One operation breaks a rule of the database: each for itself, so that only that one is refused.
    await client.query('rollback')
    return attempt(client, life, batch, true)
  }
}

async function attempt(client: pg.Client, options: LifeOptions, batch: Batch, alone: boolean) {
  const turn = await beginBatch(client, options, batch.number, stopLockOf(batch))
  if (turn.kind === 'done') {
    await client.query('rollback')
    return { results: allResults(batch, turn.results), news: { awaited: [], canceled: [] } }
  }
  const writing = new BatchWriting(client, options, turn.life)
  for (const step of stepsOf(batch.ops, alone)) await (alone ? writing.tryStep(step) : writing.step(step))
  const { odd: results, evidence, parts } = writing
  await finishBatch(client, options, turn.life, { number: batch.number, results, evidence, parts })
  const { command } = await client.query('commit')
  // A transaction that failed on the way answers COMMIT with ROLLBACK, and without an error.
  if (command !== 'COMMIT') throw new Restart(`the database answered COMMIT with ${command}`)
  return {
    results: allResults(batch, results),
    news: { awaited: writing.awaited, canceled: writing.canceled },
  }
}

/** Whoever puts a stop has to be alone; others only must not be between their look and their commit. */
function stopLockOf({ ops }: Batch): StopLock {
  let lock: StopLock = 'none'
  for (const op of ops) {
    if (op.kind === 'write') {
      if (lock === 'none' && (op.write.unless ?? []).length > 0) lock = 'shared'
    } else if (op.op.kind === 'apply' && op.op.changes.some(({ kind }) => kind === STOP_KIND)) {
      return 'alone'
    }
  }
  return lock
}

function allResults({ ops }: Batch, odd: OddResults): readonly (OpResult | Refused)[] {
  return ops.map((_, index) => odd[index] ?? WRITTEN)
}

/** What has come of the steps so far. */
class BatchWriting {
  readonly odd: Record<string, OpResult | Refused> = {}
  readonly evidence: EvidenceText[] = []
  readonly awaited: string[] = []
  readonly canceled: { epoch: string; id: string }[] = []
  /** Written with the next statement that is to be run anyway. */
  parts: readonly Part[] = []
  readonly #client: pg.Client
  readonly #options: LifeOptions
  readonly #life: LockedLife

  constructor(client: pg.Client, options: LifeOptions, life: LockedLife) {
    this.#client = client
    this.#options = options
    this.#life = life
  }

  async step(step: Step): Promise<void> {
    await this.#writeParts()
    if (step.kind === 'writes') {
      const group = await writeGroup(this.#client, this.#options.epoch, step.writes)
      for (const [index, result] of group.results) this.odd[index] = result
      this.evidence.push(...group.evidence)
      this.awaited.push(...group.awaited)
      this.parts = group.parts
      return
    }
    const { index, op } = step.other
    const result = await this.#other(op)
    if (result.kind !== 'written') this.odd[index] = result
    if (result.kind === 'written' || result.kind === 'applied') this.evidence.push(...op.evidence)
  }

  /** A step of one operation, which is refused when the database does not take it. */
  async tryStep(step: Step): Promise<void> {
    await this.#writeParts()
    const said = this.evidence.length
    await this.#client.query('savepoint one')
    try {
      await this.step(step)
      await this.#writeParts()
      await this.#client.query('release savepoint one')
    } catch (error) {
      if (!isOwnFault(error)) throw error
      await this.#client.query('rollback to savepoint one')
      this.evidence.length = said
      this.parts = []
      const at = step.kind === 'other' ? step.other.index : (step.writes[0]?.index ?? 0)
      this.odd[at] = {
        kind: 'refused',
        message: `a write broke a rule of the database: ${reasonOf(error)}`,
      }
    }
  }

  async #writeParts(): Promise<void> {
    const { parts } = this
    this.parts = []
    if (parts.length > 0) await runParts(this.#client, parts, { name: 'none', text: 'select 1', values: [] })
  }

  async #other({ op }: EncodedOther): Promise<OpResult> {
    const client = this.#client
    const { ordinal } = this.#life
    const { epoch } = this.#options
    switch (op.kind) {
      case 'start':
        this.evidence.push(await readStart(client, op.at, ordinal))
        return WRITTEN
      case 'apply':
        return applyResources(client, op.namespace, op.changes, op.at)
      case 'erase':
        return changed(await erase(client, op.before, op.limit))
      case 'forget':
        return changed(await forget(client, op.before, op.limit))
      case 'adopt-entries':
        return { kind: 'entries', entries: await adoptEntries(client, epoch, op.limit) }
      case 'adopt-calls':
        return { kind: 'calls', calls: await adoptCalls(client, epoch, op.limit) }
      case 'claim-timers':
        return { kind: 'timers', timers: await claimTimers(client, epoch, op.limit) }
      case 'cancel': {
        const { rows, owner } = await requestCancel(client, op.namespace, op.id)
        if (owner !== undefined) this.canceled.push({ epoch: owner, id: op.id })
        return changed(rows)
      }
      case 'renew':
        return { kind: 'lives', lives: await renewLife(client, ordinal, op.over, op.seen) }
      case 'reap':
        return { kind: 'reaped', epochs: await reapLives(client, ordinal) }
      case 'end':
        await endLife(client, ordinal, epoch)
        return WRITTEN
      case 'checkpoint':
        return changed(await addCheckpoint(client, op.row))
      case 'prune':
        return changed(await prune(client, op.epoch, op.upToBatch, op.limit))
      case 'prune-checkpoints':
        return changed(await pruneCheckpoints(client, op.before, op.limit))
    }
  }
}

function changed(rows: number): OpResult {
  return { kind: 'changed', rows }
}
