// One run: everything that takes part in it, put together and driven to its end.
import { Agenda } from './agenda.ts'
import { settled } from './ambient.ts'
import { AnswerRules } from './answer-rules.ts'
import { ApprovalRules } from './approval-rules.ts'
import { Approvers } from './approver.ts'
import { Auditor } from './auditor.ts'
import { Bounds } from './bound.ts'
import { CALM, CalmRules } from './calm.ts'
import { Clients } from './client.ts'
import { Disk } from './disk.ts'
import { Follower } from './follower.ts'
import { History } from './history.ts'
import { Incidents } from './incidents.ts'
import type { Facts, Violation } from './invariant.ts'
import { LedgerRules } from './ledger-rules.ts'
import type { Life, Wall } from './life.ts'
import { Machine, type Running } from './machine.ts'
import { MemoryRules } from './memory-rules.ts'
import { SimNetwork } from './network.ts'
import { OwnershipRules } from './ownership-rules.ts'
import { Person } from './person.ts'
import type { Plan, Weather } from './plan.ts'
import { Random } from './random.ts'
import { SendRules } from './send-rules.ts'
import type { Shared, SimReport, SimulateOptions } from './sim-report.ts'
import { ToolService } from './tool-service.ts'
import { Trace } from './trace.ts'

/** A run that has come this far does not end. */
const MAX_EVENTS = 200_000

export class SimRun {
  readonly #plan: Plan
  readonly #agenda: Agenda
  readonly #trace: Trace
  readonly #history = new History()
  readonly #shared: Shared
  readonly #disk: Disk
  readonly #machines: readonly Machine[]
  readonly #clients: Clients
  readonly #follower: Follower
  readonly #incidents: Incidents
  readonly #ledgerRules: LedgerRules
  readonly #approvalRules: ApprovalRules
  readonly #calm: CalmRules
  readonly #auditor: Auditor
  /** Nothing is left to settle; then the auditor comes. */
  #settled = false
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
      diskMs: 4 * plan.weather.flushMs + 20 * plan.weather.readMs,
      shared: plan.replicas > 1,
    }
    const log = (line: string) => this.#log(line)
    const count = (what: string) => this.#count(what)
    const owners = new OwnershipRules(facts)
    const sendRules = new SendRules(facts, owners)
    const answerRules = new AnswerRules(facts)
    const memoryRules = new MemoryRules(facts)
    const bounds = new Bounds(facts, () => this.#clients)
    let writer: Life | undefined
    const ledgerRules = new LedgerRules(facts, (state) => {
      if (writer !== undefined) this.#incidents.onState(state, writer)
    })
    this.#ledgerRules = ledgerRules
    const onQuestion = (state: string) => {
      this.#count(`question:${state}`)
      if (writer !== undefined) this.#incidents.onState(state, writer)
    }
    const approvalRules = new ApprovalRules(facts, onQuestion, plan.incidents.length === 0)
    this.#approvalRules = approvalRules
    this.#calm = new CalmRules(facts, owners)
    const weather = (): Weather => (this.#calm.began ? CALM : plan.weather)
    const service = new ToolService(
      this.#history,
      () => weather().trouble,
      (run) => {
        sendRules.onRun(run)
        approvalRules.onRun(run)
      },
    )
    this.#disk = new Disk({
      agenda,
      database,
      random: random.fork('disk'),
      flushMs: plan.weather.flushMs,
      log,
      watch: {
        faultOf: (flush) => this.#incidents.faultOf(flush),
        onCommit: (life, batch, results) => {
          owners.onCommit(life, batch, results)
          writer = life
          ledgerRules.onCommit(batch, results)
          if (plan.grants !== undefined) approvalRules.onCommit(life, batch, results)
        },
        onStall: (life, until) => {
          life.stalledUntil = until
          life.disturbedAt = Math.max(life.disturbedAt, until)
          bounds.onStall(life)
        },
        onFailed: (life, exitMs) => {
          life.failedAt = agenda.now
          agenda.after(exitMs, life, `${life.name} exits`, () =>
            this.#machines[life.replica]?.crash('its store had failed', life),
          )
        },
        onFenced: () => count('fenced'),
        crash: (life, why) => this.#machines[life.replica]?.crash(why, life),
      },
    })
    const network = (life: Life) =>
      new SimNetwork(life, {
        agenda,
        history: this.#history,
        service,
        weather,
        random: random.fork('network'),
        log,
        watch: {
          onDispatch: (send) => {
            sendRules.onDispatch(send)
            this.#incidents.onDispatch(send)
          },
          onStart: (send) => this.#incidents.onSend(send, 'before'),
          onSent: (send) => {
            sendRules.onSent(send)
            approvalRules.onSent(send)
            this.#incidents.onSend(send, 'after')
          },
          onEnd: (send) => sendRules.onEnd(send),
          onTravel: (delta) => {
            this.#travelling += delta
          },
        },
      })
    const walls = Array.from({ length: plan.replicas }, (): Wall => ({ offsetMs: 0 }))
    this.#machines = walls.map(
      (wall, replica) =>
        new Machine({
          replica,
          shared: facts.shared,
          readMs: plan.weather.readMs,
          auditKey: shared.auditKey,
          agenda,
          wall,
          random: random.fork(...(replica === 0 ? ['machine'] : ['machine', replica])),
          disk: this.#disk,
          database,
          network,
          log,
          fail: facts.fail,
          onReady: ({ life }) => ledgerRules.onReady(life),
          onDeath: (life) => {
            ledgerRules.onDeath(life)
            this.#clients.onDeath(life)
          },
          onResume: (life) => bounds.onResume(life),
          onAway: (life) => {
            life.stalledUntil = Math.max(life.stalledUntil, life.awayUntil)
            bounds.onStall(life)
          },
        }),
    )
    const people = { agenda, machines: this.#machines, facts, count, log }
    const approvers = new Approvers({ ...people, random: random.fork('approvers'), rules: approvalRules })
    if (plan.grants !== undefined) approvers.start(plan.grants)
    const also = (running: Running) => approvers.lookAtEnd(running)
    this.#auditor = new Auditor({ agenda, machines: this.#machines, facts, also })
    this.#follower = new Follower({ ...people, random: random.fork('follower') })
    if (plan.person) new Person({ ...people, random: random.fork('person') }).start()
    this.#clients = new Clients({
      agenda,
      random: random.fork('clients'),
      history: this.#history,
      machines: this.#machines,
      log,
      watch: {
        onStart: (call) => bounds.onStart(call),
        onCancel: (call) => bounds.onCancel(call),
        onEffect: (call, answer) => this.#follower.onEffect(call, answer),
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
      walls,
      machines: this.#machines,
      history: this.#history,
      fail: facts.fail,
      onPolicy: (tool, decision) => approvalRules.onPolicy(tool, decision),
      count,
      log,
    })
  }

  async toEnd(turns: number): Promise<SimReport> {
    for (const machine of this.#machines) machine.start()
    this.#clients.plan(this.#plan.asks)
    this.#follower.plan(this.#plan.sagas)
    this.#incidents.schedule()
    while (this.#violation === undefined && !this.#isOver()) {
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
    if (this.#violation === undefined) this.#calm.check()
    if (this.#violation === undefined) this.#ledgerRules.checkChain(this.#shared.evidence)
    if (this.#violation === undefined && this.#plan.grants !== undefined)
      this.#approvalRules.checkEnd(this.#shared.evidence)
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
        lives: this.#machines.reduce((sum, { lives }) => sum + lives, 0),
        flushes: this.#disk.flushes,
        seen: this.#seen,
      },
    }
  }

  /** Nobody wants anything more, and what was begun is settled. */
  #isOver(): boolean {
    const busy = this.#clients.busy || this.#follower.busy || this.#travelling > 0
    if (!this.#calm.began) {
      if (busy) return false
      this.#log('the weather clears up')
      this.#incidents.stop()
      this.#calm.begin()
    }
    if (busy || this.#machines.every(({ running }) => running === undefined)) return false
    this.#settled ||= this.#calm.isOver()
    return this.#settled && this.#auditor.isDone()
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
