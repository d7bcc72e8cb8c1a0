// Group C4: credentials. What this build cannot present, it must refuse to send without.
import type { Case } from '../case.ts'
import { codesOf, mappingOf, requestFor, send } from '../envelope.ts'
import { AUTH_TOOLS, TOOLS } from '../tools.ts'
import { checkNotSent } from './not-sent.ts'

const UNRESOLVED = {
  status: 'error',
  code: 'secret_resolution_failed',
  reason: 'tool_secret_resolution_failed',
  retryable: false,
}

const namespaceScope: Case = {
  id: 'auth/namespace-scope',
  title: 'a secret is one of the tool and of its namespace, whatever a request or a manifest says',
  requirements: ['C4.1'],
  async run(subject, check) {
    const bearer = TOOLS['auth-bearer']
    const elsewhere = { ...bearer.spec, auth: { profile: 'bearer' as const, secretRef: 'elsewhere/secret' } }
    const problems = await subject.declare({ ...bearer, name: 'conformance-elsewhere', spec: elsewhere })
    check.that('C4.1', 'a reference into another namespace is refused', problems.length > 0)
    const own = { ...bearer.spec, auth: { profile: 'bearer' as const, secretRef: 'default/secret' } }
    check.equal(
      'C4.1',
      'problems of a reference into the own namespace',
      await subject.declare({ ...bearer, name: 'conformance-own', spec: own }),
      [],
    )

    const mark = subject.mint()
    const auth = { profile: 'bearer', secret_ref: 'somebody-elses' }
    const other = await send(subject, requestFor(subject, 'auth-bearer', { auth, input: { mark } }))
    check.equal('C4.1', 'a request that names another secret', codesOf(other), {
      ...UNRESOLVED,
      status: 'denied',
    })
    const missing = await send(subject, requestFor(subject, 'auth-bearer', { input: { mark } }))
    check.equal('C4.1', 'a secret that is not there', codesOf(missing), UNRESOLVED)
    checkNotSent(subject, check, 'C4.1', 'a call without its secret', mark)
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
    const said = await subject.said()
    check.that('C4.2', 'something is recorded at all', said.includes('call:ended'))
    for (const [what, value] of Object.entries({ inline, input, error, key })) {
      check.that('C4.2', `no record holds the secret that came as ${what}`, !said.includes(value))
    }
  },
}

const missingSecret: Case = {
  id: 'auth/missing-secret',
  title: 'a missing secret is the same error each time',
  requirements: ['C4.3'],
  async run(subject, check) {
    const ask = () => send(subject, requestFor(subject, 'auth-bearer', { input: {} }))
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

const profiles: Case = {
  id: 'auth/profiles',
  title: 'each profile is read; what it lacks is said; nothing is sent without its credential',
  requirements: ['C4.4'],
  async run(subject, check) {
    for (const tool of AUTH_TOOLS) {
      const mark = subject.mint()
      const answer = await send(subject, requestFor(subject, tool, { input: { mark } }))
      check.equal('C4.4', `${tool}: a call`, codesOf(answer), UNRESOLVED)
      checkNotSent(subject, check, 'C4.4', tool, mark)
    }
    const incomplete = { ...TOOLS['auth-api-key-header'], name: 'conformance-incomplete' }
    const auth = { profile: 'api_key_header' as const, secretRef: 'conformance-secret' }
    const problems = await subject.declare({ ...incomplete, spec: { auth } })
    check.that('C4.4', 'api_key_header without the name of its header is refused', problems.length > 0)
  },
}

export const authCases: readonly Case[] = [
  namespaceScope,
  noSecretInLogs,
  missingSecret,
  refusedSecret,
  profiles,
]
