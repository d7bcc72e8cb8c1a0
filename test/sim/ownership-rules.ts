// What must be true of lives, leases and timers, told from the batches alone: who owned what when something was written.
import type { Batch, EncodedOp, EncodedResult } from '../../src/store/sqlite/codec.ts'
import { EPSILON, type Facts } from './invariant.ts'
import type { Life } from './life.ts'

interface KnownLife {
  readonly name: string
  expiresAt: number
  ended: boolean
}

interface KnownEntry {
  state: string
  owner: string
}

interface KnownTimer {
  readonly dueAt: number
  claimedBy: string | undefined
}

/** Somebody is at work on an entry in these states, and nobody else may be. */
const UNDER_WAY: ReadonlySet<string> = new Set(['intended', 'sent', 'committing'])

export class OwnershipRules {
  readonly #facts: Facts
  readonly #lives = new Map<string, KnownLife>()
  readonly #entries = new Map<string, KnownEntry>()
  readonly #timers = new Map<string, KnownTimer>()

  constructor(facts: Facts) {
    this.#facts = facts
  }

  isEnded(epoch: string): boolean {
    return this.#lives.get(epoch)?.ended === true
  }

  /** By the clock of the database. */
  leaseLeft(epoch: string, now: number): number {
    return (this.#lives.get(epoch)?.expiresAt ?? Number.NEGATIVE_INFINITY) - now
  }

  /** Timers that are due and in nobody's hand, by this time. */
  overdue(now: number): string[] {
    return [...this.#timers]
      .filter(
        ([, { dueAt, claimedBy }]) => dueAt < now && (claimedBy === undefined || this.isEnded(claimedBy)),
      )
      .map(([name]) => name)
  }

  onCommit(life: Life, batch: Batch, results: readonly EncodedResult[]): void {
    const { epoch, at, leaseMs } = batch
    const known = this.#lives.get(epoch) ?? { name: life.name, expiresAt: 0, ended: false }
    if (known.ended) this.#facts.fail('ownership', `${life.name} wrote after another life had ended it`)
    known.expiresAt = leaseMs === null ? Number.POSITIVE_INFINITY : at + leaseMs
    this.#lives.set(epoch, known)
    for (const [index, op] of batch.ops.entries()) {
      const result = results[index]
      if (result !== undefined) this.#apply(life, batch, op, result)
    }
  }

  #apply(life: Life, batch: Batch, op: EncodedOp, result: EncodedResult): void {
    switch (op[0]) {
      case 'write':
        if (result === 0) this.#write(life, batch, op)
        break
      case 'start':
        if (batch.leaseMs === null) this.#end([...this.#lives.keys()].filter((one) => one !== batch.epoch))
        break
      case 'end':
        this.#end([batch.epoch])
        break
      case 'reap':
        if (typeof result === 'object' && 'epochs' in result) this.#reap(life, batch, result.epochs)
        break
      case 'adopt-entries':
        for (const row of foundIn(result)) this.#adopt(life, batch, `${row[1]} ${row[2]}`)
        break
      case 'claim-timers':
        for (const row of foundIn(result)) this.#claim(life, batch, `${row[1]} of '${row[2]}' in '${row[0]}'`)
        break
      default:
    }
  }

  #write(
    life: Life,
    batch: Batch,
    [, entry, , , rest]: Extract<EncodedOp, readonly ['write', ...unknown[]]>,
  ): void {
    if (entry?.[0] === 'insert') {
      const [, scope, key, , state, , , owner] = entry[1] as readonly string[]
      this.#entries.set(`${scope} ${key}`, { state: String(state), owner: String(owner) })
    } else if (entry !== null) {
      const [, scope, key, , path, set] = entry
      const name = `${scope} ${key}`
      const known = this.#entries.get(name)
      if (known !== undefined) this.#change(life, batch, name, known, path.at(-1), set[0] as string | null)
    }
    for (const [kind, subject, inMs, , ifDueAt] of rest?.timers ?? []) {
      const name = `${kind} of '${subject}' in '${rest?.namespace}'`
      // Meant for the timer that was claimed, and for no other that was set since.
      const found = this.#timers.get(name)
      const same = found?.claimedBy === batch.epoch && found?.dueAt === ifDueAt
      if (typeof ifDueAt === 'number' && !same) continue
      if (inMs === null) this.#timers.delete(name)
      else this.#timers.set(name, { dueAt: batch.at + Number(inMs), claimedBy: undefined })
    }
  }

  #change(
    life: Life,
    { epoch }: Batch,
    name: string,
    known: KnownEntry,
    state: string | undefined,
    owner: string | null,
  ): void {
    if (UNDER_WAY.has(known.state) && known.owner !== epoch && !this.isEnded(known.owner)) {
      this.#facts.fail('ownership', `${life.name} moved ${name}, which ${this.#name(known.owner)} works on`)
    }
    known.state = state ?? known.state
    known.owner = owner ?? known.owner
  }

  #reap(life: Life, { at }: Batch, epochs: readonly string[]): void {
    for (const epoch of epochs) {
      const left = this.leaseLeft(epoch, at)
      if (left > EPSILON) {
        this.#facts.fail('ownership', `${life.name} ended ${this.#name(epoch)}, which had ${left} ms left`)
      }
    }
    this.#end(epochs)
  }

  #adopt(life: Life, { epoch }: Batch, name: string): void {
    const known = this.#entries.get(name)
    if (known === undefined) return
    if (!this.isEnded(known.owner)) {
      this.#facts.fail(
        'ownership',
        `${life.name} took ${name} over from ${this.#name(known.owner)}, which lives`,
      )
    }
    known.owner = epoch
  }

  #claim(life: Life, { epoch, at }: Batch, name: string): void {
    const { fail } = this.#facts
    const timer = this.#timers.get(name)
    if (timer === undefined) {
      fail('timer', `${life.name} claimed ${name}, which nobody has set`)
      return
    }
    if (timer.dueAt > at + EPSILON) fail('timer', `${life.name} claimed ${name} ${timer.dueAt - at} ms early`)
    if (timer.claimedBy !== undefined && !this.isEnded(timer.claimedBy)) {
      fail('timer', `${life.name} claimed ${name}, which ${this.#name(timer.claimedBy)} has in hand`)
    }
    timer.claimedBy = epoch
  }

  #end(epochs: readonly string[]): void {
    for (const epoch of epochs) {
      const life = this.#lives.get(epoch)
      if (life !== undefined) life.ended = true
    }
  }

  #name(epoch: string): string {
    return this.#lives.get(epoch)?.name ?? epoch
  }
}

/** The rows that were taken over. */
export function foundIn(result: EncodedResult | undefined): readonly (readonly unknown[])[] {
  const found = typeof result === 'object' && 'found' in result ? result.found : []
  return Array.isArray(found) ? found : []
}
