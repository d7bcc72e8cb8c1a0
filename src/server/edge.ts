// What every route works with.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Caller } from '../contract/caller.ts'
import type { FailureId } from '../contract/failures.ts'
import type { DoorPermission } from '../governance/door-permission.ts'
import type { TokenRefusal } from '../identity/authenticate.ts'
import type { TokenDoor } from '../identity/token-door.ts'
import type { Runtime } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { Holds } from './auth.ts'

/** What the server shows at /metrics, and tells about requests that never were a call (S40). */
export interface ServerMetrics {
  readonly contentType: string
  render(): Promise<string>
  refused(failure: FailureId): void
  /** A bearer token that was not taken, and which check failed. */
  tokenRefused(reason: TokenRefusal): void
}

export interface Edge {
  readonly runtime: Runtime
  readonly world: World
  readonly metrics: ServerMetrics
  /** What a caller holds by now. */
  readonly holds: Holds
  /** Absent where this server issues no tokens. */
  readonly tokens: TokenDoor | undefined
  readonly logger: Pick<Logger, 'error' | 'warn'> | undefined
  /** Bytes of a request body. */
  readonly bodyLimit: number
  /** True once the server takes no new work. */
  readonly draining: () => boolean
}

export interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** What `{name}` stands for in the path. */
  readonly params: Readonly<Record<string, string>>
}

export interface CallerExchange extends Exchange {
  readonly caller: Caller
}

/** What the OpenAPI document says about a route, besides its path and its security. */
export interface RouteDoc {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly JsonObject[]
  readonly requestBody?: JsonObject
  readonly responses: JsonObject
}

interface RouteBase {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As OpenAPI writes it: /v1/calls/{id} */
  readonly path: string
  readonly doc: RouteDoc
  /** Still answered while the server drains. */
  readonly whileDraining: boolean
}

/** Deny is the default: a route says so when it needs no token. */
export type Route =
  | (RouteBase & {
      /** `local`: on the machine itself without a token, from elsewhere with one. */
      readonly access: 'anyone' | 'local'
      readonly handle: (exchange: Exchange) => Promise<void>
    })
  | (RouteBase & {
      /** A permission: whoever holds it in its namespace. `admin`: what is beyond namespaces. */
      readonly access: 'caller' | 'admin' | DoorPermission
      readonly handle: (exchange: CallerExchange) => Promise<void>
    })
