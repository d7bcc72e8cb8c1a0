// Wrong in what is recorded, or in what comes of asking twice.
import { TOOLS } from '../../../src/conformance/tools.ts'
import { isJsonObject, type JsonObject } from '../../../src/util/json.ts'
import { answers, detailsOf, ended, events, type Mutant, requests, toolOf, withError } from './mutant.ts'

export const RECORD_MUTANTS: readonly Mutant[] = [
  {
    what: 'records a start twice',
    breaks: ['C7.1'],
    mutate: events((one) => (one.name === 'call:started' ? [one, one] : [one])),
  },
  {
    what: 'records no start',
    breaks: ['C7.1'],
    mutate: events((one) => (one.name === 'call:started' ? [] : [one])),
  },
  {
    what: 'records ends without their span',
    breaks: ['C7.2'],
    mutate: ended((event) => ({ ...event, span_id: '' })),
  },
  {
    what: 'does not measure',
    breaks: ['C7.3'],
    mutate: ended((event) => ({ ...event, duration_ms: 0 })),
  },
  {
    what: 'records no reason for one kind of failure',
    breaks: ['C7.4'],
    mutate: ended((event) =>
      event.tool_reason === 'tool_auth_forbidden' ? { ...event, tool_reason: '' } : event,
    ),
  },
  {
    what: 'forgets its keys',
    breaks: ['C8.1'],
    mutate: requests((request, subject) =>
      request.idempotency_key === undefined ? request : { ...request, idempotency_key: subject.mint() },
    ),
  },
  {
    what: 'names a failure otherwise every second time',
    breaks: ['C8.2'],
    mutate: (subject) => {
      let times = 0
      return answers((answer, request) => {
        const odd = toolOf(request) === TOOLS.fail.name && times++ % 2 === 1
        return odd ? withError(answer, { details: { ...detailsOf(answer), failure: 'other' } }) : answer
      })(subject)
    },
  },
  {
    what: 'answers otherwise once it has worked for a while',
    breaks: ['C8.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS.memory.name ? { ...answer, effect: 'not-done' } : answer,
    ),
    firstLifeOnly: true,
  },
  {
    what: 'gives one call the output of another',
    breaks: ['C8.3'],
    mutate: (subject) => {
      const seen: JsonObject[] = []
      return answers((answer, request) => {
        const { input } = request
        if (!isJsonObject(input) || typeof input.index !== 'number') return answer
        seen.push(input)
        return { ...answer, output: seen[0] ?? null }
      })(subject)
    },
  },
]
