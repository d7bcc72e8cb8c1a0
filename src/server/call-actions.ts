// What can be done about a call that was made: commit, roll back, settle by hand, undo.
import Type from 'typebox'
import { isOutcome } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import { anyJson, oneOf } from '../contract/schema/common.ts'
import type { ActionResult, CallerDoor } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { CallerExchange, Edge, Route, RouteDoc } from './edge.ts'
import { jsonBody } from './json-body.ts'
import { json, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { REASON, reasonViolations } from './reason.ts'
import { sendFailure } from './reply.ts'
import { callIdOf, callUnknown, locationOf, sendRecord } from './shown-call.ts'

/** No token that Writ gives is as long as this. */
const TOKEN_MAX_LENGTH = 4096

const CommitSchema = Type.Object(
  {
    commit_token: Type.String({
      minLength: 1,
      maxLength: TOKEN_MAX_LENGTH,
      description: 'As the answer of the prepared call had it.',
    }),
  },
  { additionalProperties: false },
)

const SettleSchema = Type.Object(
  {
    as: oneOf(
      ['done', 'not-done', 'undone'],
      'Whether the effect happened; or that one which could not be undone was undone by hand.',
    ),
    reason: REASON,
    output: Type.Optional(anyJson('What the call would have returned; only for `done`.')),
  },
  { additionalProperties: false },
)

export function callActionRoutes(edge: Edge): readonly Route[] {
  const commit = jsonBody(edge, CommitSchema)
  const settle = jsonBody(edge, SettleSchema, ({ as, reason, output }) => [
    ...reasonViolations(reason),
    ...(as !== 'done' && output !== undefined
      ? [{ path: '/output', message: 'belongs to an effect that is done' }]
      : []),
  ])

  async function act(
    exchange: CallerExchange,
    ask: (door: CallerDoor, id: string) => Promise<ActionResult>,
    isOver: (record: CallRecord) => boolean = ({ state }) => isOutcome(state),
  ): Promise<void> {
    const { request, reply } = exchange
    const result = await ask(edge.runtime.as(exchange.caller), callIdOf(exchange))
    if (result.kind === 'not-found') throw callUnknown()
    if (result.kind === 'refused') return sendFailure(edge, request, reply, result.failure, result.record)
    const { record } = result
    const over = isOver(record)
    if (!over) reply.header('location', locationOf(record.id, record.namespace))
    sendRecord(reply, over ? 200 : 202, record)
  }

  return [
    action('commit', {
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const { commit_token } = await commit.read(exchange.request)
        await act(exchange, (door, id) => door.commit(id, commit_token))
      },
      doc: {
        operationId: 'commitCall',
        summary: 'Make a prepared effect happen',
        description:
          'Only the caller that prepared it may, with its token, once and in time. A commit whose answer is lost is never sent blindly again.',
        requestBody: commit.doc,
        responses: replies('Committed.', 'It goes on; look at the call again.'),
      },
    }),
    action('rollback', {
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        await act(exchange, (door, id) => door.rollback(id))
      },
      doc: {
        operationId: 'rollbackCall',
        summary: 'Give a prepared effect up',
        responses: replies(
          'Rolled back.',
          'The tool is asked until it acknowledges; look at the call again.',
        ),
      },
    }),
    action('settle', {
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        const { as, reason, output } = await settle.read(exchange.request)
        const verdict = { as, reason, ...(output === undefined ? {} : { output }) }
        await act(exchange, (door, id) => door.settle(id, verdict))
      },
      doc: {
        operationId: 'settleCall',
        summary: 'Say whether an unknown effect happened, or that one was undone by hand',
        description:
          'For the admin, and for callers with `call:settle`. It is kept in evidence, with the reason.',
        requestBody: settle.doc,
        responses: replies('Settled.', 'Settled, and something is left to do; look at the call again.'),
      },
    }),
    action('compensate', {
      async handle(exchange) {
        readQuery(exchange.request.query, [])
        await act(
          exchange,
          (door, id) => door.compensate(id),
          // The call itself has long ended: what goes on is undoing it.
          ({ effect }) => effect === 'compensated',
        )
      },
      doc: {
        operationId: 'compensateCall',
        summary: 'Undo an effect that happened',
        description:
          'With the operation or the tool that the effect declares for it, in the name of the caller.',
        responses: replies('Undone.', 'It is being undone; look at the call again.'),
      },
    }),
  ]
}

type Doc = Omit<RouteDoc, 'tags' | 'parameters'>

function action(
  verb: string,
  route: { readonly handle: (exchange: CallerExchange) => Promise<void>; readonly doc: Doc },
): Route {
  return {
    method: 'POST',
    path: `/v1/calls/{id}/${verb}`,
    access: 'caller',
    whileDraining: false,
    handle: route.handle,
    doc: {
      ...route.doc,
      tags: ['calls'],
      parameters: [parameter('path', 'id', "Writ's own id of the call.", { format: 'uuid' })],
    },
  }
}

function replies(over: string, goesOn: string): JsonObject {
  return {
    200: { description: over, ...json(ref('call')) },
    202: { description: goesOn, ...json(ref('call')) },
    ...REFUSALS,
  }
}
