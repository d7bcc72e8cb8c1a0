// Who the bearer of a token is here, and what it holds at this moment.
import type { Edge, Route } from './edge.ts'
import { json, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { sendJson } from './reply.ts'

export function whoamiRoute(edge: Edge): Route {
  return {
    method: 'GET',
    path: '/v1/whoami',
    access: 'caller',
    whileDraining: true,
    async handle({ request, reply, caller }) {
      readQuery(request.query, [])
      const { actor, namespace, kind = 'service', roles, admin, scopes, agents, system, token } = caller
      const { permissions, clearance, missingRoles } = edge.holds(caller)
      sendJson(reply, 200, {
        actor,
        namespace,
        kind,
        admin,
        roles,
        permissions,
        clearance,
        ...(missingRoles.length === 0 ? {} : { missing_roles: missingRoles }),
        ...(scopes === undefined ? {} : { scopes }),
        ...(agents === undefined ? {} : { agents }),
        ...(system === undefined ? {} : { system }),
        ...(token === undefined ? {} : { token_id: token.id }),
      })
    },
    doc: {
      operationId: 'whoami',
      summary: 'Who the caller is',
      description: 'As the token says, with what the roles of the caller grant by now.',
      tags: ['identity'],
      responses: { 200: { description: 'The caller.', ...json(ref('identity')) }, ...REFUSALS },
    },
  }
}
