// Sagas over HTTP: several calls that stand or fall together (S29).
import Type from 'typebox'
import { SAGA_STATES, type Saga } from '../contract/saga.ts'
import type { SagaMember, SagaResult } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import type { CallerExchange, Edge, Route } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readCount, readList, readQuery } from './query.ts'
import { REASON, reasonViolations } from './reason.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

/** As every id that a caller may choose, but for one thing: `.` and `..` cannot stand in a path. */
const SAGA_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$'
const SAGA_ID = new RegExp(SAGA_ID_PATTERN)
const PAGE_DEFAULT = 50
const PAGE_MAX = 200

const OpenSchema = Type.Object(
  {
    id: Type.Optional(
      Type.String({ pattern: SAGA_ID_PATTERN, description: 'An id of your own; minted when absent.' }),
    ),
  },
  { additionalProperties: false },
)

const AbortSchema = Type.Object({ reason: Type.Optional(REASON) }, { additionalProperties: false })

const ID_PARAMETER = parameter('path', 'id', 'The id of the saga.')

export function sagaRoutes(edge: Edge): readonly Route[] {
  const { runtime } = edge
  const open = jsonBody(edge, OpenSchema)
  const abort = jsonBody(edge, AbortSchema, ({ reason }) =>
    reason === undefined ? [] : reasonViolations(reason),
  )

  /** 202 while its members are being undone. */
  function sendSaga({ request, reply }: CallerExchange, result: SagaResult, status = 200): void {
    if (result.kind === 'not-found') throw sagaUnknown()
    if (result.kind === 'refused') {
      sendFailure(edge, request, reply, result.failure)
      return
    }
    const { saga } = result
    if (status === 201) reply.header('location', `/v1/sagas/${encodeURIComponent(saga.id)}`)
    sendJson(reply, saga.state === 'aborting' ? 202 : status, {
      ...encodeSaga(saga),
      members: saga.members.map(encodeMember),
    })
  }

  return [
    {
      method: 'POST',
      path: '/v1/sagas',
      access: 'caller',
      whileDraining: false,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const { id } = await open.read(exchange.request)
        const door = runtime.as(exchange.caller)
        // Opening one's own again changes nothing, or lets one go on that was blocked.
        const known = id !== undefined && (await door.getSaga(id)) !== undefined
        sendSaga(exchange, await door.openSaga(id), known ? 200 : 201)
      },
      doc: {
        operationId: 'openSaga',
        summary: 'Open a saga',
        description: 'Calls join it by naming its id in `saga`.',
        tags: ['sagas'],
        requestBody: open.doc,
        responses: {
          200: {
            description: 'It was there and is open, also if it was blocked before.',
            ...json(ref('saga')),
          },
          201: { description: 'Open.', ...json(ref('saga')) },
          ...REFUSALS,
        },
      },
    },
    {
      method: 'GET',
      path: '/v1/sagas',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        const query = readQuery(request.query, ['state', 'limit', 'cursor'])
        const [state] = readList(request.query, 'state', SAGA_STATES) ?? []
        const limit = readCount('limit', query.limit, PAGE_DEFAULT, PAGE_MAX)
        const before =
          query.cursor === undefined
            ? undefined
            : decodeCursor('sagas', query.cursor, (id) => SAGA_ID.test(id))
        const { rows, next_cursor } = await pageOf(
          'sagas',
          { limit, ...(before === undefined ? {} : { before }) },
          (page) => runtime.as(caller).listSagas({ ...page, ...(state === undefined ? {} : { state }) }),
          ({ id }) => id,
        )
        sendJson(reply, 200, { sagas: rows.map(encodeSaga), next_cursor })
      },
      doc: {
        operationId: 'listSagas',
        summary: 'List sagas, the highest id first',
        description: 'Ids that Writ makes sort by time.',
        tags: ['sagas'],
        parameters: [
          parameter('query', 'state', 'One state.', { enum: SAGA_STATES }),
          parameter('query', 'limit', 'Sagas on one page.', {
            type: 'integer',
            minimum: 1,
            maximum: PAGE_MAX,
            default: PAGE_DEFAULT,
          }),
          parameter('query', 'cursor', 'As `next_cursor` of the page before.'),
        ],
        responses: { 200: { description: 'A page.', ...json(ref('saga-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'GET',
      path: '/v1/sagas/{id}',
      access: 'caller',
      whileDraining: true,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const saga = await runtime.as(exchange.caller).getSaga(sagaIdOf(exchange))
        if (saga === undefined) throw sagaUnknown()
        sendJson(exchange.reply, 200, { ...encodeSaga(saga), members: saga.members.map(encodeMember) })
      },
      doc: {
        operationId: 'getSaga',
        summary: 'Show a saga with its members',
        tags: ['sagas'],
        parameters: [ID_PARAMETER],
        responses: { 200: { description: 'The saga.', ...json(ref('saga')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/sagas/{id}/complete',
      access: 'caller',
      whileDraining: false,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const id = sagaIdOf(exchange)
        sendSaga(exchange, await runtime.as(exchange.caller).completeSaga(id))
      },
      doc: {
        operationId: 'completeSaga',
        summary: 'Complete a saga: what its members did stays',
        tags: ['sagas'],
        parameters: [ID_PARAMETER],
        responses: { 200: { description: 'Completed.', ...json(ref('saga')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/sagas/{id}/abort',
      access: 'caller',
      whileDraining: false,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const { caller } = exchange
        const { reason = `asked for by ${caller.actor}` } = await abort.read(exchange.request)
        sendSaga(exchange, await runtime.as(caller).abortSaga(sagaIdOf(exchange), reason))
      },
      doc: {
        operationId: 'abortSaga',
        summary: 'Abort a saga: what its members did is undone, the last one first',
        tags: ['sagas'],
        parameters: [ID_PARAMETER],
        requestBody: abort.doc,
        responses: {
          200: { description: 'Aborted, or blocked until a person decides.', ...json(ref('saga')) },
          202: { description: 'Its members are being undone; look at it again.', ...json(ref('saga')) },
          ...REFUSALS,
        },
      },
    },
  ]
}

/** What can be no id names no saga, and is not asked for. */
function sagaIdOf({ params }: CallerExchange): string {
  const id = params.id ?? ''
  if (!SAGA_ID.test(id)) throw sagaUnknown()
  return id
}

function sagaUnknown(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'No such saga in this namespace that the caller may see.',
    fix: 'Check the id and the namespace; GET /v1/sagas lists them.',
    details: { violations: [{ path: '/path/id', message: 'is no saga that the caller may see' }] },
  })
}

function encodeSaga(saga: Saga): JsonObject {
  return {
    id: saga.id,
    namespace: saga.namespace,
    actor: saga.caller.actor,
    state: saga.state,
    ...(saga.reason === '' ? {} : { reason: saga.reason }),
    created_at: new Date(saga.createdAt).toISOString(),
    ...(saga.endedAt === undefined ? {} : { ended_at: new Date(saga.endedAt).toISOString() }),
  }
}

function encodeMember(member: SagaMember): JsonObject {
  return {
    entry_id: member.entryId,
    call_id: member.callId,
    tool: { name: member.tool, operation: member.operation },
    state: member.state,
    ...(member.compensationCallId === undefined ? {} : { compensation_call_id: member.compensationCallId }),
  }
}
