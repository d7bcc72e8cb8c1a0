// Why there is no connection to a server, in words that are meant for callers.
import { SdkErrorCode } from '@modelcontextprotocol/client'
import type { Presented } from '../../credential/credential.ts'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import type { Abort } from '../../util/abort.ts'
import type { Refusal } from '../transport.ts'
import { codeOf, connectionRefusal, isBadPort } from './reply.ts'
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
          : `${originOf(server)} ${networkWords(error)}`
  const fix = why.includes('could not be started')
    ? '. Fix: install it where PATH leads, or correct its rights or spec.command'
    : ''
  const message = `no connection to the MCP server ${server.name} (${why}); nothing was sent${fix}`
  const { network_error: code, ...known } = refusal.details ?? {}
  const details = {
    ...known,
    ...(typeof code === 'string' && !isOfSdk(code) ? { network_error: code } : {}),
    ...(typeof status === 'number' ? { http_status: status } : {}),
  }
  return new McpFailed({ ...refusal, failure: row, message, details }, stderr)
}

/** Of a program: our own words where we have some. */
function wordsOf(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('the program ')) return message.slice(4)
  return /timed out/i.test(message) ? 'it did not answer in time' : 'it ended in the handshake'
}

/** What the service at an address did, or did not. The codes of the SDK say nothing to whoever reads them. */
function networkWords(error: unknown): string {
  const code = codeOf(error)
  if (isBadPort(error)) return 'has a port that is kept for other protocols, where HTTP is not spoken'
  if (code === 'ECONNREFUSED') return 'refused the connection'
  if (code === 'ENOTFOUND') return 'has a name that nobody knows'
  if (code === SdkErrorCode.RequestTimeout) return 'did not answer in time'
  return isOfSdk(code) ? 'does not answer as an MCP server does' : `cannot be reached: ${code}`
}

function isOfSdk(code: string): boolean {
  return Object.values<string>(SdkErrorCode).includes(code)
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
