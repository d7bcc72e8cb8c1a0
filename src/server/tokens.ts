// Writ's own tokens over HTTP: issue, revoke, and a new key to sign with.
import Type from 'typebox'
import { ACTOR_KINDS } from '../contract/caller.ts'
import { defined } from '../contract/dialect/decoding.ts'
import { isActor, isAgentPattern, isRole, isScope, MAX_LISTED } from '../identity/caller-name.ts'
import { KeysUnwritable } from '../identity/key-file.ts'
import type { IssuedToken, TokenDoor } from '../identity/token-door.ts'
import { TTL_DEFAULT_MS, TTL_MAX_MS, TTL_MIN_MS } from '../identity/token-time.ts'
import { checkPermission, doubtfulScope, normalPermission } from '../resource/permission.ts'
import { createFindings } from '../resource/problem.ts'
import { parseDuration } from '../util/duration.ts'
import type { JsonObject, Violation } from '../util/json.ts'
import type { Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery, refuseQuery } from './query.ts'
import { REASON, reasonViolations } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

const TEXT = Type.String({ minLength: 1, maxLength: 256 })
const LIST = Type.Array(TEXT, { maxItems: MAX_LISTED })

const TokenSchema = Type.Object(
  {
    actor: Type.String({ minLength: 1, maxLength: 256, description: 'Whom the token stands for.' }),
    kind: Type.Optional(Type.Enum(ACTOR_KINDS, { default: 'agent' })),
    roles: Type.Optional(Type.Array(TEXT, { maxItems: MAX_LISTED, description: 'Names of AgentRoles.' })),
    scopes: Type.Optional(
      Type.Array(TEXT, { maxItems: MAX_LISTED, description: 'Permissions that it is narrowed to.' }),
    ),
    agents: Type.Optional({
      ...LIST,
      description: 'Agents that it may speak for; `*` at the end is any rest.',
    }),
    system: Type.Optional(TEXT),
    ttl: Type.Optional(
      Type.String({ maxLength: 64, default: '1h', description: 'How long it lives: 1m to 720h.' }),
    ),
    audience: Type.Optional({ ...TEXT, description: 'For another server than this one.' }),
  },
  { additionalProperties: false },
)

const RevokeSchema = Type.Object({ actor: TEXT, reason: REASON }, { additionalProperties: false })

export function tokenRoutes(edge: Edge): readonly Route[] {
  const issueBody = jsonBody(edge, TokenSchema, (body) => [
    ...unfit('/actor', [body.actor], isActor, 'is no name without spaces, or a reserved one'),
    ...unfit('/system', defined1(body.system), isActor, 'is no name without spaces'),
    ...unfit('/roles', body.roles ?? [], isRole, 'is no name of a role'),
    ...scopeViolations(body.scopes ?? []),
    ...unfit('/agents', body.agents ?? [], isAgentPattern, 'is no name, nor the beginning of one and *'),
    ...ttlViolations(body.ttl),
  ])
  const revokeBody = jsonBody(edge, RevokeSchema, ({ actor, reason }) => [
    ...unfit('/actor', [actor], isActor, 'is no name without spaces, or a reserved one'),
    ...reasonViolations(reason),
  ])

  return [
    {
      method: 'POST',
      path: '/v1/tokens',
      access: 'token:write',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const { ttl, kind = 'agent', roles = [], scopes, ...asked } = await issueBody.read(request)
        const ttlMs = ttl === undefined ? TTL_DEFAULT_MS : (parseDuration(ttl) ?? TTL_DEFAULT_MS)
        const result = await door(edge).issue(caller, {
          ...defined(asked),
          ...(scopes === undefined ? {} : { scopes: scopes.map(normalPermission) }),
          actor: asked.actor,
          kind,
          roles,
          ttlMs,
        })
        if (result.kind === 'denied') {
          throw new Refusal({
            failure: 'permission-denied',
            message: `The token was not issued: ${result.why}.`,
            fix: 'Ask for less, or have the admin issue it. A role that does not exist is declared with writ apply, as an AgentRole of this namespace.',
            details: { missing: result.missing },
          })
        }
        sendJson(
          reply,
          201,
          encodeToken(
            result.issued,
            scopes?.flatMap((one) => doubtfulScope(one) ?? []),
          ),
        )
      },
      doc: {
        operationId: 'issueToken',
        summary: 'Issue a token',
        description:
          'In the namespace of the one who asks. It never holds more than its issuer. Needs `token:write`. The token is shown once, here.',
        tags: ['identity'],
        requestBody: issueBody.doc,
        responses: { 201: { description: 'Issued.', ...json(ref('token')) }, ...REFUSALS },
      },
    },
    {
      method: 'DELETE',
      path: '/v1/tokens/{id}',
      access: 'token:write',
      whileDraining: true,
      async handle({ request, reply, caller, params }) {
        const { reason = 'revoked by its id' } = readQuery(request.query, ['reason'])
        const broken = [...reasonViolations(reason), ...(reason.length > 1000 ? [TOO_LONG] : [])]
        if (broken.length > 0) throw refuseQuery(broken.map((one) => ({ ...one, path: '/query/reason' })))
        const id = params.id ?? ''
        // The admin token has the form of an id: whoever takes it for one must not have it written down.
        const isItsOwn = request.headers.authorization?.trimEnd().endsWith(` ${id}`) === true
        if (isItsOwn || !/^[\w-]{1,128}$/.test(id)) throw notAnId()
        sendJson(reply, 200, encodeStop(await door(edge).revoke(caller, { id }, reason)))
      },
      doc: {
        operationId: 'revokeToken',
        summary: 'Revoke one token',
        description:
          'From then on it is refused, on every replica within a second, and no write of its calls is begun. Needs `token:write`.',
        tags: ['identity'],
        parameters: [
          parameter('path', 'id', 'The id of the token: `jti`, or what whoami shows.'),
          parameter('query', 'reason', 'Why; it is kept in evidence.'),
        ],
        responses: { 200: { description: 'Revoked.', ...json(ref('revocation')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/tokens/revoke',
      access: 'token:write',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const { actor, reason } = await revokeBody.read(request)
        sendJson(reply, 200, encodeStop(await door(edge).revoke(caller, { actor }, reason)))
      },
      doc: {
        operationId: 'revokeTokens',
        summary: 'Revoke every token of an actor',
        description: 'All that were issued until now, whoever issued them. Needs `token:write`.',
        tags: ['identity'],
        requestBody: revokeBody.doc,
        responses: { 200: { description: 'Revoked.', ...json(ref('revocation')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/tokens/rotate',
      access: 'admin',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const { keyId, dropped } = await rotated(door(edge), caller)
        sendJson(reply, 200, { key_id: keyId, dropped })
      },
      doc: {
        operationId: 'rotateTokenKey',
        summary: 'Sign tokens with a new key from now on',
        description:
          'Tokens that the old keys signed stay valid until they expire; then these are dropped. For the admin.',
        tags: ['identity'],
        responses: { 200: { description: 'Rotated.', ...json(ref('token-key')) }, ...REFUSALS },
      },
    },
  ]
}

async function rotated(tokens: TokenDoor, caller: Parameters<TokenDoor['rotate']>[0]) {
  try {
    return await tokens.rotate(caller)
  } catch (error) {
    if (!(error instanceof KeysUnwritable)) throw error
    throw new Refusal({
      failure: 'envelope-invalid',
      status: 409,
      message: 'The file of the token keys cannot be changed by this server.',
      fix: "Change it where it is kept, with 'writ token rotate --file FILE'.",
      details: { violations: [{ path: '/path', message: 'cannot be done here' }] },
    })
  }
}

function door({ tokens }: Edge): TokenDoor {
  if (tokens !== undefined) return tokens
  throw new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'This server issues no tokens.',
    fix: 'Ask the issuer that it takes tokens from.',
    details: { violations: [{ path: '/path', message: 'has nothing to do here' }] },
  })
}

const TOO_LONG: Violation = { path: '/reason', message: 'must have at most 1000 characters' }

function notAnId(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    message: 'The path does not name a token.',
    fix: 'Use the id of the token, never the token itself: it is its jti, and whoami shows it.',
    details: { violations: [{ path: '/path', message: 'has no id of a token' }] },
  })
}

function defined1(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value]
}

function unfit(
  path: string,
  values: readonly string[],
  fits: (text: string) => boolean,
  message: string,
): readonly Violation[] {
  const bad = values.findIndex((value) => !fits(value))
  if (bad < 0) return []
  return [{ path: path === '/actor' || path === '/system' ? path : `${path}/${bad}`, message }]
}

/** As a role would be refused that has such a permission. */
function scopeViolations(scopes: readonly string[]): readonly Violation[] {
  const unreadable = unfit(
    '/scopes',
    scopes,
    isScope,
    'is no permission: write it such as tool:weather:invoke',
  )
  if (unreadable.length > 0) return unreadable
  return scopes.flatMap((scope, index) => {
    const findings = createFindings()
    checkPermission(findings, scope, [])
    return findings.all
      .filter(({ severity }) => severity === 'error')
      .map(({ message, fix }) => ({ path: `/scopes/${index}`, message: `${message}: ${fix}` }))
  })
}

function ttlViolations(ttl: string | undefined): readonly Violation[] {
  const ms = ttl === undefined ? TTL_DEFAULT_MS : parseDuration(ttl)
  if (ms !== undefined && ms >= TTL_MIN_MS && ms <= TTL_MAX_MS) return []
  return [{ path: '/ttl', message: 'must be a duration from 1m to 720h (30 days), such as 1h' }]
}

function encodeToken(issued: IssuedToken, warnings: readonly string[] = []): JsonObject {
  const { token, id, actor, namespace, kind, roles, scopes, agents, system, audience } = issued
  return {
    token,
    id,
    actor,
    namespace,
    kind,
    roles,
    ...(scopes === undefined ? {} : { scopes }),
    ...(agents === undefined ? {} : { agents }),
    ...(system === undefined ? {} : { system }),
    audience,
    issued_at: new Date(issued.issuedAt).toISOString(),
    expires_at: new Date(issued.expiresAt).toISOString(),
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}

function encodeStop({ stop, until }: { readonly stop: string; readonly until: number }): JsonObject {
  return { revoked: stop, until: new Date(until).toISOString() }
}
