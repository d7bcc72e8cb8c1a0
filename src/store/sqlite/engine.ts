// The one writer of a database: applies a batch in one transaction. Synchronous, and without a clock or a thread of its
// own, so that a worker can run it off the event loop and a simulator can put its crashes around it.
//
// The checks of an operation come before its first write. A fault that shows only while writing (a value the schema does
// not take) rolls the batch back and applies it again without that operation: a commit never holds half of one.
import type { DatabaseSync } from 'node:sqlite'
import type { Refused } from '../write-queue.ts'
import { createApprovalWriter } from './approval-writer.ts'
import { createBudgetWriter } from './budget-writer.ts'
import { createCallWriter } from './call-writer.ts'
import type { Batch, EncodedOp, EncodedResult, EncodedWrite, WriteRest } from './codec.ts'
import { createEntryWriter } from './entry-writer.ts'
import { createEvidenceWriter } from './evidence-writer.ts'
import { createLifeWriter } from './life-writer.ts'
import { createResourceWriter } from './resource-writer.ts'
import { createSagaWriter } from './saga-writer.ts'
import { createStopCheck } from './stop-check.ts'
import { createTimerWriter } from './timer-writer.ts'

export interface Engine {
  /**
   * One result for each operation, in order; all of them are committed when it returns. Throws when the disk fails, and
   * `Fenced` when the life of the batch was ended: then nothing of it is written.
   */
  apply(batch: Batch): EncodedResult[]
}

/** SQLite's result codes for a statement that was at fault itself: too big, constraint, mismatch, range. */
const OWN_FAULTS: ReadonlySet<number> = new Set([18, 19, 20, 25])

export function createEngine(db: DatabaseSync): Engine {
  const lives = createLifeWriter(db)
  const approvals = createApprovalWriter(db)
  const budgets = createBudgetWriter(db)
  const stops = createStopCheck(db)
  const entries = createEntryWriter({ db, budgets, approvals })
  const calls = createCallWriter(db)
  const timers = createTimerWriter(db)
  const sagas = createSagaWriter(db)
  const resources = createResourceWriter(db)
  const evidence = createEvidenceWriter(db)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')

  /** What stands in the way of a write beside its saga, its entry and its budgets. */
  function checkRest({ at }: Batch, { namespace, unless, approval }: WriteRest): EncodedResult {
    const stop = stops(namespace, unless, at)
    if (stop !== undefined) return { kind: 'conflict', on: 'stopped', stop }
    return approval === null ? 0 : approvals.check(approval)
  }

  function write(batch: Batch, op: EncodedWrite): EncodedResult {
    const [, entry, callRows, evidenceRows, rest] = op
    if (rest !== undefined) {
      const result = sagas.check(rest)
      if (result !== 0) return result
      const problem = checkRest(batch, rest)
      if (problem !== 0) return (entry === null ? 0 : entries.check(entry)) || problem
    }
    if (entry !== null) {
      const spends = rest === undefined || rest.spends === null ? [] : JSON.parse(rest.spends)
      const result = entry[0] === 'insert' ? entries.insert(entry, spends) : entries.update(entry, spends)
      if (result !== 0) return result
    }
    if (rest !== undefined) {
      sagas.write(rest)
      if (rest.approval !== null) approvals.write(rest.approval)
      for (const row of rest.timers) timers.set(batch, rest.namespace, row)
    }
    for (const row of callRows) calls.put(row)
    for (const row of evidenceRows) evidence.append(row)
    return 0
  }

  function applyOp(batch: Batch, op: EncodedOp): EncodedResult {
    const { epoch } = batch
    switch (op[0]) {
      case 'write':
        return write(batch, op)
      case 'start':
        lives.start(batch)
        evidence.start(op[1])
        return 0
      case 'apply': {
        const [, namespace, changes, at, evidenceRows] = op
        const result = resources.apply(namespace, JSON.parse(changes), at)
        if (result.kind === 'applied') for (const row of evidenceRows) evidence.append(row)
        return result
      }
      case 'erase': {
        const [, before, limit] = op
        let rows = entries.erase(before, limit)
        rows += calls.erase(before, limit - rows)
        return changed(rows + budgets.forget(before, limit - rows))
      }
      case 'forget': {
        const [, before, limit] = op
        let rows = entries.forget(before, limit)
        rows += calls.forget(before, limit - rows)
        return changed(rows + sagas.forget(before, limit - rows))
      }
      case 'adopt-entries':
        return { kind: 'entries', found: entries.adopt(epoch, op[1]) }
      case 'adopt-calls':
        return { kind: 'calls', found: calls.adopt(epoch, op[1]) }
      case 'claim-timers':
        return { kind: 'timers', found: timers.claim(batch, op[1]) }
      case 'cancel':
        return changed(entries.requestCancel(op[1], op[2]) ? 1 : 0)
      case 'renew':
        return { kind: 'lives', lives: lives.renew(epoch, op[1], op[2]) }
      case 'reap':
        return { kind: 'reaped', epochs: lives.reap(batch) }
      case 'end':
        lives.end(epoch)
        return 0
      case 'checkpoint':
        return changed(evidence.addCheckpoint(op[1]) ? 1 : 0)
      case 'prune':
        return changed(evidence.prune(op[1], op[2], op[3]))
      case 'prune-checkpoints':
        return changed(evidence.pruneCheckpoints(op[1], op[2]))
    }
  }

  /** One transaction without the operations that are `refused`. Gives no results when it found another of those. */
  function attempt(batch: Batch, refused: Map<number, Refused>): EncodedResult[] | undefined {
    const results: EncodedResult[] = []
    begin.run()
    try {
      evidence.begin(batch.epoch, lives.begin(batch))
      for (const [index, op] of batch.ops.entries()) {
        const left = refused.get(index)
        try {
          results.push(left ?? applyOp(batch, op))
        } catch (error) {
          if (!isOwnFault(error)) throw error
          refused.set(index, {
            kind: 'refused',
            message: `a ${op[0]} broke a rule of the database: ${error.message}`,
          })
          db.exec('rollback')
          return undefined
        }
      }
      evidence.link()
      commit.run()
      evidence.committed()
      return results
    } catch (error) {
      // SQLite has rolled back by itself after some errors. Nothing more is asked of this database either way (S37).
      if (db.isTransaction) db.exec('rollback')
      throw error
    }
  }

  return {
    apply(batch) {
      const refused = new Map<number, Refused>()
      for (;;) {
        const results = attempt(batch, refused)
        if (results !== undefined) return results
      }
    },
  }
}

function changed(rows: number): EncodedResult {
  return { kind: 'changed', rows }
}

/** Errors without a result code come from binding a value that no column takes. */
function isOwnFault(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const code = (error as { errcode?: unknown }).errcode
  return typeof code !== 'number' || OWN_FAULTS.has(code & 0xff)
}
