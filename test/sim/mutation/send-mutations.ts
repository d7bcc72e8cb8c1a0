// The rules of what may be sent.
import { type Mutation, one } from './mutation.ts'

const EXECUTE = 'src/pipeline/execute.ts'
const CLASSIFY = 'src/pipeline/classify.ts'
const ATTEMPT = 'src/pipeline/attempt.ts'
const ADMISSION = 'src/pipeline/admission.ts'
const EXCHANGE = 'src/transport/http-exchange.ts'

export const SEND_MUTATIONS: readonly Mutation[] = [
  one(
    'intent-before-send',
    'S34',
    EXECUTE,
    `const written = await intend(state, credential, leavesMemory, kit)`,
    `const written = {
        kind: 'intended' as const,
        entry: { ...state.entry, state: 'intended' as const, revision: state.entry.revision + 1, epoch: kit.world.epoch },
      } as Awaited<ReturnType<typeof intend>>
      intend(state, credential, leavesMemory, kit).catch(() => {})`,
  ),
  one(
    'never-class-is-not-sent-again',
    'S22',
    'src/contract/projection.ts',
    `return isReadOnly(rule) || HARMLESS.has(rule.repeat)`,
    `return isReadOnly(rule) || rule.repeat !== 'query'`,
  ),
  one(
    'keyed-only-while-remembered',
    'S22',
    CLASSIFY,
    `return now < firstSendAt + safe(rule.keyed.retentionMs)`,
    `return now < firstSendAt + 1000 * safe(rule.keyed.retentionMs)`,
  ),
  one(
    'keyed-is-looked-at-before-each-send',
    'S22',
    EXECUTE,
    `if (open && !(await isStillHarmless(`,
    `if (open && tries > 99 && !(await isStillHarmless(`,
  ),
  one(
    'earlier-attempts-stay-open',
    'S22',
    CLASSIFY,
    `const maybeDone = open || (outcome.sent && !definite)`,
    `const maybeDone = outcome.sent && !definite`,
  ),
  one(
    'cancel-stops-the-send',
    'S11',
    ATTEMPT,
    `this.#unlisten = callAbort.listen((reason) => this.#stop(reason))`,
    `this.#unlisten = () => {}`,
  ),
  {
    name: 'cancel-before-send',
    rule: 'S11',
    note: 'the loop looks at it, and an attempt that begins aborted sends nothing: either alone is enough',
    edits: [
      { file: EXECUTE, find: `if (state.abort.aborted || left <= 0) {`, replace: `if (left <= 0) {` },
      {
        file: ATTEMPT,
        find: `this.#unlisten = callAbort.listen((reason) => this.#stop(reason))`,
        replace: `this.#unlisten = callAbort.aborted ? () => {} : callAbort.listen((reason) => this.#stop(reason))`,
      },
    ],
  },
  one(
    'canceled-is-stored',
    'S16',
    'src/pipeline/step.ts',
    `const result = run(state, kit)`,
    `const result = (
    state.abort.aborted && stage === 'resolve'
      ? {
          kind: 'end',
          result: {
            state: 'canceled',
            effect: 'none',
            failure: { id: 'canceled', message: '', details: {}, retryable: false },
            attempt: 0,
            replayed: false,
            warnings: [],
            sideEffects: [],
          },
        }
      : run(state, kit)
  ) as R`,
  ),
  {
    name: 'stopped-while-it-waits-for-a-connection',
    rule: 'S11',
    note: 'an attempt that is over refuses to be sent, too: either alone is enough',
    edits: [
      {
        file: EXCHANGE,
        find: `    if (this.#ended) {
      controller.abort(new Error('stopped before it was sent'))
      return
    }`,
        replace: '',
      },
      {
        file: ATTEMPT,
        find: `if (this.#over) throw new Error('transport: sending() after the attempt was over')`,
        replace: '',
      },
    ],
  },
  one(
    'cancel-after-send-is-unknown',
    'S11',
    CLASSIFY,
    `const maybeDone = open || (outcome.sent && !definite)`,
    `const maybeDone = open || (outcome.sent && !definite && outcome.aborted !== 'canceled')`,
  ),
  one(
    'hang-up-ends-only-reads',
    'S11',
    'src/pipeline/live-call.ts',
    `if (operation !== undefined && isReadOnly(operation.effect) && alone) this.abort('hang-up')`,
    `if (operation !== undefined && alone) this.abort('hang-up')`,
  ),
  one(
    'concurrency-limit',
    'admit',
    ADMISSION,
    `>= share.of(key, concurrency)) {`,
    `>= share.of(key, concurrency) + 1) {`,
  ),
  one(
    'rate-limit',
    'admit',
    ADMISSION,
    `    return wait > 0
      ?`,
    `    return wait > rate.perMs
      ?`,
  ),
  one(
    'place-is-kept-until-the-end',
    'admit',
    'src/pipeline/admit.ts',
    `state.held.slot = entrance.slot`,
    `entrance.slot.leave()`,
  ),
  {
    name: 'failed-flush-stops-sending',
    rule: 'S37',
    note: 'admit, the loop and the sent boundary look: a retry gets past the first',
    edits: [
      {
        file: EXECUTE,
        find: `if (kit.ledger.failed !== undefined) {`,
        replace: `if (kit.ledger.failed === null) {`,
      },
      {
        file: 'src/ledger/ledger.ts',
        find: `return store.failed === undefined && world.clock.monotonic() < store.lives.sendUntil`,
        replace: `return world.clock.monotonic() < store.lives.sendUntil`,
      },
    ],
  },
]
