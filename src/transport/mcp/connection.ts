// An open connection to one server: the handshake of either revision, then tools and calls.
import { Client, type PriorDiscovery } from '@modelcontextprotocol/client'
import type { Credentials, Presented } from '../../credential/credential.ts'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import type { Abort } from '../../util/abort.ts'
import type { World } from '../../util/world.ts'
import { ifRejected, needOf, notPresentedRefusal } from '../credential-need.ts'
import { redactReply, redactSink } from '../redact-reply.ts'
import type { AttemptSink, Reply, Send } from '../transport.ts'
import { callTool } from './call.ts'
import { createChanges } from './changes.ts'
import { handshakeFailed, originOf } from './handshake-failed.ts'
import { createHttpWire } from './http.ts'
import { listTools, mendPages } from './list-tools.ts'
import { createProgressWatch } from './progress.ts'
import { connectionRefusal } from './reply.ts'
import { McpFailed, type McpSession } from './session.ts'
import { createStdioWire } from './stdio.ts'
import type { Wire } from './wire.ts'

export interface ConnectionOptions {
  readonly world: World
  readonly server: ResolvedMcpServer
  readonly credentials: Credentials | undefined
  readonly userAgent: string
  readonly path: string
  /** What an earlier connection found out about the revisions of the server. */
  readonly prior: PriorDiscovery | undefined
  readonly abort: Abort
}

export interface McpConnection extends McpSession {
  /** What the next connection need not find out again. */
  readonly prior: PriorDiscovery
  /** Of the secrets in the environment of the program. */
  readonly credentialVersion: string | undefined
  /** Nothing can be sent over it any more; what was sent may still be answered. */
  readonly ended: boolean
  close(): Promise<void>
}

const HANDSHAKE_MS = 30_000
/** An older program may not answer what it does not know. */
const PROBE_MS = { stdio: 10_000, http: 15_000 } as const

/** Rejects with `McpFailed`. */
export async function openConnection(options: ConnectionOptions): Promise<McpConnection> {
  const { server, abort } = options
  const { connection } = server
  const atStart = connection.kind === 'stdio' ? await present(options, abort) : undefined
  let shown = atStart
  const wire = wireOf(options, atStart, (presented) => {
    shown = presented
  })
  const client = new Client(
    { name: 'writ', version: options.userAgent.split('/')[1] ?? '0' },
    {
      capabilities: {},
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS[connection.kind] } },
      // Outputs are held to the pinned schema elsewhere; what the server sends now is not compiled.
      jsonSchemaValidator: {
        getValidator() {
          throw new Error('the SDK compiles no schemas here')
        },
      },
    },
  )
  let ended = false
  const closed = new Set<() => void>()
  client.onclose = () => {
    ended = true
    for (const listener of closed) listener()
    closed.clear()
  }
  const { prior } = options
  // The SDK hears of a stop only between its questions.
  const unlisten = abort.listen(() => void wire.close())
  try {
    const given = prior === undefined ? {} : { prior }
    await client.connect(wire.transport, { timeout: HANDSHAKE_MS, signal: abort.signal, ...given })
  } catch (error) {
    await wire.close()
    throw error instanceof McpFailed ? error : handshakeFailed(error, options, wire, shown)
  } finally {
    unlisten()
  }
  if (ended) {
    await wire.close()
    throw handshakeFailed(new Error('it ended'), options, wire, shown)
  }
  const origin = originOf(server)
  const discover = client.getDiscoverResult()
  const changes = createChanges(client, options.world)
  mendPages(wire.transport)
  const progress = createProgressWatch(wire.transport)

  async function call(tool: string, send: Send, sink: AttemptSink): Promise<Reply> {
    let presented = connection.kind === 'stdio' ? atStart : send.credentials
    if (presented === undefined && server.auth !== undefined) {
      try {
        presented = await present(options, send.abort, send.constraints?.scopes)
      } catch (error) {
        if (error instanceof McpFailed) return error.refusal
        throw error
      }
    }
    if (presented === undefined) return hearOf(await callTool(context, tool, send, sink, presented))
    const clean = redactSink(sink, presented.redactor)
    const reply = hearOf(await callTool(context, tool, send, clean, presented))
    clean.flush()
    return redactReply(ifRejected(reply, send, presented), presented.redactor)
  }
  const context = { client, wire, progress, origin, now: () => options.world.clock.now() }

  /** Not every server says 404 of a session that it has forgotten; one that may be gone is not used again. */
  function hearOf(reply: Reply): Reply {
    if (reply.kind !== 'failure' || wire.transport.sessionId === undefined) return reply
    const status = reply.details?.http_status
    if (status === 404 || status === 400 || reply.failure === 'connect-failed') void close()
    if (status !== 404) return reply
    const message = 'the server has forgotten the session; another one is opened for the next attempt'
    return { ...reply, failure: 'connect-failed', message }
  }

  async function close(): Promise<void> {
    ended = true
    changes.close()
    await wire.close()
    await client.close().catch(() => {})
  }

  return {
    revision: client.getNegotiatedProtocolVersion() ?? '',
    prior: discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover },
    credentialVersion: atStart?.version,
    get ended() {
      return ended || !wire.isOpen()
    },
    async listTools(stop) {
      try {
        return await listTools(client, stop.signal)
      } catch (error) {
        throw error instanceof McpFailed
          ? error
          : new McpFailed(connectionRefusal(error, false, origin), wire.stderr())
      }
    },
    onToolsChanged: changes.listen,
    onClosed(listener) {
      closed.add(listener)
      return () => void closed.delete(listener)
    },
    call,
    close,
  }
}

function wireOf(
  options: ConnectionOptions,
  atStart: Presented | undefined,
  onShown: (presented: Presented | undefined) => void,
): Wire {
  const { world, server, path, userAgent } = options
  const { connection } = server
  if (connection.kind === 'stdio')
    return createStdioWire({ world, program: connection, path, presented: atStart })
  return createHttpWire({
    world,
    endpoint: new URL(connection.endpoint),
    reach: connection.reach,
    userAgent,
    async credentials() {
      const presented = await present(options, options.abort)
      onShown(presented)
      return presented
    },
  })
}

/**
 * undefined where the server declares nothing. Rejects with `McpFailed`. `scopes` are those of a call: what belongs to the
 * connection, which all calls share, is asked for with the server's own.
 */
async function present(
  options: ConnectionOptions,
  abort: Abort,
  scopes?: readonly string[],
): Promise<Presented | undefined> {
  const need = needOf(options.server, scopes)
  if (need === undefined) return undefined
  const result = await options.credentials?.present(need, abort)
  if (result?.ok === true) return result.presented
  const message = 'nothing is sent without the declared credential'
  throw new McpFailed(
    notPresentedRefusal(result?.refusal ?? { failure: 'secret-missing', message, transient: false }),
  )
}
