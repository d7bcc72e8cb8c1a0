// Calls over HTTP: start one, look at it, list them, cancel one.
import type { FastifyReply } from 'fastify'
import { type Answer, OPEN_STATES, OUTCOMES } from '../contract/answer.ts'
import type { CallRecord, DialectName } from '../contract/call.ts'
import { encodeCallResource } from '../contract/dialect/call-resource.ts'
import { encodeAnswer } from '../contract/dialect/encode-answer.ts'
import { httpStatusOf } from '../contract/projection.ts'
import { StoreUnavailable } from '../runtime.ts'
import type { CallerDoor, CallHandle } from '../runtime-api.ts'
import { isUuid } from '../util/uuid.ts'
import { askedNamespace } from './auth.ts'
import { inNamespaceOf, refuseTwoNamespaces } from './call-namespace.ts'
import { httpCall, readCallRequest } from './call-request.ts'
import { decodeCursor, pageOf } from './cursor.ts'
import type { CallerExchange, Edge, Route } from './edge.ts'
import { answers, CALL_REQUEST_BODY, json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { NO_PREFERENCE, type Preference, readPrefer } from './prefer.ts'
import { readCount, readQuery, refuseQuery } from './query.ts'
import { retryAfterOf, sendJson, setCommitBy, setRetryAfter, withFix } from './reply.ts'
import { callIdOf, callUnknown, locationOf, sendRecord } from './shown-call.ts'
import { waitForEnd } from './wait-for-end.ts'

const STATES: readonly string[] = [...OUTCOMES, ...OPEN_STATES]
const PAGE_DEFAULT = 50
const PAGE_MAX = 200
/** Longer than this no proxy keeps a request open; whoever still wants to know asks again. */
const WAIT_MAX_S = 300

export function callRoutes(edge: Edge): readonly Route[] {
  const { runtime } = edge

  async function start({ request, reply, caller }: CallerExchange): Promise<void> {
    const prefer = readPrefer(request.headers.prefer)
    const asked = await readCallRequest(edge, httpCall(edge, request))
    refuseTwoNamespaces(asked.call, askedNamespace(request))
    const door = runtime.as(inNamespaceOf(asked.call, caller))
    const { dialect } = asked.call
    if (!asked.ok) {
      sendAnswer(reply, door, dialect, door.reject(asked.call, asked.failure), asked)
      return
    }
    const handle = door.start(asked.call)
    // A dry run leaves nothing behind that could be found later (S17).
    const { dryRun } = asked.call
    const wanted = dryRun ? NO_PREFERENCE : prefer
    const began = edge.world.clock.monotonic()
    const early = wanted.respondAsync && (await isKept(handle))
    if (!early) listenForHangUp(reply, handle)
    let answer = await handle.answer(early || !wanted.respondAsync ? waitOf(wanted) : {})
    // Nobody can be told to look for it later: what cannot be promised is waited for, as if it had not been asked for.
    if (!early && showsResource(answer, false) && !(await isKept(handle))) answer = await handle.answer()
    if (answer.state === 'awaiting-approval' && !wanted.respondAsync && wanted.waitMs !== undefined) {
      const ms = wanted.waitMs - (edge.world.clock.monotonic() - began)
      answer = await waitForPeople(answer, ms, door, reply)
    }
    const record = showsResource(answer, early) ? await shownCall(door, handle, answer) : undefined
    if (record === undefined) sendAnswer(reply, door, dialect, answer, { onRecord: !dryRun })
    else sendOpen(reply, record, wanted)
  }

  /** Whoever asked to wait waits for people, too; what the call is by then is the answer. */
  async function waitForPeople(
    answer: Answer,
    ms: number,
    door: CallerDoor,
    reply: FastifyReply,
  ): Promise<Answer> {
    const look = () => door.getCall(answer.callId)
    const record = await look()
    if (record === undefined) return answer
    return (await waitForEnd(edge, record, { ms, reply, look })).answer ?? answer
  }

  function sendOpen(reply: FastifyReply, record: CallRecord, prefer: Preference): void {
    reply.header('location', locationOf(record.id, record.namespace))
    reply.header(
      'preference-applied',
      prefer.respondAsync ? 'respond-async' : `wait=${(prefer.waitMs ?? 0) / 1000}`,
    )
    sendRecord(reply, 202, record)
  }

  async function find(exchange: CallerExchange): Promise<CallRecord> {
    const record = await runtime.as(exchange.caller).getCall(callIdOf(exchange))
    if (record === undefined) throw callUnknown()
    return record
  }

  return [
    {
      method: 'POST',
      path: '/v1/calls',
      access: 'caller',
      whileDraining: false,
      handle: start,
      doc: {
        operationId: 'startCall',
        summary: 'Call a tool',
        description:
          'The dialect is recognised from the shape of the body, and the answer comes in the same one. ' +
          'A call that is still running is shown as the Call resource.',
        tags: ['calls'],
        parameters: [
          parameter('header', 'Idempotency-Key', 'The delivery key, where the body has none.'),
          parameter(
            'header',
            'Prefer',
            '`respond-async`: 202 as soon as the call is on record. `wait=N`: at most N seconds, for people who have to decide as well.',
          ),
          parameter(
            'header',
            'Writ-Callback',
            'Address that is told, signed, how a call that had to wait for people ended. Its origin must be allowed.',
          ),
          parameter('header', 'traceparent', 'W3C trace context; joined where the body names no trace.'),
        ],
        requestBody: CALL_REQUEST_BODY,
        responses: {
          200: answers('The answer, in the dialect of the request.'),
          202: {
            description: 'Open: the Call resource, or the envelope of a call that waits for approval.',
            headers: { Location: { description: 'Where the call is shown.', schema: { type: 'string' } } },
            ...json({
              anyOf: [ref('call'), ref('v1-response'), ref('legacy-response'), ref('four-outcome-response')],
            }),
          },
          default: answers('A failure, in the dialect of the request where it could be read, else in v1.'),
        },
      },
    },
    {
      method: 'GET',
      path: '/v1/calls',
      access: 'caller',
      whileDraining: true,
      async handle({ request, reply, caller }) {
        const query = readQuery(request.query, ['state', 'tool', 'request_id', 'actor', 'limit', 'cursor'])
        const limit = readCount('limit', query.limit, PAGE_DEFAULT, PAGE_MAX)
        if (query.state !== undefined && !STATES.includes(query.state)) {
          throw refuseQuery([{ path: '/query/state', message: `is none of ${STATES.join(', ')}` }])
        }
        const before = query.cursor === undefined ? undefined : decodeCursor('calls', query.cursor, isUuid)
        const { rows, next_cursor } = await pageOf(
          'calls',
          { limit, ...(before === undefined ? {} : { before }) },
          (page) =>
            runtime.as(caller).listCalls({
              ...page,
              ...(query.state === undefined ? {} : { state: query.state }),
              ...(query.tool === undefined ? {} : { tool: query.tool }),
              ...(query.request_id === undefined ? {} : { requestId: query.request_id }),
              ...(query.actor === undefined ? {} : { actor: query.actor }),
            }),
          ({ id }) => id,
        )
        sendJson(reply, 200, { calls: rows.map(encodeCallResource), next_cursor })
      },
      doc: {
        operationId: 'listCalls',
        summary: 'List calls, newest first',
        tags: ['calls'],
        parameters: [
          parameter('query', 'state', 'One outcome or open state.', { enum: STATES }),
          parameter('query', 'tool', 'The name of a tool.'),
          parameter('query', 'request_id', 'The id the caller chose.'),
          parameter('query', 'actor', 'Whom the calls ran for.'),
          parameter('query', 'limit', 'Calls on one page.', {
            type: 'integer',
            minimum: 1,
            maximum: PAGE_MAX,
            default: PAGE_DEFAULT,
          }),
          parameter('query', 'cursor', 'As `next_cursor` of the page before.'),
        ],
        responses: { 200: { description: 'A page.', ...json(ref('call-list')) }, ...REFUSALS },
      },
    },
    {
      method: 'GET',
      path: '/v1/calls/{id}',
      access: 'caller',
      whileDraining: true,
      async handle(exchange) {
        const { request, reply } = exchange
        const query = readQuery(request.query, ['wait'])
        const ms = (query.wait === undefined ? 0 : readCount('wait', query.wait, 0, WAIT_MAX_S)) * 1000
        const record = await find(exchange)
        const look = () => runtime.as(exchange.caller).getCall(record.id)
        sendRecord(reply, 200, ms === 0 ? record : await waitForEnd(edge, record, { ms, reply, look }))
      },
      doc: {
        operationId: 'getCall',
        summary: 'Show a call',
        tags: ['calls'],
        parameters: [
          parameter('path', 'id', "Writ's own id of the call.", { format: 'uuid' }),
          parameter('query', 'wait', 'Seconds to wait for the end of a call that is open.', {
            type: 'integer',
            minimum: 1,
            maximum: WAIT_MAX_S,
          }),
        ],
        responses: { 200: { description: 'The call.', ...json(ref('call')) }, ...REFUSALS },
      },
    },
    {
      method: 'POST',
      path: '/v1/calls/{id}/cancel',
      access: 'caller',
      // A server that drains waits for its calls: whoever can end one must still be able to.
      whileDraining: true,
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const before = await find(exchange)
        const result = await runtime.as(exchange.caller).cancelCall(before.id)
        if (result === 'not-found') throw callUnknown()
        sendRecord(exchange.reply, result === 'canceling' ? 202 : 200, await find(exchange))
      },
      doc: {
        operationId: 'cancelCall',
        summary: 'Cancel a call',
        description:
          'Before a send the call ends as `canceled`. After it, only if the tool confirms or only reads.',
        tags: ['calls'],
        parameters: [parameter('path', 'id', "Writ's own id of the call.", { format: 'uuid' })],
        responses: {
          200: { description: 'The call had already ended.', ...json(ref('call')) },
          202: { description: 'The call is being canceled; look at it again.', ...json(ref('call')) },
          ...REFUSALS,
        },
      },
    },
  ]
}

/** False while the store cannot be reached. The call goes on all the same, and only its answer says whether it was sent. */
async function isKept(handle: CallHandle): Promise<boolean> {
  try {
    await handle.accepted()
    return true
  } catch (error) {
    if (error instanceof StoreUnavailable) return false
    throw error
  }
}

/** The call as a resource; undefined where its answer is there, and the store that has the resource is not. */
async function shownCall(
  door: CallerDoor,
  handle: CallHandle,
  { state }: Answer,
): Promise<CallRecord | undefined> {
  try {
    const record = await door.getCall(handle.id)
    if (record === undefined) throw new Error(`bug: the accepted call ${handle.id} cannot be found`)
    return record
  } catch (error) {
    // What still runs is shown without the store: this one came to no send, and nobody knows what became of its intent.
    if (!(error instanceof StoreUnavailable) || state === 'running') throw error
    return undefined
  }
}

function waitOf(prefer: Preference): { waitMs?: number } {
  if (prefer.respondAsync) return { waitMs: 0 }
  return prefer.waitMs === undefined ? {} : { waitMs: prefer.waitMs }
}

/** S8: what runs is a resource; a failure is always told in the dialect, also to a caller that wanted not to wait. */
function showsResource(answer: Answer, respondAsync: boolean): boolean {
  if (answer.failure !== undefined) return false
  return respondAsync || !(answer.final || answer.state === 'prepared')
}

/** A caller that leaves before its answer ends an unshared read-only call, and nothing else (S11). */
function listenForHangUp(reply: FastifyReply, handle: CallHandle): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) handle.hangUp()
  })
}

interface Shown {
  /** False for what leaves nothing to be found by its id. */
  readonly onRecord?: boolean
  readonly status?: number
  readonly fix?: string
}

function sendAnswer(
  reply: FastifyReply,
  door: CallerDoor,
  dialect: DialectName,
  answer: Answer,
  shown: Shown = {},
): void {
  const { onRecord = true } = shown
  if (onRecord) reply.header('writ-call-id', answer.callId)
  if (onRecord && !answer.final) reply.header('location', locationOf(answer.callId, door.caller.namespace))
  if (answer.failure !== undefined) setRetryAfter(reply, retryAfterOf(answer.failure))
  setCommitBy(reply, answer.commitBy)
  sendJson(reply, shown.status ?? httpStatusOf(answer), withFix(encodeAnswer(dialect, answer), shown.fix))
}
