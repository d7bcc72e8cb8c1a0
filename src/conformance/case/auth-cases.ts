// Group C4: credentials. A tool is shown its own and nobody else's; without it nothing is sent, and no record ever holds it.
import type { Case } from '../case.ts'
import { codesOf, mappingOf, requestFor, send } from '../envelope.ts'
import { CREDENTIAL_VARIABLE, SECRETS } from '../tools.ts'
import { checkNotSent } from './not-sent.ts'

export const UNRESOLVED = {
  status: 'error',
  code: 'secret_resolution_failed',
  reason: 'tool_secret_resolution_failed',
  retryable: false,
}
const OUT_OF_SCOPE = { ...UNRESOLVED, status: 'denied' }

const namespaceScope: Case = {
  id: 'auth/namespace-scope',
  title: 'a secret is one of the tool and of its namespace, whatever a request or a manifest says',
  requirements: ['C4.1'],
  async run(subject, check) {
    const mark = subject.mint()
    const missing = await send(subject, requestFor(subject, 'auth-missing', { input: { mark } }))
    check.equal('C4.1', 'a secret that is not there', codesOf(missing), UNRESOLVED)

    await subject.putSecret({ name: SECRETS.bearer, values: { value: `own-${subject.mint()}` } })
    await subject.putSecret({ name: SECRETS.other, values: { value: `other-${subject.mint()}` } })
    const auth = { profile: 'bearer', secret_ref: SECRETS.other }
    const other = await send(subject, requestFor(subject, 'auth-bearer', { auth, input: { mark } }))
    check.equal('C4.1', 'a request that names another secret', codesOf(other), OUT_OF_SCOPE)

    const { name, namespace } = SECRETS.elsewhere
    await subject.putSecret({ name, namespace, values: { value: `elsewhere-${subject.mint()}` } })
    const foreign = await send(subject, requestFor(subject, 'auth-elsewhere', { input: { mark } }))
    const expected = subject.presents === 'nothing' ? UNRESOLVED : OUT_OF_SCOPE
    check.equal('C4.1', 'a secret of another namespace, which is not shared', codesOf(foreign), expected)
    checkNotSent(subject, check, 'C4.1', 'a call without its secret', mark)
  },
}

const resolved: Case = {
  id: 'auth/resolved',
  title: 'the tool is shown the secret that it names, of its own namespace or shared with it',
  requirements: ['C4.1'],
  needs: ['echo'],
  looksInside: true,
  async run(subject, check) {
    const [own, namesake, shared] = ['own', 'namesake', 'shared'].map((what) => `${what}-${subject.mint()}`)
    const { name, namespace } = SECRETS.elsewhere
    await subject.putSecret({ name: SECRETS.bearer, values: { value: String(own) } })
    await subject.putSecret({ name: SECRETS.bearer, namespace, values: { value: String(namesake) } })
    await subject.putSecret({ name, namespace, values: { value: String(shared) }, shareWith: ['default'] })
    for (const [tool, value] of [
      ['auth-bearer', own],
      ['auth-elsewhere', shared],
      ['echo', undefined],
    ] as const) {
      const mark = subject.mint()
      const answer = await send(subject, requestFor(subject, tool, { input: { mark } }))
      if (subject.presents === 'nothing' && value !== undefined) {
        check.equal('C4.1', `${tool}: a call whose secret cannot be shown`, codesOf(answer), UNRESOLVED)
        checkNotSent(subject, check, 'C4.1', tool, mark)
        continue
      }
      check.equal('C4.1', `${tool}: status of a call`, answer.status, 'ok')
      const inHeader = value === undefined ? {} : { authorization: `Bearer ${value}` }
      const inVariable = value === undefined ? {} : { [CREDENTIAL_VARIABLE]: value }
      const seen = subject.sends(mark)?.map(({ credentials }) => credentials)
      const expected = [subject.presents === 'value' ? inVariable : inHeader]
      check.equal('C4.1', `${tool}: what the tool was shown`, seen, expected)
    }
  },
}

const noSecretInLogs: Case = {
  id: 'auth/no-secret-in-logs',
  title: 'what a caller or a tool must keep to itself is in no record',
  requirements: ['C4.2'],
  needs: ['echo', 'fail'],
  async run(subject, check) {
    // One for each way in, so that a leak says where it came from.
    const secret = (way: string) => `S3CRET-${way}-${subject.mint()}`
    const inline = secret('inline')
    const input = secret('input')
    const error = secret('error')
    const key = secret('key')
    const shown = secret('shown')

    const refused = await send(
      subject,
      requestFor(subject, 'echo', { auth: { token: inline }, input: { text: 'x' } }),
    )
    check.equal('C4.2', 'status of a request with an inline credential', refused.status, 'error')
    check.that(
      'C4.2',
      'its answer does not repeat the credential',
      !JSON.stringify(refused.body).includes(inline),
    )
    await send(subject, requestFor(subject, 'echo', { key, input: { text: input } }))
    await send(
      subject,
      requestFor(subject, 'fail', {
        input: { code: 'execution_failed', retryable: false, status: 500, message: error },
      }),
    )
    await subject.putSecret({ name: SECRETS.bearer, values: { value: shown } })
    const repeated = await send(subject, requestFor(subject, 'auth-bearer', { input: { text: shown } }))
    const status = subject.presents === 'nothing' ? 'error' : 'ok'
    check.equal('C4.2', 'status of a call whose tool repeats its secret', repeated.status, status)
    check.that(
      'C4.2',
      'the answer of a tool that repeats its secret is without it',
      !JSON.stringify(repeated.body).includes(shown),
    )
    const said = await subject.said()
    check.that('C4.2', 'something is recorded at all', said.includes('call:ended'))
    for (const [what, value] of Object.entries({ inline, input, error, key, shown })) {
      check.that('C4.2', `no record holds the secret that came as ${what}`, !said.includes(value))
    }
  },
}

const missingSecret: Case = {
  id: 'auth/missing-secret',
  title: 'a missing secret is the same error each time',
  requirements: ['C4.3'],
  async run(subject, check) {
    const ask = () => send(subject, requestFor(subject, 'auth-missing', { input: {} }))
    const [first, second] = [await ask(), await ask()]
    check.equal('C4.3', 'a missing secret', codesOf(first), UNRESOLVED)
    check.equal('C4.3', 'a missing secret, the second time', mappingOf(second), mappingOf(first))
  },
}

const refusedSecret: Case = {
  id: 'auth/refused-secret',
  title: 'a credential that the tool refuses is told from one that it does not let do this',
  requirements: ['C4.3'],
  needs: ['fail'],
  async run(subject, check) {
    for (const [code, status] of [
      ['auth_invalid', 401],
      ['auth_forbidden', 403],
    ] as const) {
      const input = { code, status, retryable: false }
      const answer = await send(subject, requestFor(subject, 'fail', { input }))
      check.equal('C4.3', `a tool that answers ${code}`, codesOf(answer), {
        status: 'error',
        code,
        reason: `tool_${code}`,
        retryable: false,
      })
    }
  },
}

export const authCases: readonly Case[] = [
  namespaceScope,
  resolved,
  noSecretInLogs,
  missingSecret,
  refusedSecret,
]
