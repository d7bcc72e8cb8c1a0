// The kill switch over HTTP: stop a tool, a caller, a namespace or everything, and let it go on (S44).
import Type from 'typebox'
import { FREEZABLE, type FreezeTarget, targetOf } from '../contract/freeze.ts'
import type { Stop } from '../contract/stop.ts'
import { isActor } from '../identity/caller-name.ts'
import { isName } from '../resource/name.ts'
import type { FreezeResult } from '../runtime-api.ts'
import type { JsonObject, Violation } from '../util/json.ts'
import type { CallerExchange, Edge, Route, RouteDoc } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery, refuseQuery } from './query.ts'
import { REASON, readReason, reasonViolations } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

const FreezeSchema = Type.Object(
  {
    what: Type.Enum(FREEZABLE),
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Of the tool or the caller.' }),
    ),
    reason: REASON,
    in_flight: Type.Optional(
      Type.Enum(['finish', 'end'], { default: 'finish', description: 'What becomes of calls under way.' }),
    ),
  },
  { additionalProperties: false },
)

export function freezeRoutes(edge: Edge): readonly Route[] {
  const body = jsonBody(edge, FreezeSchema, ({ what, name, reason }) => [
    ...nameViolations(what, name, '/name'),
    ...reasonViolations(reason),
  ])

  function send({ request, reply }: CallerExchange, result: FreezeResult, status: number): void {
    if (result.kind === 'not-found') throw notFrozen()
    if (result.kind === 'refused') sendFailure(edge, request, reply, result.failure)
    else sendJson(reply, status, encodeFreeze(result.stop))
  }

  async function thaw(exchange: CallerExchange): Promise<void> {
    const { request, params, caller } = exchange
    const reason = readReason(readQuery(request.query, ['reason']).reason)
    if (reason === undefined) throw refuseQuery([{ path: '/query/reason', message: 'is missing: say why' }])
    const target = targetFrom(params.what ?? '', params.name)
    send(exchange, await edge.runtime.as(caller).thaw(target, { reason }), 200)
  }

  const thawDoc = (operationId: string, parameters: readonly JsonObject[]): RouteDoc => ({
    operationId,
    summary: 'Lift a freeze',
    description:
      'What was refused meanwhile is not run by itself. Needs `freeze:write`; for `all`, the admin.',
    tags: ['operation'],
    parameters: [...parameters, parameter('query', 'reason', 'Why; required, and kept in evidence.')],
    responses: { 200: { description: 'As it was.', ...json(ref('freeze')) }, ...REFUSALS },
  })

  return [
    {
      method: 'GET',
      path: '/v1/freezes',
      access: 'freeze:write',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const freezes = edge.runtime.as(caller).listFreezes()
        if ('kind' in freezes) sendFailure(edge, request, reply, freezes.failure)
        else sendJson(reply, 200, { freezes: freezes.map(encodeFreeze) })
      },
      doc: {
        operationId: 'listFreezes',
        summary: 'List what is frozen, in this namespace and everywhere',
        description: 'Needs `freeze:write`.',
        tags: ['operation'],
        responses: { 200: { description: 'All of it.', ...json(ref('freeze-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/freezes',
      access: 'freeze:write',
      // To stop something must work when all else goes down.
      whileDraining: true,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const { what, name, reason, in_flight: inFlight } = await body.read(exchange.request)
        const result = await edge.runtime
          .as(exchange.caller)
          .freeze(targetFrom(what, name), { reason, ...(inFlight === undefined ? {} : { inFlight }) })
        send(exchange, result, 201)
      },
      doc: {
        operationId: 'freeze',
        summary: 'Stop a tool, a caller, a namespace or everything',
        description:
          'No write that is claimed after the answer is sent, on any replica; reads stop within a second. Again for the same: the newer one holds. Needs `freeze:write`; for `all`, the admin.',
        tags: ['operation'],
        requestBody: body.doc,
        responses: { 201: { description: 'Frozen.', ...json(ref('freeze')) }, ...REFUSALS },
      },
    },
    {
      method: 'DELETE',
      path: '/v1/freezes/{what}',
      access: 'freeze:write',
      whileDraining: true,
      handle: thaw,
      doc: thawDoc('thaw', [parameter('path', 'what', 'What was frozen.', { enum: ['namespace', 'all'] })]),
    },
    {
      method: 'DELETE',
      path: '/v1/freezes/{what}/{name}',
      access: 'freeze:write',
      whileDraining: true,
      handle: thaw,
      doc: thawDoc('thawNamed', [
        parameter('path', 'what', 'What was frozen.', { enum: ['tool', 'caller'] }),
        parameter('path', 'name', 'Of the tool or the caller.'),
      ]),
    },
  ]
}

function nameViolations(what: string, name: string | undefined, path: string): readonly Violation[] {
  if (what !== 'tool' && what !== 'caller') {
    return name === undefined ? [] : [{ path, message: `belongs to a tool or a caller, not to ${what}` }]
  }
  if (name === undefined) return [{ path, message: `is missing: name the ${what}` }]
  const fits = what === 'tool' ? isName(name) : isActor(name)
  return fits ? [] : [{ path, message: `is no name of a ${what}` }]
}

/** What is named in a path and can be frozen by nobody is not frozen. */
function targetFrom(what: string, name: string | undefined): FreezeTarget {
  if (nameViolations(what, name, '').length > 0) throw notFrozen()
  if ((what === 'tool' || what === 'caller') && name !== undefined) return { what, name }
  if (what === 'namespace' || what === 'all') return { what }
  throw notFrozen()
}

function notFrozen(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'That is not frozen.',
    fix: "GET /v1/freezes, or 'writ freeze list', lists what is.",
    details: { violations: [{ path: '/path', message: 'names nothing that is frozen' }] },
  })
}

function encodeFreeze(stop: Stop): JsonObject {
  const target = targetOf(stop) ?? { what: 'all' as const }
  return {
    ...target,
    namespace: stop.namespace,
    reason: stop.reason,
    by: stop.by,
    at: new Date(stop.at).toISOString(),
    in_flight: stop.inFlight,
  }
}
