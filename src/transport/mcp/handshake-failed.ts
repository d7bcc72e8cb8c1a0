// Why there is no connection to a server, in words that are meant for callers.
import type { Presented } from '../../credential/credential.ts'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import type { Abort } from '../../util/abort.ts'
import type { Refusal } from '../transport.ts'
import { connectionRefusal } from './reply.ts'
import { McpFailed } from './session.ts'
import type { Wire } from './wire.ts'

/** `shown` is what was presented last. */
export function handshakeFailed(
  error: unknown,
  { server, abort }: { readonly server: ResolvedMcpServer; readonly abort: Abort },
  wire: Wire,
  shown: Presented | undefined,
): McpFailed {
  const { status } = (error ?? {}) as { status?: unknown }
  const stderr = wire.stderr()
  const cause = causedBy(error)
  if (cause !== undefined) return cause
  const refusal = connectionRefusal(error, false, originOf(server))
  if (refusal.failure !== 'connect-failed') return new McpFailed(refusal, stderr)
  const row: Refusal['failure'] =
    status === 401
      ? shown?.rejected() === true
        ? 'token-expired'
        : 'upstream-unauthorized'
      : status === 403
        ? 'upstream-forbidden'
        : 'connect-failed'
  const why =
    typeof status === 'number'
      ? `it answered HTTP ${status}`
      : abort.aborted
        ? 'it was stopped'
        : server.connection.kind === 'stdio'
          ? wordsOf(error)
          : String(refusal.details?.network_error)
  const message = `no connection to the MCP server ${server.name} (${why}); nothing was sent`
  return new McpFailed(
    {
      ...refusal,
      failure: row,
      message,
      details: { ...refusal.details, ...(typeof status === 'number' ? { http_status: status } : {}) },
    },
    stderr,
  )
}

/** Of a program: our own words where we have some. */
function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('the program ')) return message.slice(4)
  return /timed out/i.test(message) ? 'it did not answer in time' : 'it ended in the handshake'
}

function causedBy(error: unknown): McpFailed | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; depth++) {
    if (one instanceof McpFailed) return one
    one = one.cause
  }
  return undefined
}

/** Where a server is: an address, or its name. */
export function originOf({ connection, name }: ResolvedMcpServer): string {
  return connection.kind === 'http' ? new URL(connection.endpoint).origin : name
}
