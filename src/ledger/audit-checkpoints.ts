// Verifies checkpoints as they come by: their own row, their signatures, and what they say against the chains seen.
import type { ChainEnd } from '../store/store.ts'
import type { SeenChain } from './audit-chain.ts'
import type { FaultList } from './audit-fault.ts'
import type { AuditTrust } from './audit-trust.ts'
import { type CheckpointLine, type CheckpointText, hashCheckpoint, readCheckpoint } from './checkpoint.ts'

/** What all checkpoints so far say of one chain. */
interface Listed {
  readonly batch: number
  readonly seq: number
  readonly closed: boolean
}

export class CheckpointReader {
  /** The first that is there: what it lists may have been dropped, where a later one signs for that, and nothing else. */
  first: CheckpointText | undefined
  /** The newest one that is whole and signed. */
  vouching: CheckpointText | undefined
  last: CheckpointLine | undefined
  count = 0
  readonly listed = new Map<string, Listed>()
  /** What the first one lists; nothing, once it is known that nothing was dropped. */
  readonly floor = new Map<string, ChainEnd>()
  readonly #chains: ReadonlyMap<string, SeenChain>
  readonly #trust: AuditTrust
  readonly #faults: FaultList
  /** Chains of which a gap has been named: one name is enough. */
  readonly #named = new Set<string>()
  /** Faults of chains, by epoch, unless what is missing was dropped. */
  readonly #unlessDropped = new Map<string, () => void>()

  constructor(chains: ReadonlyMap<string, SeenChain>, trust: AuditTrust, faults: FaultList) {
    this.#chains = chains
    this.#trust = trust
    this.#faults = faults
  }

  read(line: CheckpointLine, at: number): void {
    this.count += 1
    const { number } = line
    const where = { line: at, checkpoint: number }
    const before = this.last
    this.last = line
    const text = readCheckpoint(line.body)
    const whole =
      text !== undefined &&
      text.number === number &&
      text.at === line.at &&
      hashCheckpoint(line.body) === line.hash
    if (!whole) {
      this.#faults.add('checkpoint-changed', where, 'its body does not give its number, time and hash')
      return
    }
    this.#follows(text, before, where)
    if (!this.#isSigned(line, where)) return
    this.#trust.signed(line, text, where)
    if (this.first === undefined) {
      this.first = text
      for (const head of text.heads) this.floor.set(head.epoch, head)
    }
    this.vouching = text
    for (const head of text.heads) this.#compare(head, where)
  }

  #follows(
    { number, prev }: CheckpointText,
    before: CheckpointLine | undefined,
    where: { readonly line: number; readonly checkpoint: number },
  ): void {
    if (before === undefined) {
      if (number === 1 && prev !== '')
        this.#faults.add('checkpoint-changed', where, 'the first one has none before it')
      return
    }
    const gap = number - before.number
    if (gap < 1) {
      this.#faults.add('checkpoint-moved', where, `it comes after checkpoint ${before.number}`)
    } else if (gap > 1) {
      const from = before.number + 1
      const what = gap === 2 ? `${from} is` : `${from} to ${number - 1} are`
      this.#faults.add('checkpoint-missing', { ...where, checkpoint: from }, `${what} missing`)
    } else if (prev !== before.hash) {
      this.#faults.add('checkpoint-changed', where, `its prev is not the hash of checkpoint ${before.number}`)
    }
  }

  #isSigned({ key_id, body, signature }: CheckpointLine, where: { readonly checkpoint: number }): boolean {
    const key = this.#trust.get(key_id)
    if (key === undefined) {
      this.#faults.add('key-unknown', where, `it is signed by key ${key_id}`)
      return false
    }
    if (key.verifies(body, signature)) return true
    this.#faults.add('checkpoint-signature', where, `the signature is not one of key ${key_id}`)
    return false
  }

  #compare(head: ChainEnd, where: { readonly line: number; readonly checkpoint: number }): void {
    const { epoch, batch, seq, closed } = head
    const listed = this.listed.get(epoch)
    if (listed === undefined || batch >= listed.batch) this.listed.set(epoch, { batch, seq, closed })
    if (this.#named.has(epoch)) return
    const name = (
      kind: 'chain-missing' | 'chain-cut' | 'link-missing' | 'checkpoint-contradicted',
      why: string,
    ) => {
      this.#named.add(epoch)
      this.#faults.add(kind, { ...where, epoch, batch, seq }, why)
    }
    const floor = this.floor.get(epoch)
    const mayBeDropped = floor !== undefined && batch <= floor.batch
    const missing = (kind: 'chain-missing' | 'link-missing', why: string) => {
      if (!mayBeDropped) name(kind, why)
      else if (!this.#unlessDropped.has(epoch)) this.#unlessDropped.set(epoch, () => name(kind, why))
    }
    const chain = this.#chains.get(epoch)
    const lists = `checkpoint ${where.checkpoint} lists batch ${batch}`
    if (chain === undefined) {
      missing('chain-missing', lists)
      return
    }
    if (batch > chain.last.batch) {
      name('chain-cut', `it ends at batch ${chain.last.batch}, and ${lists}`)
      return
    }
    if (chain.matches(head) === false)
      name('checkpoint-contradicted', `batch ${batch} is not the one that was signed for`)
    else if (batch < chain.first.batch)
      missing('link-missing', `it begins at batch ${chain.first.batch}, and ${lists}`)
  }

  /** What only shows once all checkpoints are known. */
  close(): void {
    const { first: begin, vouching } = this
    const dropped = begin !== undefined && vouching !== undefined && begin.number <= vouching.dropped
    if (!dropped) {
      for (const name of this.#unlessDropped.values()) name()
      this.floor.clear()
    }
    if (begin !== undefined && begin.number > 1 && !(dropped && begin.complete === begin.number)) {
      const detail = `those before ${begin.number} are missing`
      this.#faults.add('checkpoint-missing', { checkpoint: 1 }, detail)
    }
    let newest = -1
    for (const epoch of this.listed.keys()) newest = Math.max(newest, this.#chains.get(epoch)?.index ?? -1)
    for (const chain of this.#chains.values()) {
      const { epoch, first, last } = chain
      const listed = this.listed.get(epoch)
      if (listed === undefined && chain.index < newest)
        this.#faults.add('chain-unlisted', { epoch }, 'a life that began after it is listed, and it is not')
      if (listed?.closed && last.batch > listed.batch)
        this.#faults.add(
          'chain-grown',
          { epoch, batch: last.batch },
          `it was closed at batch ${listed.batch}`,
        )
      // Whatever is missing at the front must be under the first checkpoint.
      if (
        first.batch > 1 &&
        first.batch - 1 > (this.floor.get(epoch)?.batch ?? 0) &&
        !this.#named.has(epoch)
      ) {
        const detail = `it begins at batch ${first.batch}, and nothing signed allows for that`
        this.#faults.add('link-missing', { epoch, batch: 1, seq: 1 }, detail)
      }
    }
  }
}
