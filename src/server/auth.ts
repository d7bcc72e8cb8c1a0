// Who asks, in which namespace, and whether that caller may.
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../contract/caller.ts'
import type { DoorPermission } from '../governance/door-permission.ts'
import { hasPermission } from '../governance/held.ts'
import type { Held } from '../governance/rules.ts'
import { type Authenticate, TOKEN_REFUSALS, type TokenRefusal } from '../identity/authenticate.ts'
import { isNamespace } from '../resource/name.ts'
import type { Runtime } from '../runtime-api.ts'
import type { ServerMetrics } from './edge.ts'
import { Refusal } from './refusal.ts'

/** What a caller holds by now, with what its roles grant. */
export type Holds = (caller: Caller) => Held

const BEARER = /^bearer +([\x21-\x7e]+) *$/i
const CHALLENGE = 'Bearer realm="writ"'

/** What a request says of who asks, and where. */
export type Asking = Pick<FastifyRequest, 'headers' | 'query'>

export async function authenticateRequest(
  request: Asking,
  authenticate: Authenticate,
  metrics: Pick<ServerMetrics, 'tokenRefused'>,
): Promise<Caller> {
  const { authorization } = request.headers
  const token = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
  const result = await authenticate(token)
  if ('caller' in result) return inNamespace(result.caller, askedNamespace(request))
  metrics.tokenRefused(result.refused)
  if (result.refused === 'unavailable') throw undecided()
  throw unauthenticated(authorization, token, result.refused)
}

function unauthenticated(
  authorization: string | undefined,
  token: string | undefined,
  reason: TokenRefusal,
): Refusal {
  const what =
    authorization === undefined
      ? 'The request has no Authorization header.'
      : token === undefined
        ? 'The Authorization header is not of the form "Bearer TOKEN".'
        : TOKEN_REFUSALS[reason]
  return new Refusal({
    failure: 'unauthenticated',
    message: what,
    fix: 'Send "Authorization: Bearer TOKEN" with a token of this server.',
    details: { reason: token === undefined ? 'missing' : reason },
    // RFC 6750: the error is named only when a token was presented.
    headers: {
      'www-authenticate':
        token === undefined ? CHALLENGE : `${CHALLENGE}, error="invalid_token", error_description="${what}"`,
    },
  })
}

/** Nobody was refused, so it is no denial: the same token may be good in a moment (S42). */
function undecided(): Refusal {
  return new Refusal({
    failure: 'policy-unavailable',
    message: TOKEN_REFUSALS.unavailable,
    fix: 'Send it again in a moment; the operator looks at the issuer of the token and at the store.',
    details: { retry_after_ms: 1000 },
  })
}

/** The namespace that a request names beside its body. */
export function askedNamespace(request: Asking): string | undefined {
  const header = request.headers['writ-namespace']
  const { namespace: query } = request.query as Readonly<Record<string, unknown>>
  const asked = header ?? query
  if (header !== undefined && query !== undefined && header !== query) {
    throw refuseNamespace(
      'The Writ-Namespace header and ?namespace= name two namespaces.',
      'Send one of the two.',
    )
  }
  if (asked === undefined) return undefined
  if (typeof asked !== 'string' || !isNamespace(asked)) {
    throw refuseNamespace(
      'The namespace is not a valid name.',
      'Use up to 128 of a-z, 0-9, ".", "_" and "-", beginning with a letter or digit.',
    )
  }
  return asked
}

export function refuseNamespace(message: string, fix: string): Refusal {
  const violations = [{ path: '/namespace', message }]
  return new Refusal({ failure: 'envelope-invalid', message, fix, details: { violations } })
}

/** Only the admin of the machine moves between namespaces; everyone else is in one. */
function inNamespace(caller: Caller, asked: string | undefined): Caller {
  if (asked === undefined || asked === caller.namespace) return caller
  if (caller.admin) return Object.freeze({ ...caller, namespace: asked })
  throw otherNamespace(asked)
}

/** A manifest may name its namespace: for whoever is in one, it has to be that one. */
export function requireNamespace(caller: Caller, named: string | undefined): void {
  if (named !== undefined && named !== caller.namespace && !caller.admin) throw otherNamespace(named)
}

function otherNamespace(asked: string): Refusal {
  return new Refusal({
    failure: 'permission-denied',
    message: 'The token is not for the namespace that was asked for.',
    fix: 'Leave the namespace out, or use a token of that namespace.',
    details: { missing: [`namespace:${asked}`] },
  })
}

/** Who is frozen changes nothing here either: not what is declared, not who decides, not who gets a token. */
export function requireThawed(caller: Caller, { stops }: Pick<Runtime, 'stops'>): void {
  const stop = stops.standing(caller.namespace, [{ stop: `caller:${caller.actor}` }])
  if (stop === undefined) return
  throw new Refusal({
    failure: 'frozen',
    message: `${caller.actor} is frozen: ${stop.reason}`,
    details: { code: 'frozen', frozen: stop.name, reason: stop.reason },
  })
}

export function requireAdmin(caller: Caller): void {
  if (caller.admin) return
  throw new Refusal({
    failure: 'permission-denied',
    message: 'This is for the admin of the server only.',
    fix: 'Use the admin token.',
    details: { missing: ['admin'] },
  })
}

/** Asked with what the caller holds at this moment: a role that was taken away is gone. */
export function requirePermission(caller: Caller, permission: DoorPermission, holds: Holds): void {
  if (caller.admin) return
  const held = holds(caller)
  if (held.missingRoles.length > 0) {
    throw new Refusal({
      failure: 'permission-denied',
      message: `${caller.actor} has roles that do not exist: ${held.missingRoles.join(', ')}.`,
      fix: 'Declare the roles, or use a token without them.',
      details: { code: 'role-missing', missing: held.missingRoles.map((role) => `role:${role}`) },
    })
  }
  if (hasPermission(held, permission)) return
  throw new Refusal({
    failure: 'permission-denied',
    message: `${caller.actor} lacks ${permission}.`,
    fix: `Use a token with a role that has ${permission}.`,
    details: { code: 'permission-missing', missing: [permission] },
  })
}
