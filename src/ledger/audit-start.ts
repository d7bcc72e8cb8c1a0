// What the first record of each life says about what was there before it, held against what is there.
import { isJsonObject } from '../util/json.ts'
import type { ChainReader } from './audit-chain.ts'
import type { CheckpointReader } from './audit-checkpoints.ts'
import type { FaultList } from './audit-fault.ts'
import type { RecordLine } from './audit-line.ts'
import { isCount, parseObject } from './checkpoint.ts'

/** What the first record of a life says about what was there before it. */
export interface Start {
  readonly epoch: string
  readonly previous?: {
    readonly epoch: string
    readonly batch: number
    readonly seq: number
    readonly hash: string
  }
  readonly checkpoint?: { readonly number: number; readonly hash: string }
}

export function readStart({ epoch, type, body }: RecordLine): Start {
  const value = type === 'runtime.started' ? parseObject(body) : undefined
  if (value === undefined) return { epoch }
  const { previous_epoch, previous_batch, previous_seq, previous_hash, last_checkpoint } = value
  const number = isJsonObject(last_checkpoint) ? last_checkpoint.number : undefined
  const hash = isJsonObject(last_checkpoint) ? last_checkpoint.hash : undefined
  return {
    epoch,
    // Batch 0: nothing of it was kept any more when this life began.
    ...(typeof previous_epoch === 'string' && isCount(previous_batch, 1) && isCount(previous_seq, 1)
      ? {
          previous: {
            epoch: previous_epoch,
            batch: previous_batch,
            seq: previous_seq,
            hash: String(previous_hash),
          },
        }
      : {}),
    ...(isCount(number, 1) && typeof hash === 'string' ? { checkpoint: { number, hash } } : {}),
  }
}

export function checkStarts(
  starts: readonly Start[],
  { chains }: ChainReader,
  { floor, first, last, listed }: CheckpointReader,
  faults: FaultList,
): void {
  for (const { epoch, previous, checkpoint } of starts) {
    const own = chains.get(epoch)
    // What is under the first checkpoint may be dropped at any time, and what it names before it.
    const old = floor.has(epoch)
    if (previous !== undefined && own !== undefined) {
      const before = chains.get(previous.epoch)
      const dropped = old || previous.batch <= (floor.get(previous.epoch)?.batch ?? 0)
      const where = { epoch: previous.epoch, batch: previous.batch, seq: previous.seq }
      if (before === undefined) {
        // Where a checkpoint lists it, that one has named it.
        if (!dropped && !listed.has(previous.epoch))
          faults.add('chain-missing', where, `the life ${epoch} began after it`)
      } else if (before.index > own.index) {
        faults.add(
          'chain-moved',
          { epoch: previous.epoch },
          `the life ${epoch} began after it, and stands before it`,
        )
      } else if (before.last.batch < previous.batch) {
        const detail = `it ends at batch ${before.last.batch}, and ${epoch} found batch ${previous.batch}`
        faults.add('chain-cut', where, detail)
      } else if (before.matches(previous) === false) {
        faults.add('link-changed', where, `it is not the one that the life ${epoch} found`)
      }
    }
    const names = checkpoint !== undefined && (last === undefined || checkpoint.number > last.number)
    const kept = checkpoint !== undefined && checkpoint.number >= (first?.number ?? 1)
    if (names && kept) {
      const detail = `the life ${epoch} began after checkpoint ${checkpoint.number}`
      faults.add('checkpoint-missing', { checkpoint: checkpoint.number, epoch }, detail)
    }
  }
}
