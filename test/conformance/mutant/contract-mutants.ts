// Wrong in what the contract says, in time, or in what may be tried again.
import { TOOLS } from '../../../src/conformance/tools.ts'
import { isJsonObject } from '../../../src/util/json.ts'
import { answers, detailsOf, ended, errorOf, type Mutant, requests, toolOf, withError } from './mutant.ts'

export const CONTRACT_MUTANTS: readonly Mutant[] = [
  {
    what: 'refuses v1.7',
    breaks: ['C1.1'],
    mutate: answers((answer, request) =>
      request.tool_contract_version === 'v1.7' ? { ...answer, status: 'error' } : answer,
    ),
  },
  {
    what: 'calls an unknown version retryable',
    breaks: ['C1.2'],
    mutate: answers((answer) =>
      detailsOf(answer).failure === 'version-unsupported' ? withError(answer, { retryable: true }) : answer,
    ),
  },
  {
    what: 'takes another version for v1',
    breaks: ['C1.2', 'C8.3'],
    mutate: requests((request) =>
      request.tool_contract_version === 'v9' ? { ...request, tool_contract_version: 'v1' } : request,
    ),
    firstLifeOnly: true,
  },
  {
    what: 'gives a denial an id of its own',
    breaks: ['C1.3'],
    mutate: answers((answer) => (answer.status === 'denied' ? { ...answer, request_id: 'x' } : answer)),
  },
  {
    what: 'gives a denial no message',
    breaks: ['C1.4'],
    mutate: answers((answer) => (answer.status === 'denied' ? withError(answer, { message: '' }) : answer)),
  },
  {
    what: 'reports the opposite of retryable',
    breaks: ['C1.5'],
    mutate: ended((event) => ({ ...event, retryable: !event.retryable })),
  },
  {
    what: 'answers late after a timeout',
    breaks: ['C2.1'],
    mutate: (subject) => ({
      start(request, as) {
        const call = subject.start(request, as)
        const answer = async () => {
          const body = await call.answer()
          if (errorOf(body).code === 'timeout') await new Promise((resolve) => setTimeout(resolve, 1_800))
          return body
        }
        return { ...call, answer }
      },
    }),
  },
  {
    what: 'does not wait as long as it is told',
    breaks: ['C2.1'],
    mutate: requests((request) =>
      isJsonObject(request.runtime) && request.runtime.timeout_ms === 150
        ? { ...request, runtime: { timeout_ms: 50 } }
        : request,
    ),
  },
  {
    what: 'calls a timeout a failure of the tool',
    breaks: ['C2.2'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'timeout' ? withError(answer, { code: 'execution_failed' }) : answer,
    ),
  },
  {
    what: 'calls a timeout of a write retryable',
    breaks: ['C2.2'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['sleep-write'].name ? withError(answer, { retryable: true }) : answer,
    ),
  },
  {
    what: 'ignores a cancel',
    breaks: ['C2.3', 'C2.4'],
    mutate: (subject) => ({ start: (request, as) => ({ ...subject.start(request, as), cancel() {} }) }),
  },
  {
    what: 'does not tell the tool of a cancel',
    breaks: ['C2.3'],
    mutate: (subject) => ({
      sends: (mark) => subject.sends(mark)?.map((send) => ({ ...send, stopped: false })),
    }),
  },
  {
    what: 'has a reason of its own for a cancel',
    breaks: ['C2.4'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'canceled' ? withError(answer, { reason: 'stopped' }) : answer,
    ),
  },
  {
    what: 'does not call a throttled call retryable',
    breaks: ['C3.1'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'rate_limited' ? withError(answer, { retryable: false }) : answer,
    ),
  },
  {
    what: 'counts only one attempt',
    breaks: ['C3.2'],
    mutate: answers((answer) => {
      const usage = isJsonObject(answer.usage) ? answer.usage : {}
      return { ...answer, usage: { ...usage, attempt: Math.min(Number(usage.attempt), 1) } }
    }),
  },
  {
    what: 'calls the denial of a tool with retries retryable',
    breaks: ['C3.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['fail-again'].name && answer.status === 'denied'
        ? withError(answer, { retryable: true })
        : answer,
    ),
  },
  {
    what: 'keeps what the tool said about retrying to itself',
    breaks: ['C3.4'],
    mutate: answers((answer) => {
      const { transient: _, ...details } = detailsOf(answer)
      return answer.error === undefined ? answer : withError(answer, { details })
    }),
  },
]
