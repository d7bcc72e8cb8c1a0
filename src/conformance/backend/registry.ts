// The backends that can be tested here. Adding one is a line here and a file beside.
import type { Backend } from './backend.ts'

const BACKENDS = {
  native: async () => (await import('./native.ts')).nativeBackend,
  http: async () => (await import('./http.ts')).httpBackend,
  external: async () => (await import('./external.ts')).externalBackend,
  'webhook-callback': async () => (await import('./webhook-callback.ts')).webhookCallbackBackend,
  cli: async () => (await import('./cli.ts')).cliBackend,
  grpc: async () => (await import('./grpc.ts')).grpcBackend,
  'mcp-stdio': async () => (await import('./mcp-stdio.ts')).mcpStdioBackend,
  'mcp-http': async () => (await import('./mcp-http.ts')).mcpHttpBackend,
} as const satisfies Record<string, () => Promise<Backend>>

export type BackendName = keyof typeof BACKENDS

export const BACKEND_NAMES = Object.freeze(Object.keys(BACKENDS) as BackendName[])

export function loadBackend(name: BackendName): Promise<Backend> {
  return BACKENDS[name]()
}
