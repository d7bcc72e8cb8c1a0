// Verifies the links and records of chains as they come by, and remembers of each link what later lines can ask for:
// a short hash and the number of its last record, 24 bytes. Nothing else grows with the number of records.
import { hashRecord, linkBatch } from '../store/evidence-chain.ts'
import type { ChainEnd } from '../store/store.ts'
import type { FaultList } from './audit-fault.ts'
import type { LinkLine, RecordLine } from './audit-line.ts'

/** Half of a SHA-256: the whole of the last link is kept, and every link is hashed into the ones after it. */
const SHORT_BYTES = 16

/** What was seen of one chain. */
export class SeenChain {
  readonly epoch: string
  readonly index: number
  readonly first: LinkLine
  last: LinkLine
  #count = 0
  #hashes = Buffer.alloc(SHORT_BYTES * 16)
  #seqs = new Float64Array(16)
  /** Batch numbers have gaps: where a link is missing, which one a place stands for is not simply counted. */
  #gaps: { readonly at: number; readonly batch: number }[] = []

  constructor(first: LinkLine, index: number) {
    this.epoch = first.epoch
    this.index = index
    this.first = first
    this.last = first
    this.add(first)
  }

  add(link: LinkLine): void {
    if (this.#count === this.#seqs.length) this.#grow()
    if (this.#count === 0 || link.batch !== this.last.batch + 1)
      this.#gaps.push({ at: this.#count, batch: link.batch })
    this.#hashes.write(
      link.hash.slice(0, SHORT_BYTES * 2).padEnd(SHORT_BYTES * 2, '0'),
      this.#count * SHORT_BYTES,
      'hex',
    )
    this.#seqs[this.#count] = link.last_seq
    this.#count += 1
    this.last = link
  }

  /** Whether the link that ended the chain at this place is the one that was seen; undefined where none was. */
  matches({ batch, seq, hash }: Omit<ChainEnd, 'epoch' | 'closed'>): boolean | undefined {
    if (batch === this.last.batch) return hash === this.last.hash && seq === this.last.last_seq
    if (batch === this.first.batch - 1) return hash === this.first.prev && seq === this.first.first_seq - 1
    const gap = this.#gaps.findLast((one) => one.batch <= batch)
    const at = gap === undefined ? -1 : gap.at + batch - gap.batch
    const end = gap === undefined ? 0 : (this.#gaps[this.#gaps.indexOf(gap) + 1]?.at ?? this.#count)
    if (at < 0 || at >= end) return undefined
    const short = this.#hashes.toString('hex', at * SHORT_BYTES, (at + 1) * SHORT_BYTES)
    return hash.startsWith(short) && hash.length === this.last.hash.length && this.#seqs[at] === seq
  }

  #grow(): void {
    this.#hashes = Buffer.concat([this.#hashes, Buffer.alloc(this.#hashes.length)])
    const seqs = new Float64Array(this.#seqs.length * 2)
    seqs.set(this.#seqs)
    this.#seqs = seqs
  }
}

interface OpenLink {
  readonly line: LinkLine
  readonly at: number
  readonly seqs: number[]
  readonly stated: string[]
  readonly computed: string[]
}

export class ChainReader {
  readonly chains = new Map<string, SeenChain>()
  links = 0
  records = 0
  readonly #faults: FaultList
  readonly #onStart: (record: RecordLine) => void
  #chain: SeenChain | undefined
  #open: OpenLink | undefined

  /** `onStart` is given the first record of each life. */
  constructor(faults: FaultList, onStart: (record: RecordLine) => void) {
    this.#faults = faults
    this.#onStart = onStart
  }

  link(line: LinkLine, at: number): void {
    this.close()
    this.links += 1
    const { epoch, batch } = line
    this.#open = { line, at, seqs: [], stated: [], computed: [] }
    if (this.#chain?.epoch === epoch) {
      this.#follow(this.#chain, line, at)
      return
    }
    const twice = this.chains.get(epoch)
    if (twice !== undefined) {
      this.#faults.add('chain-moved', { line: at, epoch, batch }, 'its lines are not all in one place')
      this.#chain = twice
      this.#follow(twice, line, at)
      return
    }
    this.#chain = new SeenChain(line, this.chains.size)
    this.chains.set(epoch, this.#chain)
    if (batch === 1 && (line.prev !== '' || line.first_seq !== 1))
      this.#faults.add(
        'link-changed',
        { line: at, epoch, batch },
        'the first link of a chain has none before it',
      )
  }

  #follow(chain: SeenChain, line: LinkLine, at: number): void {
    const { epoch, batch } = line
    const { last } = chain
    const where = { line: at, epoch, batch }
    if (batch <= last.batch) {
      this.#faults.add('link-moved', where, `it comes after batch ${last.batch}`)
      return
    }
    if (batch > last.batch + 1) {
      const from = last.batch + 1
      const to = batch - 1
      const seqs = `records ${last.last_seq + 1} to ${line.first_seq - 1}`
      this.#faults.add(
        'link-missing',
        { line: at, epoch, batch: from, seq: last.last_seq + 1 },
        `${from === to ? `batch ${from} is` : `batches ${from} to ${to} are`} missing, with ${seqs}`,
      )
    } else if (line.prev !== last.hash) {
      this.#faults.add('link-changed', where, `its prev is not the hash of batch ${last.batch}`)
    } else if (line.first_seq !== last.last_seq + 1) {
      this.#faults.add(
        'link-changed',
        where,
        `its first_seq does not follow the last_seq of batch ${last.batch}`,
      )
    }
    chain.add(line)
  }

  record(line: RecordLine, at: number): void {
    this.records += 1
    const { epoch, seq, namespace, call_id, type, body } = line
    const computed = hashRecord(epoch, seq, { namespace, callId: call_id, type, at: line.at, body })
    if (computed !== line.hash)
      this.#faults.add(
        'record-changed',
        { line: at, epoch, seq },
        `${type || 'it'} does not give the hash it has`,
      )
    const open = this.#open
    if (open === undefined || open.line.epoch !== epoch) {
      this.#faults.add(
        'record-moved',
        { line: at, epoch, seq },
        'it does not stand below a link of its chain',
      )
      return
    }
    open.seqs.push(seq)
    open.stated.push(line.hash)
    open.computed.push(computed)
    if (seq === 1) this.#onStart(line)
  }

  /** The link that is open has no more records. */
  close(): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    const { line, at } = open
    const { epoch, batch, prev, root, hash } = line
    if (!this.#inOrder(open)) return
    const head = { batch: batch - 1, seq: line.first_seq - 1, hash: prev }
    // Where only the hash of a record was touched, the record has been named already.
    const roots = [open.stated, open.computed].map((hashes) => linkBatch(head, hashes).link)
    const fitting = roots.find((one) => one.root === root)
    if (fitting === undefined)
      this.#faults.add('link-changed', { line: at, epoch, batch }, 'its records do not give its root')
    else if (fitting.hash !== hash)
      this.#faults.add('link-changed', { line: at, epoch, batch }, 'its prev and root do not give its hash')
  }

  /** Names what is missing, extra or out of order among the records of a link. */
  #inOrder({ line, at, seqs }: OpenLink): boolean {
    const { epoch, batch, first_seq: first, last_seq: last } = line
    if (last < first) {
      this.#faults.add('link-changed', { line: at, epoch, batch }, 'its last_seq is before its first_seq')
      return false
    }
    if (seqs.length === last - first + 1 && seqs.every((seq, index) => seq === first + index)) return true
    const there = new Set(seqs)
    const where = { line: at, epoch, batch }
    for (const [from, to] of missingRanges(first, last, there)) {
      const what = from === to ? `record ${from} is` : `records ${from} to ${to} are`
      this.#faults.add('record-missing', { ...where, seq: from }, `${what} missing`)
    }
    const outside = seqs.find((seq) => seq < first || seq > last)
    const twice = firstTwice(seqs)
    if (outside !== undefined) {
      const why = `record ${outside} stands in batch ${batch}, which holds ${first} to ${last} only`
      this.#faults.add('record-moved', { ...where, seq: outside }, why)
    } else if (twice !== undefined) {
      this.#faults.add('record-extra', { ...where, seq: twice }, 'it is there twice')
    }
    const moved = seqs.find((seq, index) => index > 0 && seq < (seqs[index - 1] as number))
    if (moved !== undefined && moved !== twice && outside === undefined)
      this.#faults.add('record-moved', { ...where, seq: moved }, `record ${moved} comes after a later one`)
    return false
  }
}

function firstTwice(seqs: readonly number[]): number | undefined {
  const seen = new Set<number>()
  return seqs.find((seq) => seen.size === seen.add(seq).size)
}

/** Bounded by what is there, however large a range the link claims. */
function missingRanges(first: number, last: number, there: ReadonlySet<number>): [number, number][] {
  const ranges: [number, number][] = []
  let from = first
  for (const seq of [...there].filter((one) => one >= first && one <= last).sort((a, b) => a - b)) {
    if (seq > from) ranges.push([from, seq - 1])
    from = seq + 1
  }
  if (from <= last) ranges.push([from, last])
  return ranges
}
