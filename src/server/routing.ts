// Puts the routes behind the edge: draining, authentication, and an answer for every method of every path.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Authenticate } from '../identity/authenticate.ts'
import { authenticateRequest, requireAdmin, requirePermission, requireThawed } from './auth.ts'
import type { Edge, Exchange, Route } from './edge.ts'
import { isLocal } from './health.ts'
import { Refusal } from './refusal.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
/** While a server drains, its callers are told to come back: by then another one listens. */
const RETRY_AFTER_MS = 1000

export function registerRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  edge: Edge,
  authenticate: Authenticate,
): void {
  for (const route of routes) {
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      // HEAD comes with every GET.
      exposeHeadRoute: true,
      async handler(request, reply) {
        if (edge.draining() && !route.whileDraining) throw shuttingDown()
        const params = request.params as Readonly<Record<string, string>>
        await run(route, { request, reply, params }, edge, authenticate)
        return reply
      },
    })
  }
  for (const [path, methods] of methodsByPath(routes)) {
    const allow = methods.join(', ')
    app.route({
      method: METHODS.filter((method) => !methods.includes(method)),
      url: fastifyPath(path),
      async handler(request, reply) {
        if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
        throw methodNotAllowed(request.method, path, allow)
      },
    })
    // No CORS headers on purpose: pages of other origins are not callers.
    app.options(fastifyPath(path), async (_request, reply) => reply.code(204).header('allow', allow).send())
  }
}

async function run(route: Route, exchange: Exchange, edge: Edge, authenticate: Authenticate): Promise<void> {
  if (route.access === 'anyone') return route.handle(exchange)
  const asks = () => authenticateRequest(exchange.request, authenticate, edge.metrics)
  if (route.access === 'local') {
    if (!isLocal(exchange.request)) requireAdmin(await asks())
    return route.handle(exchange)
  }
  const caller = await asks()
  if (route.access !== 'caller' && route.method !== 'GET') requireThawed(caller, edge.runtime)
  if (route.access === 'admin') requireAdmin(caller)
  else if (route.access !== 'caller') requirePermission(caller, route.access, edge.holds)
  return route.handle({ ...exchange, caller })
}

function methodsByPath(routes: readonly Route[]): Map<string, readonly string[]> {
  const byPath = new Map<string, string[]>()
  for (const { path, method } of routes) {
    const methods = byPath.get(path) ?? ['OPTIONS']
    methods.push(...(method === 'GET' ? ['GET', 'HEAD'] : [method]))
    byPath.set(path, methods)
  }
  return byPath
}

/** `{id}` in OpenAPI is `:id` here. */
function fastifyPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

export function shuttingDown(): Refusal {
  return new Refusal({
    failure: 'tool-unhealthy',
    message: 'The server is shutting down and takes no new work. Nothing was run.',
    fix: 'Send it again in a moment, to this server or another one.',
    details: { retry_after_ms: RETRY_AFTER_MS },
  })
}

function methodNotAllowed(method: string, path: string, allow: string): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 405,
    message: `${path} has no ${method}.`,
    fix: `Use one of ${allow}.`,
    headers: { allow },
    details: { violations: [{ path: '/method', message: `is none of ${allow}` }] },
  })
}

export function routeUnknown(request: FastifyRequest): Refusal {
  const path = (request.raw.url ?? '').split('?', 1)[0]?.slice(0, 128) ?? ''
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: `There is no route ${request.method} ${path}.`,
    fix: 'GET /openapi.json lists every route.',
    details: { violations: [{ path: '/path', message: 'is no route of this server' }] },
  })
}

export function hostMissing(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 400,
    message: 'The request has no Host header.',
    fix: 'HTTP/1.1 demands one: send the address of this server.',
    details: { violations: [{ path: '/headers/host', message: 'is missing' }] },
  })
}
