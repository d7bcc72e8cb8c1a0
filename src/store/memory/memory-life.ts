// Who shares the store, and what is handed from lives that ended to those that go on (S35, S36).
import type { CallRecord } from '../../contract/call.ts'
import type { Entry } from '../../contract/entry.ts'
import { isUnderWay } from '../entry-rule.ts'
import { fenced } from '../life-rule.ts'
import type { DueTimer, Life } from '../store.ts'
import { compareText, freeTimers, isOver, type MemoryData, type MemoryLife, timerKey } from './memory-data.ts'
import type { MemoryBatch } from './memory-engine.ts'

/** Every batch renews the lease of its life, unless somebody has ended it. */
export function beginBatch(data: MemoryData, { epoch, at, leaseMs }: MemoryBatch): void {
  const life = data.lives.get(epoch)
  if (life?.ended) throw fenced(epoch)
  const ordinal = data.lives.size + 1
  const begun: MemoryLife = life ?? { epoch, ordinal, ended: false, expiresAt: 0, seen: ordinal, over: {} }
  data.lives.set(epoch, { ...begun, expiresAt: at + leaseMs })
}

/** One that owns the store alone is the only one alive: the lock of the others has ended with them. */
export function startLife(data: MemoryData, { epoch, leaseMs }: MemoryBatch): void {
  if (leaseMs !== Number.POSITIVE_INFINITY) return
  for (const other of data.lives.keys()) if (other !== epoch) endLife(data, other)
}

export function endLife(data: MemoryData, epoch: string): void {
  change(data, epoch, { ended: true })
}

export function renew(
  data: MemoryData,
  epoch: string,
  over: Readonly<Record<string, number>>,
  seen: number,
): readonly Life[] {
  const known = data.lives.get(epoch)?.seen ?? 0
  change(data, epoch, { over, seen: Math.max(known, seen) })
  return [...data.lives.values()]
    .filter((life) => !life.ended)
    .map((life) => ({
      epoch: life.epoch,
      ordinal: life.ordinal,
      seen: life.seen,
      over: life.over,
    }))
}

/** Never ends its own life: it has just renewed it. */
export function reap(data: MemoryData, { epoch, at }: MemoryBatch): readonly string[] {
  const gone = [...data.lives.values()]
    .filter((life) => life.epoch !== epoch && !life.ended && life.expiresAt <= at)
    .map((life) => life.epoch)
  for (const one of gone) endLife(data, one)
  return gone
}

function change(data: MemoryData, epoch: string, over: Partial<MemoryLife>): void {
  const life = data.lives.get(epoch)
  if (life !== undefined) data.lives.set(epoch, { ...life, ...over })
}

/** Oldest first. The revision moves, so that nobody who read the entry before can still change it. */
export function adoptEntries(data: MemoryData, epoch: string, limit: number): readonly Entry[] {
  const left = [...data.entries]
    .filter(([, entry]) => isUnderWay(entry.state) && isOver(data, entry.epoch))
    .slice(0, limit)
  return left.map(([at, entry]) => {
    const adopted = { ...entry, epoch, revision: entry.revision + 1 }
    data.entries.set(at, adopted)
    return adopted
  })
}

/** Oldest first. */
export function adoptCalls(data: MemoryData, epoch: string, limit: number): readonly CallRecord[] {
  const left = [...data.calls]
    .filter(([, { record }]) => record.state === 'running' && isOver(data, record.epoch))
    .sort(
      ([, a], [, b]) =>
        compareText(a.record.id, b.record.id) || compareText(a.record.namespace, b.record.namespace),
    )
    .slice(0, limit)
  return left.map(([at, { record, erased }]) => {
    const adopted = { ...record, epoch }
    data.calls.set(at, { record: adopted, erased })
    return adopted
  })
}

export function claimTimers(
  data: MemoryData,
  { epoch, at }: MemoryBatch,
  limit: number,
): readonly DueTimer[] {
  const due = freeTimers(data)
    .filter((timer) => timer.dueAt <= at)
    .slice(0, limit)
  for (const timer of due) {
    const { namespace, kind, subject } = timer
    data.timers.set(timerKey(namespace, kind, subject), { due: timer, claimedBy: epoch })
  }
  return due
}
