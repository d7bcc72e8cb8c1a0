// An MCP server with every default applied: where it runs, how it is reached, and what its tools are taken for (S46).
import type { Reach } from '../util/address-class.ts'
import type { JsonObject } from '../util/json.ts'
import type { ResolvedTool } from './resolved-tool.ts'

export interface ResolvedMcpServer {
  readonly namespace: string
  readonly name: string
  /** `sha256:…` over everything it means: another one is another connection. */
  readonly digest: string
  readonly connection: McpStdio | McpHttp
  readonly auth?: ResolvedTool['auth']
  /** Names of tools that are taken; absent: all. */
  readonly include?: readonly string[]
  readonly reconnect: { readonly maxAttempts: number; readonly backoffMs: number }
  /** A connection that nobody used for so long is closed; undefined: never. */
  readonly idleMs?: number
  /** Calls under way at once on one connection. */
  readonly concurrency: number
  /** Tools are listed again this often, beside every word of the server that they changed. */
  readonly resyncMs: number
  /** The runtime block that every generated tool gets, as it was declared. */
  readonly defaultToolRuntime?: JsonObject
  /** By the server's own name of a tool: what is declared of it here, never by the server. */
  readonly labels: Readonly<Record<string, JsonObject>>
  /** Why this build cannot use it at all, where it cannot. */
  readonly unavailable?: string
}

export interface McpStdio {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  /** All that its environment holds, beside what `envFrom` fills in. */
  readonly env: Readonly<Record<string, string>>
  readonly envFrom: readonly { readonly name: string; readonly secretRef: string; readonly key?: string }[]
}

export interface McpHttp {
  readonly kind: 'http'
  readonly endpoint: string
  readonly allow: readonly string[]
  readonly reach: Reach
}
