// Wrong in what secrets and credentials are used for, or in who sees them.
import { SECRETS, TOOLS } from '../../../src/conformance/tools.ts'
import { isJsonObject } from '../../../src/util/json.ts'
import { answers, errorOf, leaks, type Mutant, succeeded, toolOf, withError } from './mutant.ts'

export const AUTH_MUTANTS: readonly Mutant[] = [
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
]
