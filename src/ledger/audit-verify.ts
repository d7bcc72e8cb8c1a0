// Verifies an export, line by line and without the store (S39). Says what is wrong and where, or up to when it vouches.

import { ChainReader } from './audit-chain.ts'
import { CheckpointReader } from './audit-checkpoints.ts'
import { type Fault, FaultList } from './audit-fault.ts'
import type { AuditPublicKey } from './audit-key.ts'
import { type AuditLine, type EndLine, readAuditLine } from './audit-line.ts'
import { checkStarts, readStart, type Start } from './audit-start.ts'
import { AuditTrust } from './audit-trust.ts'
import { readCheckpoint } from './checkpoint.ts'

/** A checkpoint that somebody kept. With the hash alone it can be found, but not told why it is not there. */
export interface ExpectedHead {
  readonly hash: string
  readonly number?: number
  readonly at?: number
  readonly body?: string
  /** Who signed it: the key that is trusted after it. */
  readonly public_key?: string
}

export interface VerifyOptions {
  /** The only keys to trust. @default what `head` vouches for; without one, those that the export brings itself */
  readonly keys?: readonly AuditPublicKey[] | undefined
  readonly head?: ExpectedHead | undefined
}

export interface Verdict {
  readonly ok: boolean
  /** The first thousand of them. */
  readonly faults: readonly Fault[]
  readonly fault_count: number
  /** The newest signed checkpoint, where nothing is wrong: all up to it is as it was written. */
  readonly vouched?: {
    readonly checkpoint: number
    readonly until: string
    readonly key_id: string
    readonly hash: string
  }
  /** What was before this was dropped because it was old. */
  readonly dropped?: { readonly checkpoint: number; readonly before: string }
  /** Whether the kept head was found. */
  readonly head_found: boolean
  readonly chains: number
  readonly links: number
  readonly records: number
  readonly checkpoints: number
  /** Records that came after the newest checkpoint: nobody has signed for them yet. */
  readonly unvouched_records: number
}

export async function verifyExport(
  lines: AsyncIterable<string | Uint8Array>,
  options: VerifyOptions = {},
): Promise<Verdict> {
  const faults = new FaultList()
  const starts: Start[] = []
  const trust = new AuditTrust(options, faults)
  const chains = new ChainReader(faults, (record) => starts.push(readStart(record)))
  const checkpoints = new CheckpointReader(chains.chains, trust, faults)
  const named = new Map<number, Start[]>()
  let end: EndLine | undefined
  let headFound = false
  let at = 0

  function read(line: AuditLine): void {
    if (end !== undefined) faults.add('line-unreadable', { line: at }, `a ${line.kind} after the end`)
    switch (line.kind) {
      case 'export':
        if (at > 1) faults.add('line-unreadable', { line: at }, 'a second beginning')
        else trust.bring(line.public_keys)
        return
      case 'link':
        chains.link(line, at)
        return
      case 'record':
        chains.record(line, at)
        return
      case 'checkpoint': {
        chains.close()
        // Each life names one, so there are few to look for.
        if (checkpoints.count === 0) for (const start of starts) group(named, start)
        checkpoints.read(line, at)
        headFound ||= line.hash === options.head?.hash
        for (const { epoch, checkpoint } of named.get(line.number) ?? []) {
          if (checkpoint?.hash === line.hash) continue
          const detail = `the life ${epoch} began after another checkpoint ${line.number}`
          faults.add('checkpoint-contradicted', { line: at, checkpoint: line.number, epoch }, detail)
        }
        return
      }
      case 'end':
        end = line
    }
  }

  for await (const text of lines) {
    at += 1
    const line = readAuditLine(text)
    if (typeof line === 'string') faults.add('line-unreadable', { line: at }, line)
    else if (at === 1 && line.kind !== 'export')
      faults.add('line-unreadable', { line: at }, 'an export begins with its own line, and this does not')
    if (typeof line !== 'string') read(line)
  }
  chains.close()
  checkpoints.close()
  checkStarts(starts, chains, checkpoints, faults)
  checkEnd(end, chains, checkpoints, faults)
  if (options.head !== undefined && !headFound) nameHead(options.head, chains, checkpoints, faults)

  const { vouching, first } = checkpoints
  const ok = faults.count === 0
  const isDropped =
    first !== undefined &&
    (first.number > 1 || [...chains.chains.values()].some((one) => one.first.batch > 1))
  let unvouched = 0
  for (const { epoch, last } of chains.chains.values()) {
    unvouched += Math.max(0, last.last_seq - (checkpoints.listed.get(epoch)?.seq ?? 0))
  }
  return {
    ok,
    faults: faults.list,
    fault_count: faults.count,
    ...(ok && vouching !== undefined && checkpoints.last !== undefined
      ? {
          vouched: {
            checkpoint: vouching.number,
            until: timeOf(vouching.at),
            key_id: checkpoints.last.key_id,
            hash: checkpoints.last.hash,
          },
        }
      : {}),
    ...(isDropped ? { dropped: { checkpoint: first.number, before: timeOf(first.at) } } : {}),
    head_found: headFound,
    chains: chains.chains.size,
    links: chains.links,
    records: chains.records,
    checkpoints: checkpoints.count,
    unvouched_records: unvouched,
  }
}

function group(named: Map<number, Start[]>, start: Start): void {
  if (start.checkpoint === undefined) return
  const { number } = start.checkpoint
  named.set(number, [...(named.get(number) ?? []), start])
}

function checkEnd(
  end: EndLine | undefined,
  { chains, links, records }: ChainReader,
  { count }: CheckpointReader,
  faults: FaultList,
): void {
  if (end === undefined) {
    faults.add('export-incomplete', {}, 'its last line is missing: it was cut short on its way')
    return
  }
  const found = { chains: chains.size, links, records, checkpoints: count }
  for (const [name, counted] of Object.entries(found)) {
    const stated = end[name as keyof typeof found]
    if (stated !== counted)
      faults.add('export-incomplete', {}, `it had ${stated} ${name}, and has ${counted}`)
  }
  if (count === 0 && records > 0)
    faults.add('checkpoint-missing', { checkpoint: 1 }, 'nothing in it is signed for')
}

function nameHead(
  head: ExpectedHead,
  { chains }: ChainReader,
  { first, last, listed }: CheckpointReader,
  faults: FaultList,
): void {
  const { number, at, body } = head
  const where = number === undefined ? {} : { checkpoint: number }
  const ends =
    last === undefined
      ? 'it has no checkpoint'
      : `its last checkpoint is ${last.number}, of ${timeOf(last.at)}`
  if (number === undefined) {
    faults.add(
      'head-unknown',
      where,
      `no checkpoint has this hash; ${ends}: its end is missing, or it is another ledger`,
    )
    return
  }
  const epochs = readCheckpoint(body ?? '')?.heads.map(({ epoch }) => epoch) ?? []
  const stranger = epochs.length > 0 && !epochs.some((epoch) => chains.has(epoch) || listed.has(epoch))
  if (stranger) {
    const why =
      'none of the chains that it lists is here: it is another ledger, or one from before they began'
    faults.add('other-ledger', where, `${why}; ${ends}`)
  } else if (last === undefined || number > last.number) {
    const made = at === undefined ? '' : `, made at ${timeOf(at)},`
    faults.add('tail-cut', where, `the kept checkpoint ${number}${made} is missing; ${ends}`)
  } else if (first !== undefined && number < first.number) {
    faults.add(
      'head-unknown',
      where,
      `what is older than checkpoint ${first.number} was dropped; give a newer head`,
    )
  } else {
    faults.add(
      'other-ledger',
      where,
      `checkpoint ${number} here is another one: the history was written anew`,
    )
  }
}

function timeOf(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString()
}
