// Declared resources of any kind, over HTTP.
import type { Resource } from './api.ts'
import { ask, segment, type Target } from './exchange.ts'

export interface ResourceClient {
  /** Every resource of a kind, by its plural: `tools`, `agent-roles`. Of tools every version, the highest first. */
  listResources(plural: string): Promise<readonly Resource[]>
  getResource(plural: string, name: string, options?: { readonly version?: string }): Promise<Resource>
  /** `expect` is the resourceVersion that must be there. */
  deleteResource(
    plural: string,
    name: string,
    options?: { readonly version?: string; readonly expect?: number },
  ): Promise<void>
  /** Every version of every tool, the highest first. */
  listTools(): Promise<readonly Resource[]>
  /** The highest version where none is named. */
  getTool(name: string, options?: { readonly version?: string }): Promise<Resource>
  /** Every version where none is named. `expect` is the resourceVersion that must be there. */
  deleteTool(name: string, options?: { readonly version?: string; readonly expect?: number }): Promise<void>
}

export function resourceClient(target: Target, timeoutMs: number): ResourceClient {
  const client: Omit<ResourceClient, 'listTools' | 'getTool' | 'deleteTool'> = {
    async listResources(plural) {
      const { body } = await ask(target, { method: 'GET', path: `v1/${segment(plural)}`, timeoutMs })
      const lists = body as unknown as Readonly<Record<string, readonly Resource[]>>
      return lists[plural.replaceAll('-', '_')] ?? []
    },

    async getResource(plural, name, { version } = {}) {
      const path = `v1/${segment(plural)}/${segment(name)}`
      const { body } = await ask(target, { method: 'GET', path, query: { version }, timeoutMs })
      return body as unknown as Resource
    },

    async deleteResource(plural, name, { version, expect } = {}) {
      await ask(target, {
        method: 'DELETE',
        path: `v1/${segment(plural)}/${segment(name)}`,
        query: { version },
        ...(expect === undefined ? {} : { headers: { 'if-match': `"${expect}"` } }),
        timeoutMs,
      })
    },
  }
  return {
    ...client,
    listTools: () => client.listResources('tools'),
    getTool: (name, options) => client.getResource('tools', name, options),
    deleteTool: (name, options) => client.deleteResource('tools', name, options),
  }
}
