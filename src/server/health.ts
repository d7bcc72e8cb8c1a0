// Whether the server lives, whether it takes work, and what it has measured.
import type { FastifyRequest } from 'fastify'
import type { RuntimeHealth } from '../runtime-api.ts'
import type { Edge, Route } from './edge.ts'
import { json, REFUSALS, ref } from './openapi-parts.ts'
import { sendJson } from './reply.ts'

export function healthRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      access: 'anyone',
      whileDraining: true,
      async handle({ reply }) {
        sendJson(reply, 200, { status: 'ok' })
      },
      doc: {
        operationId: 'live',
        summary: 'Whether the process answers at all',
        tags: ['operation'],
        responses: { 200: { description: 'It does.', ...json({ type: 'object' }) } },
      },
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'anyone',
      whileDraining: true,
      async handle({ request, reply }) {
        const { ready, checks: all } = await healthOf(edge)
        const checks = isLocal(request) ? all : withoutPlaces(all)
        const reasons = Object.entries(checks)
          .filter(([, check]) => !check.ok)
          .map(([name, check]) => `${name}: ${check.detail}`)
        if (edge.draining()) reasons.unshift('server: shutting down')
        const takesWork = ready && !edge.draining()
        sendJson(reply, takesWork ? 200 : 503, { ready: takesWork, reasons, checks })
      },
      doc: {
        operationId: 'ready',
        summary: 'Whether calls are taken',
        description:
          'Why they are not is said whole on the machine itself; elsewhere it names no hosts and no files.',
        tags: ['operation'],
        responses: {
          200: { description: 'They are.', ...json(ref('readiness')) },
          503: { description: 'They are not; `reasons` says why.', ...json(ref('readiness')) },
        },
      },
    },
    {
      method: 'GET',
      path: '/metrics',
      access: 'local',
      whileDraining: true,
      async handle({ reply }) {
        reply.header('content-type', edge.metrics.contentType).send(await edge.metrics.render())
      },
      doc: {
        operationId: 'metrics',
        summary: 'What was measured, as Prometheus text',
        description: 'Needs no token on the machine itself; from anywhere else it does.',
        tags: ['operation'],
        responses: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
          ...REFUSALS,
        },
      },
    },
  ]
}

/** What a store or an anchor says of its trouble may name hosts and files: whoever needs no token is not told those. */
function withoutPlaces(checks: RuntimeHealth['checks']): RuntimeHealth['checks'] {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [
      name,
      check.ok || !NAMES_PLACES.includes(name) ? check : { ok: false, detail: 'failed; see the log' },
    ]),
  )
}

const NAMES_PLACES: readonly string[] = ['store', 'audit']

/** A runtime that cannot say how it is, is not ready; that is an answer, too. */
export async function healthOf({
  runtime,
  logger,
}: Pick<Edge, 'runtime' | 'logger'>): Promise<Pick<RuntimeHealth, 'ready' | 'checks'>> {
  try {
    return await runtime.health()
  } catch (error) {
    logger?.error({ err: error }, 'the runtime cannot say how it is')
    return { ready: false, checks: { runtime: { ok: false, detail: 'does not answer; see the log' } } }
  }
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i

/**
 * From this very machine, and not through a proxy or a web page on it: a proxy names whom it stands for, and a page that
 * rebinds its own name to this address still sends that name as Host.
 */
export function isLocal(request: FastifyRequest): boolean {
  const { headers, raw } = request
  if (headers.forwarded !== undefined || headers.via !== undefined) return false
  if (headers['x-forwarded-for'] !== undefined || headers['x-real-ip'] !== undefined) return false
  return LOOPBACK.test(raw.socket.remoteAddress ?? '') && LOOPBACK_HOST.test(headers.host ?? '')
}
