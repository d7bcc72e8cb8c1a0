// Tools of MCP servers: what was taken on of them, and what their servers say by now.
import type { Json, JsonObject } from '../util/json.ts'
import { ask, segment, type Target } from './exchange.ts'

export interface DefinitionChange {
  readonly op: 'add' | 'remove' | 'change'
  /** JSON pointer into the definition. */
  readonly path: string
  readonly from?: Json
  readonly to?: Json
}

export interface ToolDefinitionReply {
  readonly tool: string
  readonly server: string
  readonly state: 'pinned' | 'quarantined' | 'gone'
  readonly pin: number
  readonly digest: string
  readonly definition: JsonObject
  readonly offered?: {
    readonly digest: string
    readonly definition: JsonObject
    readonly changes: readonly DefinitionChange[]
    readonly problem?: string
  }
}

export interface McpClient {
  /** The definition that was taken on, and the one that is offered where the tool is quarantined. */
  getToolDefinition(name: string): Promise<ToolDefinitionReply>
  /** Takes on the offered definition of this very digest. */
  acceptToolDefinition(name: string, digest: string): Promise<ToolDefinitionReply>
}

export function mcpClient(target: Target, timeoutMs: number): McpClient {
  return {
    async getToolDefinition(name) {
      const path = `v1/tools/${segment(name)}/definition`
      const { body } = await ask(target, { method: 'GET', path, timeoutMs })
      return body as unknown as ToolDefinitionReply
    },
    async acceptToolDefinition(name, digest) {
      const path = `v1/tools/${segment(name)}/accept`
      const { body } = await ask(target, {
        method: 'POST',
        path,
        timeoutMs,
        body: JSON.stringify({ digest }),
      })
      return body as unknown as ToolDefinitionReply
    },
  }
}
