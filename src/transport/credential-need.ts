// What a tool or an MCP server declares of its credentials, and what becomes of a send that they stand in the way of.
import type { CredentialNeed, NotPresented, Presented } from '../credential/credential.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Reach } from '../util/address-class.ts'
import type { JsonObject } from '../util/json.ts'
import type { Refusal, Reply, Send } from './transport.ts'

/** undefined for nothing. A request's scopes only narrow those that are declared (S2). */
export function needOf(
  declares: ResolvedTool | ResolvedMcpServer,
  scopes?: readonly string[],
): CredentialNeed | undefined {
  const { namespace } = declares
  const whole = declares.auth
  const auth = scopes && whole ? { ...whole, scopes: narrowScopes(whole.scopes, scopes) } : whole
  const env = envOf(declares)
  if (auth === undefined && env.length === 0) return undefined
  return {
    namespace,
    ...(auth === undefined ? {} : { auth, reach: reachOf(declares) }),
    ...(env.length === 0 ? {} : { env }),
  }
}

/** Those of the tool that the request leaves it. */
export function narrowScopes(
  declared: readonly string[],
  asked: readonly string[] | undefined,
): readonly string[] {
  return asked === undefined ? declared : declared.filter((one) => asked.includes(one))
}

/**
 * Why a request's scopes stand against a send. A token for no scope at all would be one for whatever its server gives to those
 * who name none (S2).
 */
export function outsideScopes(
  auth: ResolvedTool['auth'],
  asked: readonly string[] | undefined,
): { readonly message: string; readonly fix: string; readonly details: JsonObject } | undefined {
  if (asked === undefined || auth?.profile !== 'oauth2_client_credentials') return undefined
  if (auth.scopes.length === 0 || narrowScopes(auth.scopes, asked).length > 0) return undefined
  return {
    message: "the request's scopes leave none of those that the tool asks a token for",
    fix: `Leave the scopes out, or name some of these: ${auth.scopes.join(', ')}.`,
    details: { path: '/auth/scopes' },
  }
}

/** A token endpoint is reached as what declares it is. */
function reachOf(declares: ResolvedTool | ResolvedMcpServer): Reach {
  if (!('connection' in declares)) return declares.reach
  return declares.connection.kind === 'http' ? declares.connection.reach : 'public'
}

function envOf(declares: ResolvedTool | ResolvedMcpServer): NonNullable<CredentialNeed['env']> {
  if (!('connection' in declares)) return declares.cli?.envFrom ?? []
  return declares.connection.kind === 'stdio' ? declares.connection.envFrom : []
}

/** Nothing was sent. */
export function notPresentedRefusal({ failure, message, fix, details, transient }: NotPresented): Refusal {
  return {
    kind: 'failure',
    failure,
    message,
    ...(fix === undefined ? {} : { fix }),
    ...(details === undefined ? {} : { details }),
    definite: true,
    ...(transient ? { transient } : {}),
  }
}

/** The tool did not take an access token: there may be a newer one. Once in a call; after that it is the client's fault. */
export function ifRejected(reply: Reply, send: Send, shown: Presented): Reply {
  if (reply.kind !== 'failure' || reply.failure !== 'upstream-unauthorized') return reply
  return shown.rejected() && send.renewed !== true ? { ...reply, failure: 'token-expired' } : reply
}
