// The HTTP server: every route behind the same edge, a drain that lets calls end, and no answer but ours.
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Logger } from 'pino'
import type { Authenticate } from '../identity/authenticate.ts'
import type { TokenDoor } from '../identity/token-door.ts'
import { KINDS } from '../resource/kinds.ts'
import type { Runtime } from '../runtime-api.ts'
import type { World } from '../util/world.ts'
import { applyRoutes } from './apply.ts'
import { type ApprovalLinkPages, approvalLinkRoutes } from './approval-links.ts'
import { approvalRoutes } from './approvals.ts'
import { auditRoutes } from './audit.ts'
import type { Holds } from './auth.ts'
import { CallerGone } from './body.ts'
import { callActionRoutes } from './call-actions.ts'
import { callbackRoutes } from './callbacks.ts'
import { callRoutes } from './calls.ts'
import { answerClientError } from './client-error.ts'
import type { Edge, Route, ServerMetrics } from './edge.ts'
import { entryRoutes } from './entries.ts'
import { explainRoutes } from './explain.ts'
import { freezeRoutes } from './freezes.ts'
import { grantRoutes } from './grants.ts'
import { healthRoutes } from './health.ts'
import { discardRest } from './linger.ts'
import { listen } from './listen.ts'
import { mcpRoutes } from './mcp.ts'
import { openapiRoute } from './openapi.ts'
import { Refusal } from './refusal.ts'
import { SAFE_HEADERS, sendRefusal } from './reply.ts'
import { resourceRoutes } from './resources.ts'
import { hostMissing, registerRoutes, routeUnknown, shuttingDown } from './routing.ts'
import { sagaRoutes } from './sagas.ts'
import { secretRoutes } from './secrets.ts'
import { DEFAULT_BODY_LIMIT, DEFAULT_LIMITS, type ServerLimits } from './server-limits.ts'
import { tokenRoutes } from './tokens.ts'
import { toolApprovalRoutes } from './tool-approvals.ts'
import { refusalOf } from './unexpected.ts'
import { verifyRoutes } from './verify.ts'
import { whoamiRoute } from './whoami.ts'

export interface ServerOptions {
  readonly runtime: Runtime
  readonly authenticate: Authenticate
  /** What a caller holds by now. @default what the runtime says */
  readonly holds?: Holds
  /** Issues and revokes tokens. Without it, those routes say that this server issues none. */
  readonly tokens?: TokenDoor
  readonly world: World
  readonly metrics: ServerMetrics
  readonly logger?: Pick<Logger, 'error' | 'warn'>
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Bytes of a request body. @default 4 MiB */
  readonly bodyLimit?: number
  /** The pages behind links that decide approvals; without it there are none. */
  readonly approvalLinks?: ApprovalLinkPages
  readonly limits?: Partial<ServerLimits>
}

const MAX_HEADER_BYTES = 16 * 1024
const MAX_PARAM_LENGTH = 2048

export interface Server {
  /** Resolves once requests are taken. */
  listen(): Promise<{ readonly url: string }>
  /**
   * Takes no new calls from now on: they are told to come back. Until `ended` resolves, which is when the last call has
   * ended, connections are still taken, so that whoever asks is answered and not cut off. Resolves when every request
   * under way is answered. A peer that never ends its request holds this up: bound the wait, then `close`.
   */
  drain(ended?: Promise<unknown>): Promise<void>
  /** Ends what is left, at once. */
  close(): Promise<void>
}

export async function createServer(options: ServerOptions): Promise<Server> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  let draining = false
  let underWay = 0
  let drained: (() => void) | undefined
  const edge: Edge = {
    runtime: options.runtime,
    world: options.world,
    metrics: options.metrics,
    holds: options.holds ?? ((caller) => options.runtime.held(caller)),
    tokens: options.tokens,
    logger: options.logger,
    bodyLimit: options.bodyLimit ?? DEFAULT_BODY_LIMIT,
    draining: () => draining,
  }

  const app = fastify({
    logger: false,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 5000),
      // Duplicate framing headers and bare line feeds are how requests are smuggled past a proxy.
      insecureHTTPParser: false,
      // Refused below, with a body that says so.
      requireHostHeader: false,
    },
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    return503OnClosing: false,
    // Long enough for the token of a link.
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (error, request, reply) =>
      refuse(request as FastifyRequest, reply as FastifyReply, error),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, options.runtime.mint),
  })
  app.server.maxConnections = limits.maxConnections
  // A body that would be refused is not asked for.
  app.server.on('checkContinue', (request, response) => {
    if (!(Number(request.headers['content-length'] ?? 0) > edge.bodyLimit)) response.writeContinue()
    app.server.emit('request', request, response)
  })
  // An expectation that is not known may be ignored (RFC 9110, 10.1.1); by default it is answered without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // Routes read their bodies themselves, after authentication and with their own limits.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  app.addHook('onRequest', (request, reply, done) => {
    underWay += 1
    reply.raw.once('close', () => {
      underWay -= 1
      if (underWay === 0) drained?.()
    })
    reply.headers(SAFE_HEADERS)
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') done(hostMissing())
    else done()
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (draining) reply.header('connection', 'close')
    discardRest(request.raw, edge.world, limits.lingerMs)
    done()
  })
  app.setErrorHandler((error, request, reply) => refuse(request, reply, error))
  app.setNotFoundHandler((request, reply) => refuse(request, reply, routeUnknown(request)))

  function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
    if (error instanceof CallerGone) {
      reply.hijack()
      request.raw.socket.destroy()
      return
    }
    const refusal = error instanceof Refusal ? error.options : refusalOf(error)
    // The runtime may be closed by now: what it throws then is no fault, and nothing was done.
    const isOurs = refusal.failure === 'internal' || refusal.failure === 'intent-not-recorded'
    if (isOurs && draining && request.method === 'GET') {
      sendRefusal(edge, request, reply, shuttingDown().options)
      return
    }
    // A fault of ours: what it was is for the log, never for the caller.
    if (refusal.failure === 'internal') {
      const { method, routeOptions } = request
      edge.logger?.error({ err: error, method, route: routeOptions.url }, 'request failed')
    }
    sendRefusal(edge, request, reply, refusal)
  }

  const routes: readonly Route[] = [
    ...callRoutes(edge),
    ...callActionRoutes(edge),
    ...callbackRoutes(edge),
    ...entryRoutes(edge),
    ...sagaRoutes(edge),
    ...KINDS.flatMap((kind) => resourceRoutes(edge, kind)),
    ...secretRoutes(edge),
    ...mcpRoutes(edge),
    ...verifyRoutes(edge),
    ...applyRoutes(edge),
    ...explainRoutes(edge),
    ...approvalRoutes(edge),
    ...toolApprovalRoutes(edge),
    ...grantRoutes(edge),
    ...freezeRoutes(edge),
    ...approvalLinkRoutes(options.approvalLinks),
    ...auditRoutes(edge),
    ...tokenRoutes(edge),
    whoamiRoute(edge),
    ...healthRoutes(edge),
    openapiRoute(() => routes),
  ]
  registerRoutes(app, routes, edge, options.authenticate)
  await app.ready()

  let drain: Promise<void> | undefined
  let closing: Promise<void> | undefined
  return {
    listen: () => listen(app.server, options.host, options.port),
    drain(ended = Promise.resolve()) {
      draining = true
      drain ??= (async () => {
        await Promise.allSettled([ended])
        const answered = new Promise<void>((resolve) => {
          drained = resolve
        })
        app.server.close()
        app.server.closeIdleConnections()
        if (underWay > 0) await answered
      })()
      return drain
    },
    close() {
      draining = true
      app.server.closeAllConnections()
      closing ??= app.close()
      return closing
    },
  }
}
