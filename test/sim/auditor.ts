// Takes the evidence away when a run is over, through the door for auditors, and verifies it as anyone could (S39).
import { verifyExport } from '../../src/ledger/audit-verify.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import type { Facts } from './invariant.ts'
import type { Machine, Running } from './machine.ts'

export interface AuditorOptions {
  readonly agenda: Agenda
  readonly machines: readonly Machine[]
  readonly facts: Facts
  /** Whoever else looks at the end. */
  readonly also: (running: Running) => Promise<void>
}

const AGAIN_MS = 500

export class Auditor {
  readonly #options: AuditorOptions
  #asked: Running | undefined
  #done = false

  constructor(options: AuditorOptions) {
    this.#options = options
  }

  /** True when it is verified. Asks again where the process it had asked is gone. */
  isDone(): boolean {
    if (this.#done) return true
    const { agenda, machines } = this.#options
    if (this.#asked !== undefined && !this.#asked.life.dead) return false
    const running = machines.find((machine) => machine.running !== undefined)?.running
    this.#asked = running
    if (running !== undefined) agenda.after(0, running.life, 'the auditor asks', () => this.#ask(running))
    return false
  }

  #ask(running: Running): void {
    const { agenda, facts } = this.#options
    const { fail } = facts
    this.#verify(running).catch((error: unknown) => {
      if (running.life.dead) return
      // It does not reach the database, or its store has failed: later, or another one.
      agenda.after(AGAIN_MS, undefined, 'the auditor tries again', () => {
        this.#asked = undefined
      })
      if (!(error instanceof StoreUnavailable)) {
        fail('no-bug', `the audit: ${error instanceof Error ? error.stack : String(error)}`)
      }
    })
  }

  async #verify(running: Running): Promise<void> {
    const { runtime, life } = running
    await this.#options.also(running)
    if (life.dead) return
    const pieces: string[] = []
    for await (const piece of runtime.audit.export()) pieces.push(piece)
    const verdict = await verifyExport(linesOf(pieces))
    if (life.dead) return
    this.#done = true
    const [first] = verdict.faults
    if (!verdict.ok) this.#options.facts.fail('chain', `the export does not verify: ${JSON.stringify(first)}`)
  }
}

async function* linesOf(pieces: readonly string[]): AsyncIterable<string> {
  yield* pieces.join('').split('\n').filter(Boolean)
}
