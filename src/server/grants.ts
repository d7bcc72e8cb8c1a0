// Grants over HTTP: bounded classes of calls that somebody agrees to beforehand.
import Type from 'typebox'
import { isActor } from '../identity/caller-name.ts'
import { comparedWith, isComparable } from '../resource/comparison.ts'
import { isName } from '../resource/name.ts'
import { COMPARISONS } from '../resource/resolved-tool.ts'
import type { GrantView } from '../runtime-api.ts'
import { parseDuration } from '../util/duration.ts'
import type { Json, JsonObject, Violation } from '../util/json.ts'
import { isPointer } from '../util/pointer.ts'
import { isUuid } from '../util/uuid.ts'
import { said } from './approvals.ts'
import type { Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { REASON, readReason } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

const MAX_CONDITIONS = 32
const NAME = Type.String({ minLength: 1, maxLength: 256 })

const GrantSchema = Type.Object(
  {
    tool: Type.String({ ...NAME, description: 'As it is live now: another build is not covered.' }),
    operation: Type.Optional({ ...NAME, description: "One operation. Default: the tool's own." }),
    when: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String({ maxLength: 1024, description: 'A JSON pointer into the input.' }),
            op: Type.Enum(COMPARISONS),
            value: Type.Optional(Type.Unsafe<Json>({})),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_CONDITIONS, description: 'All have to hold; one that cannot be judged does not.' },
      ),
    ),
    caller: Type.Optional({ ...NAME, description: 'Only calls of this actor.' }),
    role: Type.Optional({ ...NAME, description: 'The role whose decision it stands for.' }),
    ttl: Type.String({ maxLength: 64, description: 'How long: 1s to 720h (30 days), such as 1h.' }),
    max_uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    reason: Type.Optional(REASON),
  },
  { additionalProperties: false },
)
type GrantBody = Type.Static<typeof GrantSchema>

export function grantRoutes(edge: Edge): readonly Route[] {
  const body = jsonBody(edge, GrantSchema, violationsOf)
  return [
    {
      method: 'GET',
      path: '/v1/grants',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const grants = await edge.runtime.as(caller).listGrants()
        sendJson(reply, 200, { grants: grants.map(encodeGrant) })
      },
      doc: {
        operationId: 'listGrants',
        summary: 'List the grants that hold now',
        description:
          'Those that the caller made, that are for it alone, or, with `approval:read` or `grant:write`, all.',
        tags: ['approvals'],
        responses: { 200: { description: 'All of them.', ...json(ref('grant-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/grants',
      access: 'caller',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const { ttl, max_uses, operation, when, caller: only, role, reason, tool } = await body.read(request)
        const result = await edge.runtime.as(caller).makeGrant({
          tool,
          ttlMs: parseDuration(ttl) ?? 0,
          ...(operation === undefined ? {} : { operation }),
          ...(when === undefined ? {} : { when }),
          ...(only === undefined ? {} : { caller: only }),
          ...(role === undefined ? {} : { role }),
          ...(max_uses === undefined ? {} : { maxUses: max_uses }),
          ...(reason === undefined ? {} : { reason }),
        })
        if (result.kind === 'not-found') throw grantUnknown()
        if (result.kind === 'refused') sendFailure(edge, request, reply, result.failure)
        else {
          reply.header('location', `/v1/grants/${encodeURIComponent(result.grant.id)}`)
          sendJson(reply, 201, encodeGrant(result.grant))
        }
      },
      doc: {
        operationId: 'makeGrant',
        summary: 'Agree to a class of calls beforehand',
        description:
          'What it covers does not wait. It never covers calls of whoever made it, escalations, undoing, or repeats. Needs `grant:write`.',
        tags: ['approvals'],
        requestBody: body.doc,
        responses: { 201: { description: 'It holds.', ...json(ref('grant')) }, ...REFUSALS },
      },
    },
    {
      method: 'DELETE',
      path: '/v1/grants/{id}',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller, params }) {
        const reason = readReason(readQuery(request.query, ['reason']).reason)
        const id = params.id ?? ''
        if (!isUuid(id)) throw grantUnknown()
        const result = await edge.runtime.as(caller).endGrant(id, reason === undefined ? {} : { reason })
        if (result.kind === 'not-found') throw grantUnknown()
        if (result.kind === 'refused') sendFailure(edge, request, reply, result.failure)
        else sendJson(reply, 200, encodeGrant(result.grant))
      },
      doc: {
        operationId: 'endGrant',
        summary: 'Take a grant back',
        description: 'For whoever made it, and for holders of `grant:write`.',
        tags: ['approvals'],
        parameters: [
          parameter('path', 'id', 'The id of the grant.'),
          parameter('query', 'reason', 'Why; it is kept in evidence.'),
        ],
        responses: { 200: { description: 'As it was.', ...json(ref('grant')) }, ...REFUSALS },
      },
    },
  ]
}

function violationsOf({
  tool,
  operation,
  when = [],
  caller,
  role,
  ttl,
  reason,
}: GrantBody): readonly Violation[] {
  const ms = parseDuration(ttl)
  const names = Object.entries({ tool, operation, role }).flatMap(([field, name]) =>
    name === undefined || isName(name) ? [] : [{ path: `/${field}`, message: 'is no valid name' }],
  )
  return [
    ...names,
    ...(caller === undefined || isActor(caller)
      ? []
      : [{ path: '/caller', message: 'is no name of an actor' }]),
    ...when.flatMap(({ field, op, value }, at) => [
      ...(field !== '' && isPointer(field)
        ? []
        : [{ path: `/when/${at}/field`, message: 'must be a JSON pointer such as /order/amount' }]),
      ...(isComparable(op, value)
        ? []
        : [{ path: `/when/${at}/value`, message: `does not fit op ${op}: ${comparedWith(op)}` }]),
    ]),
    ...(ms === undefined ? [{ path: '/ttl', message: 'must be a duration such as 1h' }] : []),
    ...(reason === undefined ? [] : said('/reason', reason)),
  ]
}

function grantUnknown(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'No such grant in this namespace, or it is over.',
    fix: 'Check the id and the namespace; GET /v1/grants lists them.',
    details: { violations: [{ path: '/path/id', message: 'is no grant that holds' }] },
  })
}

function encodeGrant(grant: GrantView): JsonObject {
  const { id, namespace, tool, digest, operation, when, caller, role, by, maxUses, uses, reason } = grant
  return {
    id,
    namespace,
    tool: { name: tool, digest, operation },
    when: when.map(({ field, op, value }) => ({ field, op, ...(value === undefined ? {} : { value }) })),
    ...(caller === undefined ? {} : { caller }),
    ...(role === undefined ? {} : { role }),
    by,
    created_at: new Date(grant.createdAt).toISOString(),
    expires_at: new Date(grant.until).toISOString(),
    ...(maxUses === undefined ? {} : { max_uses: maxUses }),
    ...(uses === undefined ? {} : { uses }),
    ...(reason === undefined ? {} : { reason }),
  }
}
