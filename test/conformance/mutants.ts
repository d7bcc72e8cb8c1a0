// Runtimes that are wrong in one way each, and the requirements that they break. Each is a real subject with one of its
// answers, records or controls changed on the way to the cases.
import type { BackendName } from '../../src/conformance/backend/registry.ts'
import type { RequirementId } from '../../src/conformance/requirements.ts'
import type { CallerChoice, StartedCall, Subject, SubjectEvent } from '../../src/conformance/subject.ts'
import { SECRETS, TOOLS } from '../../src/conformance/tools.ts'
import type { CallEndedEvent } from '../../src/event/event.ts'
import { isJsonObject, type JsonObject } from '../../src/util/json.ts'

export interface Mutant {
  readonly what: string
  readonly breaks: readonly RequirementId[]
  /** Of the subject that is changed. @default 'native' */
  readonly backend?: BackendName
  mutate(subject: Subject): Partial<Subject>
  /** A life that remembers nothing is right again: what is wrong is in what the first one remembers. */
  readonly firstLifeOnly?: true
}

export function createMutant(mutant: Mutant, subject: Subject): Subject {
  return {
    ...subject,
    reborn: async () => {
      const other = await subject.reborn()
      return mutant.firstLifeOnly ? other : createMutant(mutant, other)
    },
    ...mutant.mutate(subject),
  }
}

type Change = (answer: JsonObject, request: JsonObject, as: CallerChoice | undefined) => JsonObject

const answers =
  (change: Change) =>
  (subject: Subject): Partial<Subject> => ({
    start(request, as): StartedCall {
      const call = subject.start(request, as)
      return { ...call, answer: async () => change(await call.answer(), request, as) }
    },
  })

const requests =
  (change: (request: JsonObject, subject: Subject) => JsonObject) =>
  (subject: Subject): Partial<Subject> => ({
    start: (request, as) => subject.start(change(request, subject), as),
  })

const events =
  (change: (one: SubjectEvent) => readonly SubjectEvent[]) =>
  (subject: Subject): Partial<Subject> => ({ events: () => subject.events().flatMap(change) })

const ended = (change: (event: CallEndedEvent) => CallEndedEvent) =>
  events((one) => [one.name === 'call:ended' ? { name: one.name, event: change(one.event) } : one])

const toolOf = (request: JsonObject) => (isJsonObject(request.tool) ? request.tool.name : undefined)
const errorOf = (answer: JsonObject) => (isJsonObject(answer.error) ? answer.error : {})
const detailsOf = (answer: JsonObject) => {
  const { details } = errorOf(answer)
  return isJsonObject(details) ? details : {}
}
const withError = (answer: JsonObject, error: JsonObject): JsonObject => ({
  ...answer,
  error: { ...errorOf(answer), ...error },
})
const succeeded = ({ error: _, ...answer }: JsonObject): JsonObject => ({
  ...answer,
  status: 'ok',
  output: {},
})

/** A leak: one more line, made of what came in. */
const leaks =
  (pick: (request: JsonObject) => unknown) =>
  (subject: Subject): Partial<Subject> => {
    const lines: string[] = []
    return {
      start(request, as) {
        lines.push(JSON.stringify(pick(request)) ?? '')
        return subject.start(request, as)
      },
      said: async () => `${await subject.said()}\n${lines.join('\n')}`,
    }
  }

export const MUTANTS: readonly Mutant[] = [
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
  {
    what: 'takes a secret of another namespace that is not shared',
    breaks: ['C4.1'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['auth-elsewhere'].name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'shows a tool the secret of another namespace that has the same name',
    breaks: ['C4.1'],
    backend: 'external',
    mutate: (subject) => ({
      putSecret: (secret) =>
        secret.namespace === SECRETS.elsewhere.namespace && secret.name === SECRETS.bearer
          ? subject.putSecret({ name: secret.name, values: secret.values })
          : subject.putSecret(secret),
    }),
  },
  {
    what: 'does not see what is shared',
    breaks: ['C4.1'],
    backend: 'external',
    mutate: (subject) => ({
      putSecret: ({ shareWith: _, ...secret }) => subject.putSecret(secret),
    }),
  },
  {
    what: 'shows its tools nothing',
    breaks: ['C4.1', 'C4.4'],
    backend: 'external',
    mutate: (subject) => ({
      sends: (mark) => subject.sends(mark)?.map((send) => ({ ...send, credentials: {} })),
    }),
  },
  {
    what: 'lets a request choose the secret',
    breaks: ['C4.1'],
    mutate: answers((answer, request) =>
      isJsonObject(request.auth) && request.auth.secret_ref === SECRETS.other ? succeeded(answer) : answer,
    ),
  },
  { what: 'logs inputs', breaks: ['C4.2'], mutate: leaks(({ input }) => input) },
  { what: 'logs credentials', breaks: ['C4.2'], mutate: leaks(({ auth }) => auth) },
  { what: 'logs keys', breaks: ['C4.2'], mutate: leaks((request) => request.idempotency_key) },
  {
    what: 'logs the secrets that it resolves',
    breaks: ['C4.2'],
    backend: 'external',
    mutate: (subject) => {
      const lines: string[] = []
      return {
        putSecret(secret) {
          lines.push(JSON.stringify(secret.values))
          return subject.putSecret(secret)
        },
        said: async () => `${await subject.said()}\n${lines.join('\n')}`,
      }
    },
  },
  {
    what: 'lets a tool repeat its secret',
    breaks: ['C4.2'],
    backend: 'external',
    mutate: answers((answer, request) =>
      answer.status === 'ok' && toolOf(request) === TOOLS['auth-bearer'].name
        ? { ...answer, output: request.input ?? null }
        : answer,
    ),
  },
  {
    what: 'records nothing',
    breaks: ['C4.2'],
    mutate: () => ({ said: async () => '' }),
  },
  {
    what: 'calls a refused credential a failure like any other',
    breaks: ['C4.3'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'auth_invalid' ? withError(answer, { code: 'execution_failed' }) : answer,
    ),
  },
  {
    what: 'sends a call without its credential',
    breaks: ['C4.4'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['auth-basic'].name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'shows user and password as they are',
    breaks: ['C4.4'],
    backend: 'external',
    mutate: (subject) => ({
      sends: (mark) =>
        subject.sends(mark)?.map((send) => {
          const { authorization = '' } = send.credentials
          const [, encoded] = /^Basic (.*)$/.exec(authorization) ?? []
          if (encoded === undefined) return send
          return { ...send, credentials: { authorization: Buffer.from(encoded, 'base64').toString() } }
        }),
    }),
  },
  {
    what: 'takes a profile without a secret',
    breaks: ['C4.4'],
    mutate: (subject) => ({
      declare: async (tool) => (tool.spec.auth?.secretRef === undefined ? [] : subject.declare(tool)),
    }),
  },
  {
    what: 'does not know the capabilities of a tool',
    breaks: ['C5.1'],
    mutate: (subject) => ({
      declared: (tool) => ({ riskLevel: 'high', ...subject.declared(tool), capabilities: [] }),
    }),
  },
  {
    what: 'shows a call that waits for approval as an error',
    breaks: ['C5.2'],
    mutate: answers((answer) =>
      errorOf(answer).code === 'approval_pending' ? { ...answer, status: 'error' } : answer,
    ),
  },
  {
    what: 'says in words of its own what is not permitted',
    breaks: ['C5.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS.guarded.name && answer.status === 'denied'
        ? withError(answer, { reason: 'lacks a capability' })
        : answer,
    ),
  },
  {
    what: 'lets everybody in',
    breaks: ['C1.4', 'C1.5', 'C3.2', 'C3.3', 'C5.1', 'C5.2', 'C5.3', 'C7.3', 'C7.4'],
    mutate: (subject) => ({ start: (request) => subject.start(request) }),
  },
  {
    what: 'lets a large output through',
    breaks: ['C6.1'],
    mutate: answers((answer) =>
      errorOf(answer).reason === 'tool_output_too_large' ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'runs without the bound on memory',
    breaks: ['C6.1'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS.memory.name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'takes a request for a weaker isolation',
    breaks: ['C6.2'],
    mutate: answers((answer, request) =>
      isJsonObject(request.runtime) && request.runtime.mode === 'none' ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'runs without the isolation that is declared',
    breaks: ['C6.3'],
    mutate: answers((answer, request) =>
      toolOf(request) === TOOLS['isolated-container'].name ? succeeded(answer) : answer,
    ),
  },
  {
    what: 'gives an isolation that it does not document',
    breaks: ['C6.3'],
    mutate: (subject) => ({ isolation: { ...subject.isolation, provided: ['none', 'wasm'] } }),
  },
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
