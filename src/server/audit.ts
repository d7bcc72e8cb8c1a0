// What an auditor takes away (S39). The chains span all namespaces, so this is for the admin of the whole server alone.
import { Readable } from 'node:stream'
import type { Edge, Route } from './edge.ts'
import { json, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

const LINES_TYPE = 'application/x-ndjson; charset=utf-8'

export function auditRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/audit/head',
      access: 'admin',
      whileDraining: false,
      async handle({ request, reply }) {
        readQuery(request.query, [])
        const head = await edge.runtime.audit.head()
        if (head === undefined) throw nothingYet()
        const { number, at, hash, keyId, signature, body, publicKey } = head
        sendJson(reply, 200, {
          kind: 'checkpoint',
          number,
          at,
          hash,
          key_id: keyId,
          signature,
          body,
          public_key: publicKey,
        })
      },
      doc: {
        operationId: 'auditHead',
        summary: 'The signed head of the evidence',
        description:
          'Made now where records came since the last one. Keep it somewhere else: it shows later whether anything is missing.',
        tags: ['audit'],
        responses: {
          200: { description: 'The newest checkpoint.', ...json(ref('audit-head')) },
          ...REFUSALS,
        },
      },
    },
    {
      method: 'GET',
      path: '/v1/audit/export',
      access: 'admin',
      whileDraining: false,
      async handle({ request, reply }) {
        readQuery(request.query, [])
        reply.header('content-type', LINES_TYPE)
        if (request.method === 'HEAD') {
          reply.send()
          return
        }
        reply.send(await streamOf(edge.runtime.audit.export()))
      },
      doc: {
        operationId: 'auditExport',
        summary: 'All evidence as JSON lines',
        description:
          'Chains with their links and records, then checkpoints, then a line that says how many there were. `writ audit verify` reads it without a server.',
        tags: ['audit'],
        responses: {
          200: {
            description: 'One JSON object per line.',
            content: { 'application/x-ndjson': { schema: { type: 'string' } } },
          },
          ...REFUSALS,
        },
      },
    },
  ]
}

/** Waits for the first piece: until then a failure can still be answered as one. Later, the connection is cut. */
async function streamOf(pieces: AsyncIterable<string>): Promise<Readable> {
  const rest = pieces[Symbol.asyncIterator]()
  const first = await rest.next()
  async function* all(): AsyncIterable<string> {
    try {
      for (let next = first; !next.done; next = await rest.next()) yield next.value
    } finally {
      await rest.return?.()
    }
  }
  return Readable.from(all(), { objectMode: false })
}

function nothingYet(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'There is no evidence yet.',
    fix: 'Ask again after the first call.',
    details: { violations: [{ path: '/path', message: 'has nothing to show yet' }] },
  })
}
