// What callers do about an effect once they know of it: commit it, twice or too late, roll it back, undo it; and sagas,
// which they open, end or abort. On whichever replica answers.
import type { Answer } from '../../src/contract/answer.ts'
import type { ActionResult, CallerDoor, SagaResult } from '../../src/runtime-api.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import { effectsOf, type SimCall } from './history.ts'
import type { Facts } from './invariant.ts'
import { nameOfCall } from './ledger-rules.ts'
import type { Machine, Running } from './machine.ts'
import type { Follow, SagaPlan } from './plan.ts'
import type { Random } from './random.ts'

export interface FollowerOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly machines: readonly Machine[]
  readonly facts: Facts
  readonly count: (what: string) => void
  readonly log: (line: string) => void
}

/** How often something is tried again that a process died on. */
const TRIES = 3
const AGAIN_MS = 700

export class Follower {
  readonly #options: FollowerOptions
  #left = 0

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  get busy(): boolean {
    return this.#left > 0
  }

  plan(sagas: readonly SagaPlan[]): void {
    for (const saga of sagas) {
      this.#act(saga.at, saga.actor, `open ${saga.name}`, (door) => door.openSaga(saga.name))
      const end = (door: CallerDoor) =>
        saga.end === 'abort' ? door.abortSaga(saga.name, 'changed their mind') : door.completeSaga(saga.name)
      this.#act(saga.endAt, saga.actor, `${saga.end} ${saga.name}`, end)
    }
  }

  onEffect(call: SimCall, answer: Answer): void {
    for (const follow of call.ask.follows ?? []) {
      if (isFor(follow, answer)) this.#follow(call, follow, answer.commitToken ?? '')
    }
  }

  #follow(call: SimCall, { kind, afterMs, forged }: Follow, token: string): void {
    const { actor } = call.ask
    const shown = forged ? `${token}x` : token
    const run = (door: CallerDoor): Promise<ActionResult> => {
      if (kind === 'commit') return door.commit(call.id, shown)
      if (kind === 'rollback') return door.rollback(call.id)
      call.record.undoAsked = true
      return door.compensate(call.id)
    }
    this.#act(afterMs, actor, `${kind} ${call.name}`, run, (result) =>
      this.#check(call, kind, forged, result),
    )
  }

  /** What was said about it is what the tool did. */
  #check(
    call: SimCall,
    kind: Follow['kind'],
    forged: true | undefined,
    result: ActionResult | SagaResult,
  ): void {
    const { fail, shared } = this.#options.facts
    const name = `the ${kind} of ${nameOfCall(call)}`
    if (result.kind === 'refused') {
      if (result.failure.id === 'internal') fail('no-bug', `${name}: ${result.failure.message}`)
      return
    }
    // What was only replayed is written behind: another replica may not know of it yet.
    const behind = shared && call.answer?.replayed === true
    if (result.kind === 'not-found' && !call.forgotten && !behind)
      fail('outcome', `${name}: there is no such call`)
    if (result.kind !== 'ok') return
    const effects = effectsOf(call.record).length
    if (kind === 'commit') {
      if (forged) fail('two-phase', `${name} with a token that was never given`)
      if (effects !== 1) fail('truth', `${name} is said to be done; the tool did it ${effects} times`)
    }
    if (kind === 'rollback' && effects > 0) fail('truth', `${name} is said to be done; it was committed`)
  }

  #act(
    afterMs: number,
    actor: string,
    what: string,
    run: (door: CallerDoor) => Promise<ActionResult | SagaResult>,
    then: (result: ActionResult | SagaResult) => void = () => {},
  ): void {
    this.#left++
    this.#options.agenda.after(afterMs, undefined, `${actor} wants to ${what}`, () => {
      this.#try(actor, what, run, then, 1)
    })
  }

  #try(
    actor: string,
    what: string,
    run: (door: CallerDoor) => Promise<ActionResult | SagaResult>,
    then: (result: ActionResult | SagaResult) => void,
    time: number,
  ): void {
    const { agenda, log, count, facts } = this.#options
    const running = this.#choose(what, time)
    const again = () => {
      if (time >= TRIES) this.#left--
      else
        agenda.after(AGAIN_MS, undefined, `${actor} tries to ${what}`, () =>
          this.#try(actor, what, run, then, time + 1),
        )
    }
    const door = running?.doors.get(actor)
    if (running === undefined || door === undefined) {
      again()
      return
    }
    let open = true
    // A process that dies answers nothing: whoever waits notices.
    const watch = () => {
      if (open && (running.life.dead || running.life.failedAt !== undefined)) {
        open = false
        again()
      } else if (open) agenda.after(AGAIN_MS, undefined, `${actor} waits to ${what}`, watch)
    }
    agenda.after(0, running.life, `${actor} asks to ${what}`, () => {
      log(`${actor} asks ${running.life.name} to ${what}`)
      run(door).then(
        (result) => {
          if (!open || running.life.dead) return
          open = false
          log(
            `${actor} wanted to ${what}: ${result.kind}${result.kind === 'refused' ? ` ${result.failure.id}` : ''}`,
          )
          count(`act:${what.split(' ')[0]}-${result.kind}`)
          then(result)
          // Those who are told that they may try again do; a saga that is not open yet is waited for.
          if (result.kind === 'refused' && result.failure.retryable) again()
          else this.#left--
        },
        (error: unknown) => {
          if (!open || running.life.dead) return
          open = false
          if (!(error instanceof StoreUnavailable)) {
            const text = error instanceof Error ? error.stack : String(error)
            facts.fail('no-bug', `${actor} wanted to ${what}: ${text}`)
          }
          again()
        },
      )
    })
    agenda.after(AGAIN_MS, undefined, `${actor} waits to ${what}`, watch)
  }

  #choose(what: string, time: number): Running | undefined {
    const { machines, random } = this.#options
    const first = machines.length === 1 ? 0 : random.fork('follow', what).int(0, machines.length - 1)
    const order = machines.map((_, index) => machines[(first + time + index) % machines.length])
    return order.find((machine) => machine?.running !== undefined)?.running
  }
}

function isFor({ kind }: Follow, { state, effect }: Answer): boolean {
  if (kind === 'compensate') return effect === 'done'
  return state === 'prepared'
}
