// Group C8: the same again.
import type { Json, JsonObject } from '../../util/json.ts'
import type { Case } from '../case.ts'
import { type Envelope, mappingOf, objectOf, requestFor, send } from '../envelope.ts'
import type { Subject } from '../subject.ts'

const AT_ONCE = 5
const RUNS = 3
const CONFLICT = 'tool_idempotency_conflict'

/** Effects that the tool has made under the key of this call. */
function countOf({ output }: Envelope): Json | undefined {
  return objectOf(output).count
}

const sameKey: Case = {
  id: 'replay/same-key',
  title: 'a request that is delivered again has one effect, and the first answer',
  requirements: ['C8.1'],
  needs: ['count'],
  async run(subject, check) {
    const mark = subject.mint()
    const key = `key-${subject.mint()}`
    const deliver = () => send(subject, requestFor(subject, 'count', { key, input: { mark } }))
    const together = await Promise.all(Array.from({ length: AT_ONCE }, deliver))
    const later = await deliver()
    for (const answer of [...together, later]) {
      check.equal('C8.1', 'effects under one key', countOf(answer), 1)
    }
    check.equal('C8.1', 'replayed, of a later delivery', later.body.replayed, true)
    check.equal(
      'C8.1',
      'answers that are no replay',
      together.filter(({ body }) => body.replayed === false).length,
      1,
    )
    const sends = subject.sends(mark)
    if (sends !== undefined) {
      check.equal('C8.1', 'sends that reached the tool', sends.length, 1)
      check.that('C8.1', "the tool is not given the caller's own key", sends[0]?.key !== key)
    }

    const other = await send(subject, requestFor(subject, 'count', { key, input: { mark, more: 1 } }))
    check.equal('C8.1', 'reason for the same key with another payload', other.error.reason, CONFLICT)
    const next = await send(
      subject,
      requestFor(subject, 'count', { key: `key-${subject.mint()}`, input: {} }),
    )
    check.equal('C8.1', 'effects under another key', countOf(next), 1)
  },
}

const lostLedger: Case = {
  id: 'replay/lost-ledger',
  title: 'a tool that gets the same key twice, from a runtime that forgot the first, makes no second effect',
  requirements: ['C8.1'],
  needs: ['count'],
  async run(subject, check) {
    const request = requestFor(subject, 'count', { key: `key-${subject.mint()}`, input: {} })
    const first = await send(subject, request)
    check.equal('C8.1', 'effects after the first delivery', countOf(first), 1)
    const other = await subject.reborn()
    try {
      const second = await send(other, request)
      check.equal('C8.1', 'status of the second delivery', second.status, 'ok')
      check.equal('C8.1', 'effects that the tool made when it got one key twice', countOf(second), 1)
    } finally {
      await other.close()
    }
  },
}

const FAILING: readonly JsonObject[] = [
  { code: 'execution_failed', status: 503, retryable: true },
  { code: 'invalid_input', status: 422, retryable: false },
  { code: 'auth_invalid', status: 401, retryable: false },
]

const sameFailures: Case = {
  id: 'replay/same-failures',
  title: 'a failure looks the same in every run',
  requirements: ['C8.2'],
  needs: ['fail'],
  async run(subject, check) {
    for (const input of FAILING) {
      const runs: JsonObject[] = []
      for (let run = 0; run < RUNS; run++) {
        runs.push(mappingOf(await send(subject, requestFor(subject, 'fail', { input }))))
      }
      check.equal('C8.2', `'${String(input.code)}' in ${RUNS} runs`, runs, Array(RUNS).fill(runs[0]))
    }
  },
}

const noHiddenState: Case = {
  id: 'replay/no-hidden-state',
  title: 'calls do not see each other, and a runtime that has worked answers like a new one',
  requirements: ['C8.3'],
  needs: ['echo'],
  async run(subject, check) {
    const inputs = Array.from({ length: AT_ONCE }, (_, index) => ({ index, text: subject.mint() }))
    const answers = await Promise.all(
      inputs.map(async (input) => {
        const request = requestFor(subject, 'echo', { input, trace: { trace_id: `trace-${input.index}` } })
        return { input, request, answer: await send(subject, request) }
      }),
    )
    for (const { input, request, answer } of answers) {
      check.equal('C8.3', 'output of one of many calls at once', answer.output, input)
      check.equal(
        'C8.3',
        'request_id of one of many calls at once',
        answer.body.request_id,
        request.request_id,
      )
    }

    const used = await look(subject)
    const fresh = await subject.reborn()
    try {
      check.equal('C8.3', 'what a new runtime answers', await look(fresh), used)
    } finally {
      await fresh.close()
    }
  },
}

/** The same questions to any runtime, without what may differ. */
async function look(subject: Subject): Promise<readonly JsonObject[]> {
  const asked: readonly Envelope[] = [
    await send(subject, requestFor(subject, 'echo', { input: { text: 'same' } })),
    await send(subject, requestFor(subject, 'echo', { input: { text: 'same' } }), { without: 'everything' }),
    await send(subject, requestFor(subject, 'echo', { version: 'v9' })),
    await send(subject, requestFor(subject, 'memory', { input: {} })),
  ]
  return asked.map((answer) => ({ ...mappingOf(answer), output: answer.output ?? null }))
}

export const replayCases: readonly Case[] = [sameKey, lostLedger, sameFailures, noHiddenState]
