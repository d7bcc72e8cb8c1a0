// The export: everything that is kept of the chains and checkpoints, as lines to be verified without the store (S39).
//
// It is read page by page while the store goes on. It holds what was there when it began: chains to where they ended
// then, and the checkpoints made by then.
import { CONTRACT_REVISION } from '../contract/version.ts'
import type { ChainEnd, CheckpointRow, EvidenceLink, EvidenceStore } from '../store/store.ts'
import type { World } from '../util/world.ts'
import { type AuditLine, type EndLine, EXPORT_VERSION } from './audit-line.ts'
import { lineOf } from './checkpoint.ts'

const PAGE = 200

export interface ExportOptions {
  readonly world: World
  readonly evidence: EvidenceStore
  /** The last checkpoint to export. */
  readonly head: CheckpointRow | undefined
  /** Chains that it or one before it lists. Others began since, and are left for the next export. */
  readonly listed: ReadonlySet<string>
  /** Public keys by id. */
  readonly keys: Readonly<Record<string, string>>
}

type Counts = { -readonly [K in Exclude<keyof EndLine, 'kind'>]: number }

/** Each piece is one line or more, with their ends. */
export async function* exportEvidence(options: ExportOptions): AsyncIterable<string> {
  const { world, evidence, head: newest, listed, keys } = options
  const ends = (await evidence.ends()).filter(({ epoch }) => listed.has(epoch))
  const counts: Counts = { chains: 0, links: 0, records: 0, checkpoints: 0 }
  yield text({
    kind: 'export',
    version: EXPORT_VERSION,
    exported_at: new Date(world.clock.now()).toISOString(),
    contract: CONTRACT_REVISION,
    public_keys: keys,
  })
  for (const end of ends) yield* chainLines(evidence, end, counts)
  for (let next = 1; newest !== undefined && next <= newest.number; ) {
    const rows = (await evidence.checkpoints(next, PAGE)).filter(({ number }) => number <= newest.number)
    if (rows.length === 0) break
    counts.checkpoints += rows.length
    next = (rows.at(-1)?.number ?? 0) + 1
    yield rows.map((row) => text(lineOf(row))).join('')
  }
  yield text({ kind: 'end', ...counts })
}

async function* chainLines(evidence: EvidenceStore, end: ChainEnd, counts: Counts): AsyncIterable<string> {
  counts.chains += 1
  let next: number | undefined
  let seq: number | undefined
  while (next === undefined || next <= end.batch) {
    const page = await evidence.links(end.epoch, next ?? 1, PAGE)
    const links = page.filter(({ batch }) => batch <= end.batch)
    // Where the store itself has a gap, the lines show it, and verifying names it.
    if (links.length === 0) return
    for (const link of links) {
      counts.links += 1
      counts.records += link.records.length
      yield linkLines(link, seq)
      seq = (link.records.at(-1)?.seq ?? seq ?? 0) + 1
    }
    next = (links.at(-1)?.batch ?? 0) + 1
  }
}

/** `next`: the number that its first record should have; a store that lost it is shown as it should be. */
function linkLines(
  { epoch, batch, prev, root, hash, records }: EvidenceLink,
  next: number | undefined,
): string {
  const first = next ?? records[0]?.seq ?? 1
  const last = Math.max(first, records.at(-1)?.seq ?? first)
  const lines = [text({ kind: 'link', epoch, batch, prev, root, hash, first_seq: first, last_seq: last })]
  for (const { seq, namespace, callId, type, at, body, text: kept, hash: own } of records) {
    lines.push(
      text({
        kind: 'record',
        epoch,
        seq,
        namespace,
        call_id: callId,
        type,
        at,
        body: kept ?? JSON.stringify(body),
        hash: own,
      }),
    )
  }
  return lines.join('')
}

function text(line: AuditLine): string {
  return `${JSON.stringify(line)}\n`
}
