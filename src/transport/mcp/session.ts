// One live connection to an MCP server, as those who use it see it.
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import type { Abort } from '../../util/abort.ts'
import type { JsonObject } from '../../util/json.ts'
import type { AttemptSink, Refusal, Reply, Send } from '../transport.ts'

/** A tool as its server describes it: untrusted, every word of it (S46). */
export interface McpToolDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}

export interface McpSession {
  /** The revision of MCP that was agreed on, such as `2026-07-28`. */
  readonly revision: string
  /** All pages. Rejects with `McpFailed` when there are too many, or when the server does not answer. */
  listTools(abort: Abort): Promise<readonly McpToolDefinition[]>
  /** Called at each word of the server that its tools changed, until the connection ends. Returns how to stop. */
  onToolsChanged(listener: () => void): () => void
  /** Called once, when the connection has ended for whatever reason. Returns how to stop. */
  onClosed(listener: () => void): () => void
  /** One attempt of a tool of this server. */
  call(tool: string, send: Send, sink: AttemptSink): Promise<Reply>
}

export interface McpSessions {
  /**
   * Runs with the one connection to this server, which is opened where there is none, and counts against its concurrency.
   * Rejects with `McpFailed` where no connection can be had, and then `run` was not called. `aside`: it is no use of the
   * server, and keeps no connection open that would be closed without it.
   */
  use<T>(
    server: ResolvedMcpServer,
    abort: Abort,
    run: (session: McpSession) => Promise<T>,
    how?: { readonly aside: boolean },
  ): Promise<T>
  /** Ends the connections to a server that is not declared any more, once the calls under way on them are over. */
  forget(server: Pick<ResolvedMcpServer, 'namespace' | 'name'>): void
  /** Ends every connection; no process, socket or timer is left. */
  close(): Promise<void>
}

/** Why a server could not be used. Nothing of a call was sent. */
export class McpFailed extends Error {
  override readonly name = 'McpFailed'
  readonly refusal: Refusal
  /** The last words of the program on its standard error, without secrets; for operators, never for callers. */
  readonly stderr: string | undefined

  constructor(refusal: Refusal, stderr?: string) {
    super(refusal.message ?? refusal.failure)
    this.refusal = refusal
    this.stderr = stderr === '' ? undefined : stderr
  }
}
