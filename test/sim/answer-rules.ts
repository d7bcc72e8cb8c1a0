// What must be true of every answer: of itself, of what the tools did, and of what the key was told before.
import { isDeepStrictEqual } from 'node:util'
import { type Answer, isOutcome } from '../../src/contract/answer.ts'
import { type KeyRecord, type SimCall, samenessOf } from './history.ts'
import { EPSILON, type Facts } from './invariant.ts'
import { nameOfCall } from './ledger-rules.ts'
import { CLOCK_SLACK_MS, mayBeErased } from './memory-rules.ts'
import { isInDoubt } from './send-rules.ts'
import { COMMIT_MS, RETENTION_MS } from './sim-tool.ts'
import { isHarmless } from './tool-service.ts'

const ENTRY_STATES: Readonly<Record<string, readonly string[]>> = {
  done: ['done', 'committed', 'compensating', 'compensated', 'compensation-failed'],
  'not-done': ['not-done', 'canceled', 'rolled-back'],
  // It may have been settled since.
  unknown: [
    'unknown',
    'reconciling',
    'commit-unknown',
    'done',
    'not-done',
    'committed',
    'prepared',
    'intended',
  ],
}

export class AnswerRules {
  readonly #facts: Facts

  constructor(facts: Facts) {
    this.#facts = facts
  }

  /** Called once for each answer, at the moment it is given. */
  check(call: SimCall, answer: Answer): void {
    const { fail, agenda } = this.#facts
    const name = nameOfCall(call)
    if (answer.failure?.id === 'internal') fail('no-bug', `${name}: ${answer.failure.message}`)
    if (agenda.now > call.bound + EPSILON) fail('deadline', `${name} was answered at ${agenda.now}`)
    this.#checkShape(call, answer, name)
    this.#checkReasons(call, answer, name)
    this.#checkEffect(call, answer, name)
    this.#checkRecord(call, answer, name)
  }

  #checkShape(call: SimCall, answer: Answer, name: string): void {
    const { fail } = this.#facts
    if (answer.callId !== call.id) fail('truth', `${name} got the answer of call ${answer.callId}`)
    if (answer.final !== isOutcome(answer.state))
      fail('truth', `${name}: ${answer.state} with final ${answer.final}`)
    const succeeded = answer.state === 'succeeded'
    const silent = succeeded || answer.state === 'running' || answer.state === 'prepared'
    if (silent === (answer.failure !== undefined)) fail('truth', `${name}: ${answer.state} and its failure`)
    const shows = answer.output !== undefined
    // What a person has settled may have none, and may be replayed to others.
    const byHand = call.record.settledByHand || (answer.replayed && call.record.tool.onRepeat === 'replay')
    const may = answer.state === 'prepared' || byHand
    if (succeeded !== shows && !may) fail('truth', `${name}: ${answer.state} and its output`)
    if (answer.state === 'prepared' && answer.effect !== 'prepared') {
      fail('truth', `${name}: prepared, effect ${answer.effect}`)
    }
    const none = call.record.tool.kind === 'read' && answer.effect !== 'none' && answer.effect !== 'pending'
    if (none) fail('truth', `${name}: a read with effect ${answer.effect}`)
  }

  /** Nobody is turned away without a cause. */
  #checkReasons(call: SimCall, answer: Answer, name: string): void {
    const { agenda, fail, history, shared } = this.#facts
    const { record, ask, life } = call
    // While it is being committed or undone there is no flight to join.
    if (answer.state === 'running' && answer.effect === 'pending') {
      const until = Math.min(call.deadline, call.startedAt + (ask.waitMs ?? Number.POSITIVE_INFINITY))
      // One that cannot write any more sends everybody away.
      // A process that was held, or whose disk stood still, may not have its outcome on record in time.
      const unwritten = !answer.replayed && life.disturbedAt >= call.startedAt
      const excused = life.closing || life.failedAt !== undefined || unwritten
      if (agenda.now < until - EPSILON && !excused) {
        fail('one-flight', `${name} was told that it runs ${until - agenda.now} ms before its time was up`)
      }
    }
    const wanted = samenessOf(ask, record.tool)
    const others = () => record.calls.some((other) => samenessOf(other.ask, record.tool) !== wanted)
    const twins = () =>
      [...history.records.values()].filter(
        (other) => other !== record && other.tool === record.tool && asksFor(other, ask.input.item),
      )
    switch (answer.failure?.id) {
      case 'key-conflict':
        if (!others()) fail('truth', `${name}: a conflict with nobody`)
        break
      case 'effect-repeated': {
        if (twins().length === 0) fail('truth', `${name}: a repeat of nothing`)
        const own = twins().find((other) => other.actor === record.actor && hadSucceeded(other, call))
        if (record.tool.onRepeat === 'replay' && own !== undefined && !mayBeErased(own, agenda.now)) {
          fail('identity', `${name} was refused; ${own.told?.call.name} had succeeded before, to be replayed`)
        }
        break
      }
      case 'approval-pending':
        if (
          record.tool.approval === undefined &&
          (record.tool.onRepeat !== 'approve' || twins().length === 0)
        )
          fail('truth', `${name}: waits for nothing`)
        break
      case 'canceled': {
        // Hanging up ends nothing but a read (S11).
        const read = record.tool.kind === 'read'
        const canceled = record.calls.some(
          ({ canceledAt, ask: { hangUpMs, saga } }) =>
            // A saga that is aborted cancels what waits for approval.
            canceledAt !== undefined || saga !== undefined || (read && hangUpMs !== undefined),
        )
        if (!canceled) fail('truth', `${name} was canceled by nobody`)
        break
      }
      case 'key-expired':
        if (!mayBeErased(record, agenda.now)) fail('outcome', `${name}: expired too soon`)
        if (record.open !== undefined)
          fail('outcome', `${name}: expired while it was ${record.open.answer.state}`)
        break
      case 'version-unmatched':
        if (!history.removed.has(record.tool.name) && !(shared && history.upgraded.has(record.tool.name))) {
          fail('payload', `${name}: its build is said to be gone, and is not`)
        }
        break
      case 'timeout-unknown-commit':
        if (isHarmless(record.tool) && !this.#mayBeForgotten(record)) {
          fail('truth', `${name}: a repeat would do no harm, and it is told to settle it by hand`)
        }
        break
      default:
    }
  }

  /** The tools' own log against what is said about it. */
  #checkEffect(call: SimCall, answer: Answer, name: string): void {
    const { fail } = this.#facts
    const { record } = call
    const attempt = answer.usage.attempt
    switch (answer.effect) {
      case 'done':
      case 'none': {
        if (answer.state === 'succeeded') this.#checkOutput(call, answer, name)
        const sent = call.sends.some((send) => send.startedAt !== undefined)
        if (answer.effect === 'none' && record.tool.kind !== 'read' && sent) {
          fail('truth', `${name} says that no effect was possible; it was sent`)
        }
        break
      }
      case 'not-done': {
        const run = record.runs.find((one) => !one.prepares && one.send.attempt <= attempt)
        if (run !== undefined) fail('truth', `${name} says not-done; send ${run.send.number} was executed`)
        // Where the tool can be asked, or a person has looked, one can know.
        const asked = record.tool.query !== undefined || record.tool.twoPhase === true || record.settledByHand
        // Another replica may have made the next attempt before this answer came through.
        const doubt = asked ? undefined : record.sends.find((one) => one.attempt <= attempt && isInDoubt(one))
        if (doubt !== undefined)
          fail('truth', `${name} says not-done; nobody can know that of send ${doubt.number}`)
        record.notDoneUpTo = Math.max(record.notDoneUpTo, attempt)
        break
      }
      case 'unknown': {
        const sends = [...record.sends, ...record.errands.filter((one) => one.kind === 'commit')]
        const doubt = sends.some((send) => isInDoubt(send) && send.learned !== 'success')
        const broken = record.calls.some(({ life }) => life.failedAt !== undefined || life.awayUntil > 0)
        // While it is being committed it is not known, either.
        if (!doubt && !broken && !record.interrupted && answer.state !== 'running')
          fail('truth', `${name} says unknown; every reply was definite`)
        break
      }
      default:
    }
  }

  /** A success is what the tool produced for this very request. */
  #checkOutput(call: SimCall, answer: Answer, name: string): void {
    const { fail, history } = this.#facts
    const { record, ask } = call
    const ofIdentity = () =>
      history
        .changesOfIdentity(record.tool, ask.input.item)
        .filter((run) => run.send.record.actor === record.actor)
    const replays = record.tool.onRepeat === 'replay' && answer.replayed && record.runs.length === 0
    const runs = replays ? ofIdentity() : record.runs
    // A person may have said what it returned, or that nobody knows; that is replayed to others, too.
    if ((record.settledByHand || answer.output === undefined) && runs.length > 0) return
    if (!runs.some((run) => isDeepStrictEqual(run.output, answer.output))) {
      fail('truth', `${name} has output ${JSON.stringify(answer.output)}, which no run of it gave`)
      return
    }
    const { input } = answer.output as { input: SimCall['ask']['input'] }
    if (samenessOf({ ...ask, input }, record.tool) !== samenessOf(ask, record.tool)) {
      fail(
        'truth',
        `${name} asked with ${JSON.stringify(ask.input)} and got ${JSON.stringify(answer.output)}`,
      )
    }
  }

  /** S34: on disk before it is said. S24: the number of the last send. */
  #checkRecord(call: SimCall, answer: Answer, name: string): void {
    const { fail, ledger } = this.#facts
    const { record, life } = call
    if (answer.replayed || answer.state === 'running') return
    const sent = (record.tool.kind === 'read' ? call : record).sends.filter(
      (one) => one.startedAt !== undefined && (!this.#facts.shared || one.attempt <= answer.usage.attempt),
    )
    const expected = ENTRY_STATES[answer.effect]
    const bound = expected !== undefined || answer.state === 'succeeded'
    // What a crash left open is counted, whether it left or not.
    const exact = bound && !record.interrupted && life.failedAt === undefined
    if (answer.usage.attempt !== (exact ? sent.length : answer.usage.attempt)) {
      fail('truth', `${name} says attempt ${answer.usage.attempt}; ${sent.length} were sent`)
    }
    if (life.failedAt !== undefined) return
    const own = ledger.entryOfCall(call.id)
    // Another replica may have taken the key up again meanwhile.
    const taken = own === undefined && this.#facts.shared
    if (expected !== undefined && record.tool.kind !== 'read' && !taken) {
      // A call that is refused says what became of its key before.
      const state =
        (own ?? (answer.effect === 'unknown' ? ledger.entryOfCalls(record.calls) : undefined))?.state ??
        'nothing'
      if (!expected.includes(state))
        fail('intent-first', `${name} says ${answer.effect}; on disk is ${state}`)
    }
    // A read that could not be put on record is refused, and says so.
    const refused = record.tool.kind === 'read' && answer.failure?.id === 'intent-not-recorded'
    const recorded = (own !== undefined || record.tool.strict) && call.sends.length > 0 && !refused
    if (recorded && !ledger.hasCall(call.id)) {
      fail('intent-first', `${name} is answered, and no record of it is on disk`)
    }
  }

  /** S22: by the time that a keyed tool has declared. */
  #mayBeForgotten(record: KeyRecord): boolean {
    const since = record.calls[0]?.startedAt ?? 0
    const keptMs = record.tool.twoPhase === true ? COMMIT_MS : RETENTION_MS
    const keeps = record.tool.kind === 'keyed' || record.tool.twoPhase === true
    // The last tenth is not used.
    return keeps && this.#facts.agenda.now - since > 0.9 * keptMs - CLOCK_SLACK_MS
  }
}

function asksFor(record: KeyRecord, item: unknown): boolean {
  return record.calls.some((call) => call.ask.input.item === item)
}

function hadSucceeded({ told }: KeyRecord, before: SimCall): boolean {
  if (told?.answer.state !== 'succeeded' || told.at >= before.startedAt) return false
  return told.call.ask.input.item === before.ask.input.item
}
