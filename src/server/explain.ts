// What every stage would answer to a call. Nothing is reserved, sent or spent (S17).
import type { Failure } from '../contract/failure.ts'
import { failureRow } from '../contract/failures.ts'
import { fixOf } from '../contract/projection.ts'
import type { JsonObject } from '../util/json.ts'
import { httpCall, readCallRequest } from './call-request.ts'
import type { Edge, Route } from './edge.ts'
import { CALL_REQUEST_BODY, json, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

export function explainRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/explain',
      access: 'caller',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        const asked = await readCallRequest(edge, httpCall(edge, request))
        if (!asked.ok) {
          const { failure, status, fix } = asked
          throw new Refusal({
            failure: failure.id,
            message: failure.message,
            details: failure.details,
            ...(status === undefined ? {} : { status }),
            ...(fix === undefined ? {} : { fix }),
          })
        }
        const explained = await edge.runtime.as(caller).explain(asked.call)
        const { decision, governing, changes, sends, stages, failure } = explained
        sendJson(reply, 200, {
          decision,
          changes,
          ...(governing === undefined ? {} : { governing }),
          ...(sends === undefined ? {} : { sends }),
          stages,
          ...(failure === undefined ? {} : { error: errorOf(failure) }),
        })
      },
      doc: {
        operationId: 'explainCall',
        summary: 'Explain what would happen to a call, and why',
        description:
          'The decision, every rule that matched or was one clause away, and what would have to change. Nothing is reserved, sent or spent.',
        tags: ['calls'],
        requestBody: CALL_REQUEST_BODY,
        responses: { 200: { description: 'Stage by stage.', ...json(ref('explanation')) }, ...REFUSALS },
      },
    },
  ]
}

function errorOf(failure: Failure): JsonObject {
  const { id, message, retryable, details } = failure
  const row = failureRow(id)
  return {
    code: row.v1.code,
    reason: row.v1.reason,
    retryable,
    message,
    details: { ...details, failure: id, dotted_code: row.dotted, fix: fixOf(failure, 'none') },
  }
}
