// Who asks, and in which namespace.
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../contract/caller.ts'
import { isNamespace } from '../resource/name.ts'
import type { Authenticate } from './admin-token.ts'
import { Refusal } from './refusal.ts'

const BEARER = /^bearer +([\x21-\x7e]+) *$/i
const CHALLENGE = 'Bearer realm="writ"'

export function authenticateRequest(request: FastifyRequest, authenticate: Authenticate): Caller {
  const { authorization } = request.headers
  const token = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
  const caller = authenticate(token)
  if (caller === undefined) throw unauthenticated(authorization, token)
  return inNamespace(caller, askedNamespace(request))
}

function unauthenticated(authorization: string | undefined, token: string | undefined): Refusal {
  const what =
    authorization === undefined
      ? 'The request has no Authorization header.'
      : token === undefined
        ? 'The Authorization header is not of the form "Bearer TOKEN".'
        : 'The bearer token is not valid here.'
  return new Refusal({
    failure: 'unauthenticated',
    message: what,
    fix: 'Send "Authorization: Bearer TOKEN" with a token of this server.',
    // RFC 6750: the error is named only when a token was presented.
    headers: { 'www-authenticate': token === undefined ? CHALLENGE : `${CHALLENGE}, error="invalid_token"` },
  })
}

/** The namespace that a request names beside its body. */
export function askedNamespace(request: FastifyRequest): string | undefined {
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
  throw new Refusal({
    failure: 'permission-denied',
    message: 'The token is not for the namespace that was asked for.',
    fix: 'Leave the namespace out, or use a token of that namespace.',
    details: { missing: [`namespace:${asked}`] },
  })
}

export function requireAdmin(caller: Caller): void {
  if (caller.admin) return
  throw new Refusal({
    failure: 'permission-denied',
    message: 'Resources are read and changed by the admin only.',
    fix: 'Use the admin token.',
    details: { missing: ['admin'] },
  })
}
