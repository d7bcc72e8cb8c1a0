// Where tools report the end of long work. Nobody's token is asked for: each report is signed with that of its call.
import type { FastifyRequest } from 'fastify'
import { isNamespace } from '../resource/name.ts'
import { isUuid } from '../util/uuid.ts'
import { readBody } from './body.ts'
import type { Edge, Exchange, Route } from './edge.ts'
import { json, parameter, REFUSALS } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendFailure, sendJson } from './reply.ts'

const ANSWER = {
  type: 'object',
  required: ['accepted'],
  properties: {
    accepted: { type: 'boolean', description: 'Whether this report has changed anything.' },
    reason: { type: 'string', description: 'Why it has not.' },
  },
} as const

export function callbackRoutes(edge: Edge): readonly Route[] {
  async function report({ request, reply, params }: Exchange): Promise<void> {
    const { namespace = 'default' } = readQuery(request.query, ['namespace'])
    const callId = (params.id ?? '').toLowerCase()
    const body = await readBody(request, 'json', edge.bodyLimit)
    // What is no name of a call or a namespace is answered as a wrong signature is.
    if (!isUuid(callId) || !isNamespace(namespace)) throw new Refusal({ failure: 'callback-invalid' })
    const result = await edge.runtime.report({
      namespace,
      callId,
      timestamp: headerOf(request, 'writ-timestamp'),
      signature: headerOf(request, 'writ-signature'),
      body,
    })
    if (result.kind === 'refused') {
      edge.metrics.refused(result.failure.id)
      return sendFailure(edge, request, reply, result.failure)
    }
    if (result.kind === 'noted') return sendJson(reply, 202, { accepted: false, reason: 'it has not ended' })
    if (result.kind === 'ignored') return sendJson(reply, 200, { accepted: false, reason: result.reason })
    sendJson(reply, 200, { accepted: true })
  }

  return [
    {
      method: 'POST',
      path: '/v1/callbacks/{id}',
      access: 'anyone',
      whileDraining: false,
      handle: report,
      doc: {
        operationId: 'reportEnd',
        summary: 'Report the end of long work',
        description:
          'For tools of type webhook-callback: the envelope that ends the request, signed with the token that came ' +
          'with it. The first end counts; a later one is answered, and changes nothing.',
        tags: ['calls'],
        parameters: [
          parameter('path', 'id', "Writ's own id of the call; part of `callback.url`.", { format: 'uuid' }),
          parameter('query', 'namespace', 'The namespace of the call; part of `callback.url`.'),
          parameter('header', 'Writ-Timestamp', 'Seconds since 1970, off by five minutes at most.'),
          parameter(
            'header',
            'Writ-Signature',
            '`v1=` and the HMAC-SHA256, in hexadecimal digits, of the timestamp, a full stop and the body, with ' +
              '`callback.token` as the key.',
          ),
        ],
        requestBody: {
          required: true,
          ...json({ type: 'object', description: 'A response envelope of any of the three dialects.' }),
        },
        responses: {
          200: { description: 'Taken, or of no use any more: `reason` says why.', ...json(ANSWER) },
          202: { description: 'Read. It says that the work has not ended.', ...json(ANSWER) },
          ...REFUSALS,
        },
      },
    },
  ]
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
