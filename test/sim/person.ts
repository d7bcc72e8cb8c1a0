// A person who looks into the tools' own logs and settles what is in question (S28): right, and sometimes at the very
// moment at which the runtime finds out by itself.
import type { OpenEntry } from '../../src/runtime-api.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import { effectsOf, type SimCall } from './history.ts'
import type { Facts } from './invariant.ts'
import type { Machine, Running } from './machine.ts'
import type { Random } from './random.ts'

export interface PersonOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly machines: readonly Machine[]
  readonly facts: Facts
  readonly count: (what: string) => void
  readonly log: (line: string) => void
}

const EVERY_MS = 4_000

export class Person {
  readonly #options: PersonOptions
  #rounds = 0

  constructor(options: PersonOptions) {
    this.#options = options
  }

  start(): void {
    const { agenda, random, machines } = this.#options
    agenda.after(EVERY_MS, undefined, 'a person looks', () => {
      this.#rounds++
      const machine = random.fork('round', this.#rounds).pick(machines)
      const running = machine.running
      const { life } = running ?? {}
      if (running !== undefined && life?.failedAt === undefined && !life?.closing) {
        agenda.after(0, running.life, 'a person asks', () => {
          this.#look(running).catch((error: unknown) => {
            if (error instanceof StoreUnavailable || running.life.dead) return
            const text = error instanceof Error ? error.stack : String(error)
            this.#options.facts.fail('no-bug', `a person looked: ${text}`)
          })
        })
      }
      this.start()
    })
  }

  async #look({ admin }: Running): Promise<void> {
    const { facts, count, log, random } = this.#options
    for (const entry of await admin.listOpen({ limit: 50 })) {
      const call = facts.history.callOfId(entry.callId)
      const as = call && this.#verdict(call, entry)
      if (as === undefined || call === undefined) continue
      const dice = random.fork('settle', entry.entryId, this.#rounds)
      if (!dice.chance(0.6)) continue
      log(`a person settles ${call.name} as ${as}`)
      const run = effectsOf(call.record)[0]
      const output = as === 'done' && run !== undefined && dice.chance(0.5) ? { output: run.output } : {}
      const before = call.record.settledByHand
      // From here on it may be in the ledger, whatever is heard of it.
      call.record.settledByHand = true
      const result = await admin.settle(entry.callId, {
        as,
        reason: 'looked into the log of the tool',
        ...output,
      })
      count(`person:${result.kind}`)
      if (result.kind !== 'ok') call.record.settledByHand = before
    }
  }

  /** Undefined while something is still on its way. */
  #verdict({ record }: SimCall, entry: OpenEntry): 'done' | 'not-done' | undefined {
    if (entry.state === 'compensation-failed' || record.travelling > 0) return undefined
    return effectsOf(record).length > 0 ? 'done' : 'not-done'
  }
}
