// Those who ask. They ask with their own keys, twice at once and again later, listen for as long as they like, cancel,
// hang up, and ask again with the same key when a process died on them or a failure said that they may.
import type { Answer } from '../../src/contract/answer.ts'
import type { CallRecord } from '../../src/contract/call.ts'
import type { CallOptions } from '../../src/contract/call-options.ts'
import type { CallHandle } from '../../src/runtime-api.ts'
import type { Agenda } from './agenda.ts'
import type { History, SimCall } from './history.ts'
import { type Life, wallTime } from './life.ts'
import type { Machine, Running } from './machine.ts'
import type { Ask } from './plan.ts'
import type { Random } from './random.ts'

export interface ClientWatch {
  onStart(call: SimCall): void
  /** An effect is there to be committed or undone. */
  onEffect(call: SimCall, answer: Answer): void
  onCancel(call: SimCall): void
  onAnswer(call: SimCall, answer: Answer): void
  /** A call was looked up by its id, some time after its answer. */
  onLook(call: SimCall, found: CallRecord | undefined): void
}

export interface ClientOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly history: History
  readonly machines: readonly Machine[]
  readonly watch: ClientWatch
  readonly log: (line: string) => void
}

const ON_THE_MS = 1_000

interface Arrival {
  readonly call: SimCall
  readonly running: Running
  readonly deadline: number | undefined
}

export class Clients {
  readonly #options: ClientOptions
  /** Calls that are not answered, and how each goes on if its process dies. */
  readonly #waiting = new Map<SimCall, number>()
  readonly #arriving = new Set<Arrival>()
  /** Asks that are not over. */
  #left = 0

  constructor(options: ClientOptions) {
    this.#options = options
  }

  get busy(): boolean {
    return this.#left > 0
  }

  get waiting(): Iterable<SimCall> {
    return this.#waiting.keys()
  }

  plan(asks: readonly Ask[]): void {
    for (const ask of asks) {
      this.#left++
      this.#options.agenda.after(ask.at, undefined, `${ask.name} asks`, () => this.#ask(ask, 0))
    }
  }

  /** The connections to a process that is gone break; everybody who waited may ask again. */
  onDeath(life: Life): void {
    for (const [call, time] of [...this.#waiting]) {
      if (call.life !== life) continue
      this.#waiting.delete(call)
      this.#again(call.ask, time, 0)
    }
  }

  #ask(ask: Ask, time: number): void {
    const { agenda, history, random } = this.#options
    const running = this.#choose(ask, time)
    if (running === undefined) {
      const ms = random.fork('down', ask.name, time, agenda.now).int(10, 200)
      agenda.after(ms, undefined, `${ask.name} tries again`, () => this.#ask(ask, time))
      return
    }
    const call = history.addCall(ask, `${ask.name}.${time}`, running.life)
    const deadline =
      ask.deadlineMs === undefined ? undefined : wallTime(agenda, running.wall) + ask.deadlineMs
    this.#waiting.set(call, time)
    const arrival = { call, running, deadline }
    this.#arriving.add(arrival)
    // A process that is held takes the request once it goes on.
    agenda.after(0, running.life, `${call.name} arrives`, () => this.#arrive(arrival))
  }

  /** Any replica, and after a failure the other one. */
  #choose(ask: Ask, time: number): Running | undefined {
    const { machines, random } = this.#options
    const first = machines.length === 1 ? 0 : random.fork('replica', ask.name).int(0, machines.length - 1)
    const order = machines.map((_, index) => machines[(first + time + index) % machines.length])
    return order.find((machine) => machine?.running !== undefined)?.running
  }

  /** A process may read several requests in one turn: then they start before any of them has got anywhere. */
  #arrive(first: Arrival): void {
    const together = this.#options.random.fork('together', first.call.name).chance(0.5)
    for (const arrival of together ? [...this.#arriving] : [first]) {
      if (!this.#arriving.delete(arrival) || arrival.call.life.dead) continue
      this.#start(arrival.call, arrival.running, arrival.deadline)
    }
  }

  #start(call: SimCall, running: Running, deadline: number | undefined): void {
    const { agenda, history, watch, log } = this.#options
    const { ask } = call
    const { wall } = running
    const door = running.doors.get(ask.actor)
    if (door === undefined) throw new Error(`no such actor: ${ask.actor}`)
    call.startedAt = agenda.now
    if (deadline !== undefined) call.deadline = agenda.now + (deadline - wallTime(agenda, wall))
    log(`${call.name} starts: ${ask.tool} '${call.record.key}' of ${ask.actor} ${JSON.stringify(ask.input)}`)
    const handle = door.start(optionsOf(call, deadline))
    history.named(call, handle.id)
    watch.onStart(call)
    const { waitMs, cancelMs, hangUpMs } = ask
    handle
      .answer({
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(ask.throughApproval === undefined ? {} : { throughApproval: true }),
      })
      .then((answer) => this.#answered(call, answer))
    if (cancelMs === 0) this.#cancel(call, handle)
    else if (cancelMs !== undefined) this.#later(call, cancelMs, 'cancels', () => this.#cancel(call, handle))
    if (hangUpMs !== undefined) this.#later(call, hangUpMs, 'hangs up', () => handle.hangUp())
  }

  #later(call: SimCall, ms: number, what: string, run: () => void): void {
    const { agenda, log } = this.#options
    agenda.after(ms, call.life, `${call.name} ${what}`, () => {
      if (call.answer !== undefined) return
      log(`${call.name} ${what}`)
      run()
    })
  }

  #cancel(call: SimCall, handle: CallHandle): void {
    call.canceledAt = this.#options.agenda.now
    handle.cancel()
    this.#options.watch.onCancel(call)
  }

  /** Takes back what waits for people, on any replica. */
  #withdraw(call: SimCall): void {
    const { agenda, machines, random, log } = this.#options
    const { withdrawMs, actor } = call.ask
    if (withdrawMs === undefined) return
    agenda.after(withdrawMs, undefined, `${call.name} is taken back`, () => {
      const running = random.fork('withdraw', call.name).pick(machines).running
      if (running === undefined || running.life.held !== undefined) return
      call.canceledAt ??= agenda.now
      const taken = running.doors.get(actor)?.cancelCall(call.id)
      taken?.then(
        (what) => log(`${call.name} was taken back: ${what}`),
        () => {
          // A store that has failed or closed meanwhile answers nothing (S37).
        },
      )
    })
  }

  #answered(call: SimCall, answer: Answer): void {
    const { agenda, watch, log, random } = this.#options
    const time = this.#waiting.get(call)
    if (call.life.dead || time === undefined) return
    this.#waiting.delete(call)
    log(`${call.name} is told: ${JSON.stringify(answer)}`)
    watch.onAnswer(call, answer)
    call.answer = answer
    call.answeredAt = agenda.now
    if (answer.state === 'prepared' || answer.effect === 'done') watch.onEffect(call, answer)
    if (answer.state === 'awaiting-approval') this.#withdraw(call)
    if (answer.final && random.fork('look', call.name).chance(0.2)) this.#look(call)
    // An agent that was told of a repeat tries once more later, too.
    const open =
      answer.state === 'running' ||
      answer.state === 'unknown' ||
      answer.state === 'reconciling' ||
      (answer.state === 'awaiting-approval' && call.record.tool.approval !== undefined) ||
      answer.failure?.id === 'effect-repeated'
    if (answer.failure?.retryable !== true && !open) {
      this.#left--
      return
    }
    const asked = Number(answer.failure?.details.retry_after_ms ?? 0)
    this.#again(call.ask, time, asked)
  }

  #again(ask: Ask, time: number, atLeastMs: number): void {
    const { agenda, random } = this.#options
    // Without a key of its own a second request would be a second effect: nobody in their right mind sends it.
    const fresh = ask.key === undefined && ask.requestId === undefined
    if (fresh || time >= ask.patience) {
      this.#left--
      return
    }
    const dice = random.fork('rest', ask.name, time)
    const rest = Math.max(atLeastMs, dice.pick([0, ask.restMs]))
    // Many clients try again on the second: then they all come at once.
    const together = dice.chance(rest === 0 ? 0.8 : 0.4)
    const wait = together ? ON_THE_MS - ((agenda.now + rest) % ON_THE_MS) + rest : rest
    agenda.after(wait, undefined, `${ask.name} asks again`, () => this.#ask(ask, time + 1))
  }

  #look(call: SimCall): void {
    const { agenda, machines, random, watch } = this.#options
    const dice = random.fork('look', call.name)
    const ms = dice.int(0, 5_000)
    // What is written behind is known to its own replica at once, and to the others when it is written.
    const behind =
      call.record.tool.kind === 'read' || call.answer?.replayed === true || call.answer?.effect === 'none'
    const machine = behind ? machines[call.life.replica] : dice.pick(machines)
    agenda.after(ms, undefined, `${call.name} is looked up`, () => {
      const running = machine?.running
      const door = running?.doors.get(call.ask.actor)
      if (running === undefined || door === undefined || running.life.held !== undefined) return
      if (running.life.failedAt !== undefined || running.life.closing) return
      door.getCall(call.id).then(
        (found) => {
          if (!running.life.dead) watch.onLook(call, found)
        },
        () => {
          // A store that has failed or closed meanwhile answers nothing (S37).
        },
      )
    })
  }
}

function optionsOf(call: SimCall, deadline: number | undefined): CallOptions {
  const { ask, traceId } = call
  return {
    tool: ask.tool,
    input: ask.input,
    trace: { traceId },
    ...(ask.key === undefined ? {} : { idempotencyKey: ask.key }),
    ...(ask.requestId === undefined ? {} : { requestId: ask.requestId }),
    ...(deadline === undefined ? {} : { deadlineUnixMs: deadline }),
    ...(ask.timeoutMs === undefined ? {} : { timeoutMs: ask.timeoutMs }),
    ...(ask.saga === undefined ? {} : { saga: ask.saga }),
  }
}
