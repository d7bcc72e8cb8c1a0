// Evidence in memory: one chain per life, checkpoints, and how the old parts of both go.
import { EMPTY_CHAIN, hashRecord, linkBatch, startRecord } from '../evidence-chain.ts'
import type { CheckpointRow, EvidenceLink, EvidenceRecord } from '../store.ts'
import type { MemoryData } from './memory-data.ts'

export interface Evidence {
  readonly record: EvidenceRecord
  /** The text of its body. */
  readonly body: string
}

export function evidenceOf(record: EvidenceRecord): Evidence {
  return { record, body: JSON.stringify(record.body) }
}

export function startOf(data: MemoryData, epoch: string, at: number): Evidence {
  const before = [...data.lives.keys()].filter((other) => other !== epoch).at(-1)
  const record = startRecord(
    at,
    before === undefined ? undefined : { epoch: before, head: data.heads.get(before) ?? EMPTY_CHAIN },
    lastCheckpoint(data),
  )
  return { record: { ...record, body: JSON.parse(record.body) }, body: record.body }
}

/** Everything that one batch says is one link. */
export function chain(data: MemoryData, epoch: string, evidence: readonly Evidence[]): void {
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

/** What is left still names the hash before it, and the chain grows from where it was. */
export function prune(data: MemoryData, epoch: string, upToBatch: number, limit: number): number {
  const links = data.links.get(epoch) ?? []
  const old = links.filter((link) => link.batch <= upToBatch).slice(0, limit)
  links.splice(0, old.length)
  return old.length
}

export function lastCheckpoint(data: MemoryData): CheckpointRow | undefined {
  return [...data.checkpoints.values()].at(-1)
}

/** Numbers only grow: one that was dropped since is taken as well. */
export function addCheckpoint(data: MemoryData, row: CheckpointRow): number {
  if (row.number <= (lastCheckpoint(data)?.number ?? 0)) return 0
  data.checkpoints.set(row.number, row)
  return 1
}

export function pruneCheckpoints(data: MemoryData, before: number, limit: number): number {
  const old = [...data.checkpoints.keys()].filter((number) => number < before).slice(0, limit)
  for (const number of old) data.checkpoints.delete(number)
  return old.length
}
