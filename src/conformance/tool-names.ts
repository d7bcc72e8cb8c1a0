// What the tools of the suite are called by where their server names them: requests and permissions are put into its words.
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { ServedTools } from './backend/backend.ts'
import { TOOLS } from './tools.ts'

export interface ToolNames {
  tool(name: string): string
  permission(permission: string): string
  /** In any dialect. */
  request(request: JsonObject): JsonObject
}

export function createToolNames(served: ServedTools | undefined): ToolNames {
  if (served === undefined) {
    return { tool: (name) => name, permission: (permission) => permission, request: (request) => request }
  }
  const called = new Map(Object.values(TOOLS).map((tool) => [tool.name, served.called(tool)]))
  const permissions = new Map(
    [...called].map(([name, to]) => [`tool:${name}:invoke`, `tool:${to.name}:invoke`]),
  )
  return {
    tool: (name) => called.get(name)?.name ?? name,
    permission: (permission) => permissions.get(permission) ?? permission,
    request(request) {
      const { tool, tool_id: id } = request
      const to = called.get(String(isJsonObject(tool) ? tool.name : id))
      if (to === undefined) return request
      const { name, operation } = to
      if (isJsonObject(tool)) return { ...request, tool: { ...tool, name, operation } }
      return { ...request, tool_id: name, fn: operation }
    },
  }
}
