// A request for every route, about given things. A route that is missing here fails the walk.
import { manifest, type Things } from './two-houses.ts'

export interface Ask {
  readonly path: string
  readonly body?: string | object
  readonly headers?: Readonly<Record<string, string>>
}

export type AskAbout = (things: Things) => Ask

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const YAML = { 'content-type': 'application/yaml' }
const REASON = { reason: 'because' }
/** Forged: only the holder of a signed one is let in, whatever the namespace. */
const LINK = '/v1/approval-links/forged.token'

const KINDS: readonly (readonly [
  plural: string,
  kind: string,
  name: (things: Things) => string,
  spec: (things: Things) => string,
])[] = [
  [
    'tools',
    'Tool',
    ({ frozen }) => frozen,
    () => "{endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}",
  ],
  ['agent-roles', 'AgentRole', ({ role }) => role, () => "{permissions: ['tool:a:invoke']}"],
  [
    'tool-permissions',
    'ToolPermission',
    ({ permission }) => permission,
    () => '{tool_ref: any-tool, required_permissions: [x]}',
  ],
  [
    'agent-policies',
    'AgentPolicy',
    ({ policy }) => policy,
    () => '{target_agents: [nobody], blocked_tools: [any-tool]}',
  ],
  ['secrets', 'Secret', ({ secret }) => secret, () => '{stringData: {value: walked-value}}'],
  ['mcp-servers', 'McpServer', ({ server }) => server, () => '{transport: stdio, image: walked-image}'],
]

const at =
  (path: (things: Things) => string, body?: (things: Things) => object): AskAbout =>
  (things) => ({ path: path(things), ...(body === undefined ? {} : { body: body(things) }) })
const plain = (path: string): AskAbout => at(() => path)

function kindAsks(): [string, AskAbout][] {
  return KINDS.flatMap(([plural, kind, name, spec]): [string, AskAbout][] => {
    const document = (things: Things) => manifest(kind, name(things), spec(things))
    const one = (things: Things) => `/v1/${plural}/${name(things)}`
    return [
      [`GET /v1/${plural}`, plain(`/v1/${plural}`)],
      [`GET /v1/${plural}/{name}`, at(one)],
      [
        `PUT /v1/${plural}/{name}`,
        (things) => ({ path: one(things), body: document(things), headers: { ...YAML, 'if-match': '*' } }),
      ],
      [`DELETE /v1/${plural}/{name}`, (things) => ({ path: one(things), headers: { 'if-match': '*' } })],
      [`POST /v1/${plural}`, (things) => ({ path: `/v1/${plural}`, body: document(things), headers: YAML })],
    ]
  })
}

let asked = 0
const callOf = ({ tool, saga }: Things) => ({
  request_id: `walk-${++asked}`,
  tool: { name: tool },
  input: {},
  saga,
})

/** By method and path as OpenAPI writes them. What makes something is last: what it makes is there afterwards. */
export const ASKS: ReadonlyMap<string, AskAbout> = new Map<string, AskAbout>([
  ['GET /v1/calls', plain('/v1/calls')],
  ['GET /v1/calls/{id}', at(({ call }) => `/v1/calls/${call}`)],
  [
    'POST /v1/calls/{id}/commit',
    at(
      ({ call }) => `/v1/calls/${call}/commit`,
      () => ({ commit_token: 'x' }),
    ),
  ],
  ['POST /v1/calls/{id}/rollback', at(({ call }) => `/v1/calls/${call}/rollback`)],
  [
    'POST /v1/calls/{id}/settle',
    at(
      ({ call }) => `/v1/calls/${call}/settle`,
      () => ({ as: 'done', ...REASON }),
    ),
  ],
  ['POST /v1/calls/{id}/compensate', at(({ call }) => `/v1/calls/${call}/compensate`)],
  ['GET /v1/entries', plain('/v1/entries?state=awaiting-approval')],
  ['GET /v1/sagas', plain('/v1/sagas')],
  ['GET /v1/sagas/{id}', at(({ saga }) => `/v1/sagas/${saga}`)],
  [
    'POST /v1/tools/{name}/verify',
    at(
      ({ tool }) => `/v1/tools/${tool}/verify`,
      () => ({ input: {} }),
    ),
  ],
  ['GET /v1/tools/{name}/definition', at(({ tool }) => `/v1/tools/${tool}/definition`)],
  [
    'POST /v1/tools/{name}/accept',
    at(
      ({ tool }) => `/v1/tools/${tool}/accept`,
      () => ({ digest: 'sha256:walked' }),
    ),
  ],
  ['POST /v1/explain', at(() => '/v1/explain', callOf)],
  ['POST /v1/calls', at(() => '/v1/calls', callOf)],
  ['GET /v1/approvals', plain('/v1/approvals')],
  ['GET /v1/approvals/{id}', at(({ approval }) => `/v1/approvals/${approval}`)],
  [
    'POST /v1/approvals/{id}/approve',
    at(
      ({ approval }) => `/v1/approvals/${approval}/approve`,
      () => ({}),
    ),
  ],
  [
    'POST /v1/approvals/{id}/deny',
    at(
      ({ approval }) => `/v1/approvals/${approval}/deny`,
      () => REASON,
    ),
  ],
  [
    'POST /v1/approvals/{id}/delegate',
    at(
      ({ approval }) => `/v1/approvals/${approval}/delegate`,
      () => ({ to: 'zoe' }),
    ),
  ],
  [
    'POST /v1/approvals/{id}/override',
    at(
      ({ approval }) => `/v1/approvals/${approval}/override`,
      () => REASON,
    ),
  ],
  ['GET /v1/tool-approvals', plain('/v1/tool-approvals')],
  ['GET /v1/tool-approvals/{name}', at(({ approval }) => `/v1/tool-approvals/${approval}`)],
  [
    'POST /v1/tool-approvals/{name}/approve',
    at(
      ({ approval }) => `/v1/tool-approvals/${approval}/approve`,
      () => ({}),
    ),
  ],
  [
    'POST /v1/tool-approvals/{name}/deny',
    at(
      ({ approval }) => `/v1/tool-approvals/${approval}/deny`,
      () => REASON,
    ),
  ],
  ['GET /v1/grants', plain('/v1/grants')],
  [
    'POST /v1/grants',
    at(
      () => '/v1/grants',
      ({ tool }) => ({ tool, ttl: '1h' }),
    ),
  ],
  ['DELETE /v1/grants/{id}', at(({ grant }) => `/v1/grants/${grant}`)],
  ['GET /v1/freezes', plain('/v1/freezes')],
  ['DELETE /v1/freezes/{what}', plain('/v1/freezes/namespace?reason=because')],
  ['DELETE /v1/freezes/{what}/{name}', at(({ frozen }) => `/v1/freezes/tool/${frozen}?reason=because`)],
  ['GET /v1/approval-links/{token}', plain(LINK)],
  ['POST /v1/approval-links/{token}', () => ({ path: LINK, body: 'decision=approve', headers: FORM })],
  [
    'POST /v1/callbacks/{id}',
    at(
      ({ call }) => `/v1/callbacks/${call}`,
      () => ({ request_id: 'any', status: 'ok', output: 'forged' }),
    ),
  ],
  ['GET /v1/audit/head', plain('/v1/audit/head')],
  ['GET /v1/audit/export', plain('/v1/audit/export')],
  ['POST /v1/tokens/rotate', plain('/v1/tokens/rotate')],
  ['POST /v1/secrets/rotate-key', plain('/v1/secrets/rotate-key')],
  ['GET /v1/whoami', plain('/v1/whoami')],
  ['GET /healthz', plain('/healthz')],
  ['GET /readyz', plain('/readyz')],
  ['GET /metrics', plain('/metrics')],
  ['GET /openapi.json', plain('/openapi.json')],
  ['POST /v1/calls/{id}/cancel', at(({ waiting }) => `/v1/calls/${waiting}/cancel`)],
  ['POST /v1/sagas/{id}/complete', at(({ saga }) => `/v1/sagas/${saga}/complete`)],
  [
    'POST /v1/sagas/{id}/abort',
    at(
      ({ saga }) => `/v1/sagas/${saga}/abort`,
      () => ({}),
    ),
  ],
  ...kindAsks(),
  [
    'POST /v1/sagas',
    at(
      () => '/v1/sagas',
      ({ saga }) => ({ id: saga }),
    ),
  ],
  [
    'POST /v1/apply',
    ({ frozen }) => ({
      path: '/v1/apply?dry_run=true',
      body: manifest('Tool', frozen, "{endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}"),
      headers: YAML,
    }),
  ],
  [
    'POST /v1/tokens',
    at(
      () => '/v1/tokens',
      ({ role }) => ({ actor: 'deputy', roles: [role] }),
    ),
  ],
  ['DELETE /v1/tokens/{id}', at(({ tokenId }) => `/v1/tokens/${tokenId}`)],
  [
    'POST /v1/tokens/revoke',
    at(
      () => '/v1/tokens/revoke',
      ({ actor }) => ({ actor, ...REASON }),
    ),
  ],
  [
    'POST /v1/freezes',
    at(
      () => '/v1/freezes',
      ({ tool }) => ({ what: 'tool', name: tool, ...REASON }),
    ),
  ],
])
