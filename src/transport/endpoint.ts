// Where a tool is reached, checked at the attempt: a manifest may have been accepted with a warning (S33).
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Refusal } from './transport.ts'

interface Endpoint {
  readonly origin: string
  /** Path and query. */
  readonly path: string
}

export type EndpointResult =
  | { readonly ok: true; readonly endpoint: Endpoint }
  | { readonly ok: false; readonly refusal: Refusal }

/** Reads the endpoint of a tool, or says why nothing can be sent to it. */
export function readEndpoint(tool: ResolvedTool): EndpointResult {
  // Nothing here can present a credential or put a boundary around the call, so neither may be silently left out.
  if (tool.auth !== undefined)
    return refuse(
      'secret-missing',
      'spec.auth',
      `credentials (profile ${tool.auth.profile}) cannot be presented by the ${tool.type} transport of this version`,
    )
  if (tool.isolation !== 'none')
    return refuse(
      'isolation-unavailable',
      'spec.runtime.isolation_mode',
      `isolation ${tool.isolation} cannot be provided for a tool of type ${tool.type} here`,
    )
  if (tool.endpoint === undefined || tool.endpoint === '')
    return refuse('config-invalid', 'spec.endpoint', 'the tool has no endpoint')
  if (!URL.canParse(tool.endpoint))
    return refuse('config-invalid', 'spec.endpoint', 'the endpoint is not an absolute URL')
  const url = new URL(tool.endpoint)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('config-invalid', 'spec.endpoint', 'the endpoint must start with http:// or https://')
  if (url.username !== '' || url.password !== '')
    return refuse(
      'config-invalid',
      'spec.endpoint',
      'the endpoint must not hold a user name or password: use auth',
    )
  return { ok: true, endpoint: { origin: url.origin, path: url.pathname + url.search } }
}

function refuse(failure: Refusal['failure'], path: string, message: string): EndpointResult {
  return { ok: false, refusal: { kind: 'failure', failure, message, details: { path }, definite: true } }
}
