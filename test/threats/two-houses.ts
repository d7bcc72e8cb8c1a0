// One server with two namespaces: blue has one of everything, red has a token that may do everything, in red.
import assert from 'node:assert/strict'
import { defineTool } from '../../src/index.ts'
import { DOOR_PERMISSIONS } from '../../src/resource/permission.ts'
import { type Harness, type Reply, type RequestOptions, startHarness } from '../server/harness.ts'

/** The names and ids that a request may be about. Those of blue exist there, and nowhere else. */
export interface Things {
  readonly tool: string
  readonly role: string
  readonly policy: string
  readonly permission: string
  readonly secret: string
  readonly server: string
  readonly frozen: string
  readonly actor: string
  readonly call: string
  readonly waiting: string
  readonly approval: string
  readonly saga: string
  readonly grant: string
  readonly tokenId: string
}

/** Of the same form, and of nobody. */
export const NOBODYS: Things = {
  tool: 'phantom-tool',
  role: 'phantom-role',
  policy: 'phantom-policy',
  permission: 'phantom-permission',
  secret: 'phantom-secret',
  server: 'phantom-server',
  frozen: 'phantom-frozen',
  actor: 'phantom-actor',
  call: '019a0000-0000-7000-8000-0000000000c1',
  waiting: '019a0000-0000-7000-8000-0000000000c2',
  approval: '019a0000-0000-7000-8000-0000000000a1',
  saga: 'phantom-saga',
  grant: '019a0000-0000-7000-8000-0000000000b1',
  tokenId: '019a0000-0000-7000-8000-0000000000d1',
}

export interface Tokens {
  /** May do everything in red. */
  readonly red: string
  /** A person of blue without a role. */
  readonly bare: string
  /** An agent of blue that may call the tool of blue. */
  readonly agent: string
}

export interface TwoHouses extends Harness {
  readonly things: Things
  readonly tokens: Tokens
  /** All that can be seen of blue, and its evidence. */
  blue(): Promise<string>
}

const YAML = { 'content-type': 'application/yaml' }
export const manifest = (kind: string, name: string, spec: string): string =>
  `apiVersion: writ.dev/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: ${spec}\n`

const OWNED: Omit<Things, 'call' | 'waiting' | 'approval' | 'grant' | 'tokenId'> = {
  tool: 'indigo-tool',
  role: 'indigo-role',
  policy: 'indigo-policy',
  permission: 'indigo-permission',
  secret: 'indigo-secret',
  server: 'indigo-server',
  frozen: 'indigo-frozen',
  actor: 'indigo-agent',
  saga: 'indigo-saga',
}

export async function startTwoHouses(): Promise<TwoHouses> {
  const h = await startHarness()
  try {
    const { things, tokens } = await furnish(h)
    return { ...h, things, tokens, blue: () => lookAt(h) }
  } catch (error) {
    await h.close()
    throw error
  }
}

async function furnish(h: Harness): Promise<{ things: Things; tokens: Tokens }> {
  const inBlue = async (method: string, path: string, options: RequestOptions = {}): Promise<Reply> => {
    const reply = await h.request(method, `${path}?namespace=blue`, options)
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply
  }
  const issue = async (namespace: string, body: object): Promise<Reply['body']> => {
    const reply = await h.request('POST', `/v1/tokens?namespace=${namespace}`, { body })
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  for (const name of [OWNED.tool, 'indigo-pay']) {
    h.runtime.define(
      defineTool({
        namespace: 'blue',
        name,
        version: '1.0.0',
        effect: { class: 'external-communication', determinism: 'side_effectful' },
        ...(name === OWNED.tool
          ? {}
          : { spec: { approval_triggers: [{ field: '/amount', op: 'gt', value: 1 }] } }),
        handler: () => ({ secret: 'indigo-output' }),
      }),
    )
  }
  const set = [
    manifest('Tool', OWNED.frozen, "{endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}"),
    manifest(
      'AgentRole',
      OWNED.role,
      `{permissions: ['tool:${OWNED.tool}:invoke', 'tool:indigo-pay:invoke']}`,
    ),
    manifest('ToolPermission', OWNED.permission, `{tool_ref: ${OWNED.frozen}, required_permissions: [x]}`),
    manifest('Secret', OWNED.secret, '{stringData: {value: indigo-value}}'),
    manifest('AgentPolicy', OWNED.policy, `{target_agents: [nobody], blocked_tools: [${OWNED.frozen}]}`),
    // In a container, which is not built: nothing is started.
    manifest('McpServer', OWNED.server, '{transport: stdio, image: indigo-image}'),
  ].join('---\n')
  const synced = new Promise((resolve) => h.runtime.events.on('mcp:synced', resolve))
  await inBlue('POST', '/v1/apply', { body: set, headers: YAML })
  await synced
  const doors = DOOR_PERMISSIONS.map((one) => `'${one}'`).join(', ')
  const everything = manifest('AgentRole', 'everything', `{permissions: [${doors}, 'tool:*:invoke']}`)
  const applied = await h.request('POST', '/v1/apply?namespace=red', { body: everything, headers: YAML })
  assert.equal(applied.status, 200, applied.text)

  const agent = await issue('blue', { actor: OWNED.actor, roles: [OWNED.role] })
  const own = (method: string, path: string, body: object) =>
    h.request(method, path, { body, token: agent.token })
  const call = await h.call(OWNED.tool, { text: 'indigo-input' }, { token: agent.token })
  assert.equal(call.status, 200, call.text)
  const asked = await h.call('indigo-pay', { amount: 5, note: 'indigo-input' }, { token: agent.token })
  assert.equal(asked.status, 202, asked.text)
  assert.equal((await own('POST', '/v1/sagas', { id: OWNED.saga })).status, 201)
  const grant = await inBlue('POST', '/v1/grants', { body: { tool: 'indigo-pay', ttl: '1h', max_uses: 1 } })
  await inBlue('POST', '/v1/freezes', { body: { what: 'tool', name: OWNED.frozen, reason: 'indigo-reason' } })
  return {
    things: {
      ...OWNED,
      call: String(call.headers['writ-call-id']),
      waiting: String(asked.headers['writ-call-id']),
      approval: asked.body.error.details.approval_id,
      grant: grant.body.id,
      tokenId: agent.id,
    },
    tokens: {
      red: (await issue('red', { actor: 'red-lead', kind: 'person', roles: ['everything'] })).token,
      bare: (await issue('blue', { actor: 'bare', kind: 'person' })).token,
      agent: agent.token,
    },
  }
}

const LISTS = [
  'calls',
  'entries?state=awaiting-approval',
  'sagas',
  'tools',
  'agent-roles',
  'tool-permissions',
  'agent-policies',
  'secrets',
  'mcp-servers',
  'approvals',
  'grants',
  'freezes',
]

async function lookAt(h: Harness): Promise<string> {
  const seen: string[] = []
  for (const list of LISTS) {
    const reply = await h.request('GET', `/v1/${list}`, { headers: { 'writ-namespace': 'blue' } })
    assert.equal(reply.status, 200, reply.text)
    seen.push(reply.text)
  }
  let records = 0
  for await (const piece of h.runtime.audit.export())
    records += piece.split('\n').filter((line) => line.includes('"namespace":"blue"')).length
  assert.ok(records > 0, 'the export has records of blue')
  return [...seen, `${records} records`].join('\n')
}
