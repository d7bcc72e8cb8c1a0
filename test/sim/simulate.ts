// Runs one plan to its end and says what happened. The same plan gives the same trace, in this process and in any other.
import type { DatabaseSync } from 'node:sqlite'
import type { StoreReads } from '../../src/store/assemble-store.ts'
import { createReader } from '../../src/store/sqlite/reader.ts'
import { Agenda } from './agenda.ts'
import { forbidAmbient, settled } from './ambient.ts'
import { AnswerRules } from './answer-rules.ts'
import { applyTools, createDatabase, type ResourceCells } from './applied-tool.ts'
import { Bounds } from './bound.ts'
import { Clients } from './client.ts'
import { Disk } from './disk.ts'
import { History } from './history.ts'
import { Incidents } from './incidents.ts'
import { type Facts, LedgerView, type Violation } from './invariant.ts'
import { LedgerRules } from './ledger-rules.ts'
import type { Wall } from './life.ts'
import { Machine } from './machine.ts'
import { MemoryRules } from './memory-rules.ts'
import { SimNetwork } from './network.ts'
import type { Plan } from './plan.ts'
import { Random } from './random.ts'
import { SendRules } from './send-rules.ts'
import { ToolService } from './tool-service.ts'
import { Trace } from './trace.ts'

export interface SimReport {
  readonly seed: number
  readonly hash: string
  readonly violation?: Violation
  /** The last lines of the trace. */
  readonly last: readonly string[]
  readonly counts: Counts
}

export interface Counts {
  readonly events: number
  readonly calls: number
  readonly sends: number
  readonly effects: number
  readonly lives: number
  readonly flushes: number
  /** What came up, by name: states that were told, failures, incidents that took place. */
  readonly seen: Readonly<Record<string, number>>
}

export interface SimulateOptions {
  readonly verbose?: (line: string) => void
  /** Turns of the event loop after each event. One is enough: more must change nothing. */
  readonly turns?: number
}

/** A run that has come this far does not end. */
const MAX_EVENTS = 200_000

export type Simulator = (plan: Plan, options?: SimulateOptions) => Promise<SimReport>

/** Makes what all runs of this process share: the tools as they were applied. */
export async function createSimulator(): Promise<Simulator> {
  const tools = await applyTools()
  const { database, reset } = createDatabase()
  const shared = { database, ledger: new LedgerView(database), evidence: createReader(database).evidence }
  return async (plan, options = {}) => {
    const used = [...new Set(plan.asks.map((ask) => ask.tool))].sort()
    reset(used.map((name) => tools.get(name) as ResourceCells))
    const run = new SimRun(plan, shared, options)
    const allow = forbidAmbient()
    const onRejection = (error: unknown) =>
      run.fail('no-bug', `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`)
    process.on('unhandledRejection', onRejection)
    try {
      return await run.toEnd(options.turns ?? 1)
    } finally {
      process.off('unhandledRejection', onRejection)
      allow()
    }
  }
}

interface Shared {
  readonly database: DatabaseSync
  readonly ledger: LedgerView
  readonly evidence: StoreReads['evidence']
}

class SimRun {
  readonly #plan: Plan
  readonly #agenda: Agenda
  readonly #trace: Trace
  readonly #history = new History()
  readonly #wall: Wall = { offsetMs: 0 }
  readonly #shared: Shared
  readonly #disk: Disk
  readonly #machine: Machine
  readonly #clients: Clients
  readonly #incidents: Incidents
  readonly #ledgerRules: LedgerRules
  readonly #seen: Record<string, number> = {}
  #travelling = 0
  #violation: Violation | undefined

  constructor(plan: Plan, shared: Shared, options: SimulateOptions) {
    const { database, ledger } = shared
    this.#plan = plan
    this.#shared = shared
    const random = new Random(`seed ${plan.seed}`)
    const agenda = new Agenda(random.fork('ties'))
    this.#agenda = agenda
    this.#trace = new Trace(options.verbose)
    const facts: Facts = {
      agenda,
      history: this.#history,
      ledger,
      fail: (invariant, message) => this.fail(invariant, message),
      diskMs: 4 * plan.weather.flushMs,
    }
    const log = (line: string) => this.#log(line)
    const sendRules = new SendRules(facts)
    const answerRules = new AnswerRules(facts)
    const memoryRules = new MemoryRules(facts)
    const bounds = new Bounds(facts, () => this.#clients)
    const ledgerRules = new LedgerRules(facts)
    this.#ledgerRules = ledgerRules
    const service = new ToolService(this.#history, plan.weather.trouble, (run) => sendRules.onRun(run))
    this.#disk = new Disk({
      agenda,
      database,
      random: random.fork('disk'),
      flushMs: plan.weather.flushMs,
      log,
      watch: {
        faultOf: (flush) => this.#incidents.faultOf(flush),
        onCommit: (_life, batch, results) => ledgerRules.onCommit(batch, results),
        onStall: (life, until) => {
          life.stalledUntil = until
          life.disturbedAt = Math.max(life.disturbedAt, until)
          bounds.onStall(life)
        },
        onFailed: (life, exitMs) => {
          life.failedAt = agenda.now
          agenda.after(exitMs, life, `${life.name} exits`, () =>
            this.#machine.crash('its store had failed', life),
          )
        },
        crash: (life, why) => this.#machine.crash(why, life),
      },
    })
    this.#machine = new Machine({
      agenda,
      wall: this.#wall,
      random: random.fork('machine'),
      disk: this.#disk,
      database,
      network: (life) =>
        new SimNetwork(life, {
          agenda,
          history: this.#history,
          service,
          weather: plan.weather,
          random: random.fork('network'),
          log,
          watch: {
            onDispatch: (send) => sendRules.onDispatch(send),
            onStart: (send) => this.#incidents.onSend(send, 'before'),
            onSent: (send) => {
              sendRules.onSent(send)
              this.#incidents.onSend(send, 'after')
            },
            onEnd: (send) => sendRules.onEnd(send),
            onTravel: (delta) => {
              this.#travelling += delta
            },
          },
        }),
      log,
      fail: facts.fail,
      onReady: ({ life }) => ledgerRules.onReady(life),
      onDeath: (life) => {
        ledgerRules.onDeath(life)
        this.#clients.onDeath(life)
      },
      onResume: (life) => bounds.onResume(life),
    })
    this.#clients = new Clients({
      agenda,
      wall: this.#wall,
      random: random.fork('clients'),
      history: this.#history,
      machine: () => this.#machine,
      log,
      watch: {
        onStart: (call) => bounds.onStart(call),
        onCancel: (call) => bounds.onCancel(call),
        onAnswer: (call, answer) => {
          this.#count(`state:${answer.state}`)
          this.#count(`effect:${answer.effect}`)
          if (answer.failure !== undefined) this.#count(`failure:${answer.failure.id}`)
          if (answer.replayed) this.#count('replayed')
          answerRules.check(call, answer)
          memoryRules.check(call, answer)
        },
        onLook: (call, found) => {
          this.#count('looked-up')
          memoryRules.onLook(call, found)
        },
      },
    })
    this.#incidents = new Incidents({
      incidents: plan.incidents,
      agenda,
      wall: this.#wall,
      machine: this.#machine,
      history: this.#history,
      fail: facts.fail,
      count: (what) => this.#count(what),
      log,
    })
  }

  async toEnd(turns: number): Promise<SimReport> {
    this.#machine.start()
    this.#clients.plan(this.#plan.asks)
    this.#incidents.schedule()
    while (this.#violation === undefined && (this.#clients.busy || this.#travelling > 0)) {
      try {
        if (!this.#agenda.step((due) => this.#trace.add(`${this.#agenda.now} ${due.label}`))) {
          this.fail('ends', 'nothing is due, and somebody still waits')
        }
      } catch (error) {
        this.fail('no-bug', error instanceof Error ? (error.stack ?? error.message) : String(error))
      }
      for (let turn = 0; turn < turns; turn++) await settled()
      if (this.#agenda.ran > MAX_EVENTS) this.fail('ends', `no end after ${MAX_EVENTS} events`)
    }
    if (this.#violation === undefined) this.#ledgerRules.checkChain(this.#shared.evidence)
    return {
      seed: this.#plan.seed,
      hash: this.#trace.hash,
      ...(this.#violation === undefined ? {} : { violation: this.#violation }),
      last: this.#trace.last,
      counts: {
        events: this.#agenda.ran,
        calls: this.#history.calls.length,
        sends: this.#history.sends.length,
        effects: this.#history.runs.filter((run) => run.changed).length,
        lives: this.#machine.lives,
        flushes: this.#disk.flushes,
        seen: this.#seen,
      },
    }
  }

  /** The first violation is the one to look at: what comes after it may follow from it. */
  fail(invariant: Violation['invariant'], message: string): void {
    this.#violation ??= { invariant, message }
    this.#log(`VIOLATION of ${invariant}: ${message}`)
  }

  #count(what: string): void {
    this.#seen[what] = (this.#seen[what] ?? 0) + 1
  }

  #log(line: string): void {
    this.#trace.add(`${this.#agenda.now} ${line}`)
  }
}
