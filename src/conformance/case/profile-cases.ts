// Group C4, the auth profiles: each puts its credential where the tool looks for it, or nothing is sent.
import type { Case } from '../case.ts'
import { codesOf, requestFor, send } from '../envelope.ts'
import { accessTokenOf } from '../token-endpoint.ts'
import {
  API_KEY_HEADER,
  AUTH_TOOLS,
  CREDENTIAL_VARIABLE,
  isDeclared,
  SECRETS,
  TOKEN_SCOPE,
  TOOLS,
} from '../tools.ts'
import { UNRESOLVED } from './auth-cases.ts'
import { checkNotSent } from './not-sent.ts'

const profiles: Case = {
  id: 'auth/profiles',
  title: 'each profile is read; what it lacks is said; nothing is sent without its credential',
  requirements: ['C4.4'],
  async run(subject, check) {
    for (const tool of AUTH_TOOLS) {
      const declaration = TOOLS[tool]
      if (!isDeclared(declaration, subject.presents)) {
        const problems = await subject.declare({ ...declaration, name: 'conformance-profile' })
        check.that('C4.4', `${tool}: is refused where it cannot be presented`, problems.length > 0)
        continue
      }
      const mark = subject.mint()
      // Two values, and none that a profile looks for.
      const values = { left: `left-${subject.mint()}`, right: `right-${subject.mint()}` }
      await subject.putSecret({ name: String(declaration.spec.auth?.secretRef), values })
      const answer = await send(subject, requestFor(subject, tool, { input: { mark } }))
      check.equal('C4.4', `${tool}: a call whose secret lacks a value`, codesOf(answer), UNRESOLVED)
      checkNotSent(subject, check, 'C4.4', tool, mark)
    }
    const declare = (auth: NonNullable<(typeof TOOLS)['auth-bearer']['spec']['auth']>) =>
      subject.declare({ ...TOOLS['auth-bearer'], name: 'conformance-incomplete', spec: { auth } })
    for (const tool of AUTH_TOOLS) {
      const { secretRef: _, ...secretless } = TOOLS[tool].spec.auth ?? {}
      const problems = await declare(secretless)
      check.that('C4.4', `${tool}: without a secret it is refused`, problems.length > 0)
    }
    const { defaultHeader } = subject
    const headerless = await declare({ profile: 'api_key_header', secretRef: SECRETS.apiKey })
    const taken = defaultHeader === undefined ? 'refused' : `taken for ${defaultHeader}`
    const label = `api_key_header without the name of its header is ${taken}`
    check.that('C4.4', label, headerless.length > 0 === (defaultHeader === undefined), headerless)
    const tokenless = await declare({ profile: 'oauth2_client_credentials', secretRef: SECRETS.client })
    check.that('C4.4', 'oauth2_client_credentials without its tokenURL is refused', tokenless.length > 0)
  },
}

const presented: Case = {
  id: 'auth/presented',
  title: 'each profile puts its credential where the tool looks for it',
  requirements: ['C4.4'],
  needs: ['echo'],
  looksInside: true,
  async run(subject, check) {
    const mint = (what: string) => `${what}-${subject.mint()}`
    const [token, apiKey, user, password] = [mint('token'), mint('key'), mint('user'), mint('password')]
    const client = { clientId: mint('client'), clientSecret: mint('secret') }
    const access = accessTokenOf({ ...client, scope: TOKEN_SCOPE })
    const basic = Buffer.from(`${user}:${password}`).toString('base64')
    const ways = {
      'auth-bearer': {
        values: { value: token },
        shown:
          subject.presents === 'value'
            ? { [CREDENTIAL_VARIABLE]: token }
            : { authorization: `Bearer ${token}` },
      },
      'auth-api-key-header': { values: { value: apiKey }, shown: { [API_KEY_HEADER.toLowerCase()]: apiKey } },
      'auth-basic': { values: { username: user, password }, shown: { authorization: `Basic ${basic}` } },
      'auth-oauth2-client-credentials': {
        values: { client_id: client.clientId, client_secret: client.clientSecret },
        shown: { authorization: `Bearer ${access}` },
      },
    } as const satisfies Record<(typeof AUTH_TOOLS)[number], unknown>
    for (const tool of AUTH_TOOLS) {
      const declaration = TOOLS[tool]
      if (!isDeclared(declaration, subject.presents)) continue
      const { values, shown } = ways[tool]
      const mark = subject.mint()
      await subject.putSecret({ name: String(declaration.spec.auth?.secretRef), values })
      const answer = await send(subject, requestFor(subject, tool, { input: { mark } }))
      if (subject.presents === 'nothing') {
        check.equal('C4.4', `${tool}: a call that cannot show its credential`, codesOf(answer), UNRESOLVED)
        checkNotSent(subject, check, 'C4.4', tool, mark)
        continue
      }
      check.equal('C4.4', `${tool}: status of a call`, answer.status, 'ok')
      const seen = subject.sends(mark)?.map(({ credentials }) => credentials)
      check.equal('C4.4', `${tool}: what the tool was shown`, seen, [shown])
    }
  },
}

export const profileCases: readonly Case[] = [profiles, presented]
