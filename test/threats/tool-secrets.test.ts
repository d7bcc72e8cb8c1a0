// The credentials of tools, echoed by every type of tool in every form and with every failure: they are nowhere but in the
// request to the tool.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { startUp, type UpServer } from '../cli/writ-process.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { ECHO_PEERS, type EchoPeer } from './echo-peers.ts'
import { echoOf, secretForms } from './secret-forms.ts'

const ADMIN = 'canary-admin-0123456789-0123456789-0123'
const BEARER = 'canary/bearer+"one" ~0123456789'
const API_KEY = 'canary-api-key:0123456789/+='
const USER = 'canary-user-0123'
const PASSWORD = 'canary pass/word+0123'
const CLIENT_SECRET = 'canary-client-secret-0123/+'
const ACCESS_TOKEN = 'canary-access-token-0123456789/+='

const SECRETS = { BEARER, API_KEY, PASSWORD, USER, CLIENT_SECRET, ACCESS_TOKEN }

/** How a tool gets each: as `auth`, and as variables of a program. */
const PROFILES: Readonly<Record<string, { auth(tokenURL: string): JsonObject; readonly env: JsonObject[] }>> =
  {
    bearer: {
      auth: () => ({ profile: 'bearer', secretRef: 'bearer' }),
      env: [{ name: 'CANARY', secretRef: 'bearer' }],
    },
    'api-key': {
      auth: () => ({ profile: 'api_key_header', secretRef: 'keys:api', headerName: 'X-Canary-Key' }),
      env: [{ name: 'CANARY', secretRef: 'keys', key: 'api' }],
    },
    basic: {
      auth: () => ({ profile: 'basic', secretRef: 'login' }),
      env: ['username', 'password'].map((key) => ({ name: `CANARY_${key}`, secretRef: 'login', key })),
    },
    oauth: {
      auth: (tokenURL) => ({ profile: 'oauth2_client_credentials', secretRef: 'client', tokenURL }),
      env: [{ name: 'CANARY', secretRef: 'client', key: 'client_secret' }],
    },
    missing: {
      auth: () => ({ secretRef: 'nobody' }),
      env: [{ name: 'CANARY', secretRef: 'nobody' }],
    },
  }

const secret = (name: string, stringData: JsonObject) => ({
  apiVersion: 'writ.dev/v1',
  kind: 'Secret',
  metadata: { name },
  spec: { stringData },
})

const tool = (name: string, spec: JsonObject) => ({
  apiVersion: 'writ.dev/v1',
  kind: 'Tool',
  metadata: { name },
  spec,
})

/** The tool of an MCP server is made from what it lists. */
const server = (name: string, peer: EchoPeer, spec: JsonObject) => {
  const { auth, cli, limits, runtime, effect } = spec
  const { env_from: variables = [] } = (cli ?? {}) as { env_from?: JsonObject[] }
  const env = [...((peer.server?.env ?? []) as JsonObject[]), ...variables]
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'McpServer',
    metadata: { name },
    spec: {
      ...peer.server,
      ...(peer.asVariables ? { env } : { auth }),
      reconnect: { max_attempts: 1 },
      tools: { echo: { limits, runtime, effect } },
    },
  }
}

/** All that the server has said. */
interface Heard {
  readonly answers: string[]
  ask(method: string, path: string, body?: object, type?: string): Promise<{ status: number; text: string }>
}

function hear(server: UpServer): Heard {
  const answers: string[] = []
  return {
    answers,
    async ask(method, path, body, type = 'application/json') {
      const response = await fetch(server.url + path, {
        method,
        headers: { authorization: `Bearer ${ADMIN}`, 'content-type': type },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      answers.push(`${method} ${path} ${response.statusText} ${[...response.headers].join('\n')}\n${text}`)
      return { status: response.status, text }
    },
  }
}

function filesOf(folder: string): [string, Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [relative(folder, path), readFileSync(path)])
}

function found(places: ReadonlyMap<string, Buffer>): string[] {
  return Object.entries(SECRETS).flatMap(([name, value]) =>
    Object.entries(secretForms(value)).flatMap(([form, text]) =>
      [...places]
        .filter(([, bytes]) => bytes.includes(text))
        .map(([place]) => `${name} ${form} in ${place}`.slice(0, 200)),
    ),
  )
}

/** By which a tool says that it does not take the credential. */
const REFUSING = ['status 401', 'grpc 16', 'later status 401']

async function useAll(heard: Heard, peer: EchoPeer, tokenURL: string): Promise<void> {
  const names = Object.keys(PROFILES)
  let ids = 0
  const toolOf = (name: string) => (peer.server === undefined ? name : `${name}--echo`)
  const call = (name: string, way: string, more: object = {}) =>
    heard.ask('POST', '/v1/calls', {
      request_id: `echo-${++ids}`,
      tool: { name: toolOf(name) },
      input: { way },
      ...more,
    })
  const specOf = (profile: string, effect: string, url = tokenURL): JsonObject => {
    const { auth, env } = PROFILES[profile] ?? assert.fail(profile)
    const { runtime = {}, cli } = peer.spec
    return {
      ...peer.spec,
      ...(peer.asVariables ? { cli: { ...(cli as JsonObject), env_from: env } } : { auth: auth(url) }),
      runtime: { timeout: '3s', ...(runtime as JsonObject) },
      limits: { output_bytes: 1_000_000 },
      effect: { class: effect },
    }
  }
  const declared = (name: string, spec: JsonObject) =>
    peer.server === undefined ? tool(name, spec) : server(name, peer, spec)
  const documents = [
    secret('bearer', { value: BEARER }),
    secret('keys', { api: API_KEY, unused: 'another-value' }),
    secret('login', { username: USER, password: PASSWORD }),
    secret('client', { client_id: 'writ-agent', client_secret: CLIENT_SECRET }),
    ...names.map((name) => declared(name, specOf(name, 'external-communication'))),
    declared('refused', specOf('oauth', 'external-communication', `${tokenURL}/refuse`)),
    declared('read', specOf('bearer', 'read-only')),
  ]
  for (const document of documents) {
    const applied = await heard.ask('POST', '/v1/apply', document)
    assert.equal(applied.status, 200, applied.text)
  }
  const usable = [...names.filter((name) => name !== 'missing'), 'read'].map(toolOf)
  if (peer.server !== undefined) await untilListed(heard, usable)
  // Each with its own request, side by side: a way that ends by the timeout holds nobody up.
  const shown = await Promise.all([
    ...peer.ways.flatMap((way) => [call('bearer', way), call('read', way)]),
    ...names.flatMap((name) => [...peer.ways.slice(-3), ...REFUSING].map((way) => call(name, way))),
    call('refused', 'x'),
  ])
  assert.ok(shown.some(({ text }) => text.includes('[redacted]')))
  if (peer.lastWay !== undefined) await call('bearer', peer.lastWay)
  await call('bearer', 'x', { dry_run: true })
  await call('bearer', 'x', { auth: { profile: 'bearer', secret_ref: 'keys' } })
  await heard.ask('POST', `/v1/tools/${toolOf('read')}/verify`, { input: { way: peer.ways.at(-1) ?? '' } })
  const looks = [
    'audit/export',
    'calls?limit=200',
    'entries',
    'tools',
    `tools/${toolOf('bearer')}`,
    'secrets',
  ]
  const servers =
    peer.server === undefined ? [] : ['mcp-servers', 'mcp-servers/bearer', 'mcp-servers/refused']
  for (const path of [...looks, ...servers]) await heard.ask('GET', `/v1/${path}`)
  await heard.ask('GET', '/openapi.json')
  await heard.ask('GET', '/metrics')
  for (const { id } of callsIn(heard)) await heard.ask('GET', `/v1/calls/${id}`)
}

/** All of them are there, in bounded time. */
async function untilListed(heard: Heard, tools: readonly string[]): Promise<void> {
  let missing = tools
  for (let tries = 0; tries < 600 && missing.length > 0; tries++) {
    const { text } = await heard.ask('GET', '/v1/tools')
    missing = tools.filter((name) => !text.includes(`"${name}"`))
    if (missing.length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.deepEqual(missing, [], 'listed by their servers')
}

function callsIn({ answers }: Heard): { id: string }[] {
  const ids = answers.flatMap((text) => /writ-call-id,([0-9a-f-]{36})/.exec(text)?.[1] ?? [])
  return ids.map((id) => ({ id }))
}

async function startTokens(t: TestContext) {
  const peer = await listenHttp(({ path, headers, body }, response) => {
    const echo = [headers.authorization ?? '', body, ...echoOf([CLIENT_SECRET])]
    if (path.endsWith('/refuse'))
      sendJson(response, { error: 'invalid_grant', error_description: echo.join(' '), echo }, 400)
    else sendJson(response, { access_token: ACCESS_TOKEN, token_type: 'bearer', expires_in: 600 })
  })
  t.after(() => peer.close())
  return peer
}

describe('the credentials of tools', () => {
  for (const [type, start] of Object.entries(ECHO_PEERS)) {
    it(`of type ${type} are in no answer, log, evidence, metric and file, whatever the tool echoes`, async (t) => {
      const cwd = mkdtempSync(join(tmpdir(), 'writ-echo-'))
      t.after(() => rmSync(cwd, { recursive: true, force: true }))
      const peer = await start()
      t.after(() => peer.close())
      const tokens = await startTokens(t)
      const env = { WRIT_ADMIN_TOKEN: ADMIN, WRIT_LOG_LEVEL: 'trace', ...peer.serverEnv }
      const server = await startUp({ cwd, env })
      t.after(() => server.stop('SIGKILL'))
      const heard = hear(server)
      await useAll(heard, peer, `${tokens.origin}/token`)
      const last = peer.asVariables ? CLIENT_SECRET : ACCESS_TOKEN
      for (const value of [BEARER, API_KEY, USER, PASSWORD, last])
        assert.ok(peer.shown.has(value), 'the tool was shown it')

      const data = join(cwd, '.writ')
      const whileItRuns = filesOf(data)
      const { out, err } = await server.stop()
      const places = new Map<string, Buffer>([
        ['stdout', Buffer.from(out)],
        ['stderr', Buffer.from(err)],
        ...heard.answers.map((text, at): [string, Buffer] => [
          `answer ${at}: ${text.slice(0, 60)}`,
          Buffer.from(text),
        ]),
        ...[...whileItRuns, ...filesOf(data)].map(([name, bytes], at): [string, Buffer] => [
          `file ${at}, ${name}`,
          bytes,
        ]),
      ])
      assert.match(err, /"level":"?(debug|trace)/, 'the log is as wordy as it gets')
      assert.ok(callsIn(heard).length > peer.ways.length * 2)
      assert.ok([...places.keys()].some((place) => place.endsWith('writ.db')))
      assert.deepEqual(found(places), [])
    })
  }
})
