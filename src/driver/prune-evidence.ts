// Drops evidence that is old enough: whole prefixes of chains, up to a complete checkpoint that stays (S39).
//
// Checkpoints go first, so that the first one that is left is always a complete one and lists all that may be missing;
// the links that it lists follow in as many steps as it takes.
import { type CheckpointText, readCheckpoint } from '../ledger/checkpoint.ts'
import type { CheckpointRow, EvidenceStore } from '../store/store.ts'

/** The number of the newest complete checkpoint from before this time. */
export async function newestComplete(evidence: EvidenceStore, before: number): Promise<number | undefined> {
  const old = await firstOf(evidence, ({ at }) => at >= before)
  const [row] = old === undefined ? [] : await evidence.checkpoints(old - 1, 1)
  const newest = old === undefined ? await evidence.lastCheckpoint() : row
  if (newest === undefined || newest.at >= before) return undefined
  return textOf(newest).complete
}

/** Up to the checkpoint with this number. Returns how many rows went, about `limit` at most; 0 when nothing is left. */
export async function pruneEvidence(evidence: EvidenceStore, upTo: number, limit: number): Promise<number> {
  const [first] = await evidence.checkpoints(1, 1)
  if (first === undefined || first.number > upTo) return 0
  const dropped = await pruneLinks(evidence, textOf(first), limit)
  if (dropped > 0) return dropped
  const next = await firstOf(evidence, (row) => textOf(row).complete > first.number)
  if (next === undefined || next > upTo) return 0
  // In one write: what would be left by half of it does not begin with a complete one.
  return evidence.pruneCheckpoints(next, next - first.number)
}

async function pruneLinks(
  evidence: EvidenceStore,
  { heads }: CheckpointText,
  limit: number,
): Promise<number> {
  const ends = new Map((await evidence.ends()).map((end) => [end.epoch, end]))
  let dropped = 0
  for (const [index, head] of heads.entries()) {
    const end = ends.get(head.epoch)
    if (end === undefined) continue
    // The end of a chain that grows stays, and that of the newest: a later life names it in its first record.
    const stays = !end.closed || index === heads.length - 1
    const upTo = stays ? Math.min(head.batch, end.batch - 1) : head.batch
    if (upTo < 1) continue
    dropped += await evidence.prune(head.epoch, upTo, limit - dropped)
    if (dropped >= limit) return dropped
  }
  return dropped
}

/** The number of the first checkpoint of which this holds, where it holds of all after one of which it does. */
async function firstOf(
  evidence: EvidenceStore,
  holds: (row: CheckpointRow) => boolean,
): Promise<number | undefined> {
  const [first] = await evidence.checkpoints(1, 1)
  const last = await evidence.lastCheckpoint()
  if (first === undefined || last === undefined || !holds(last)) return undefined
  let low = first.number
  let high = last.number
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [row] = await evidence.checkpoints(middle, 1)
    if (row === undefined || holds(row)) high = middle
    else low = middle + 1
  }
  return low
}

function textOf(row: CheckpointRow): CheckpointText {
  const text = readCheckpoint(row.body)
  if (text === undefined) throw new Error(`checkpoint ${row.number} of the store is not one of ours`)
  return text
}
