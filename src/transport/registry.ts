// The transports of this build. Adding one is a line here and a file beside.
import type { ToolType } from '../resource/resolved-tool.ts'
import type { Transport, TransportFactory, TransportOptions } from './transport.ts'

const TRANSPORTS = {
  native: async () => (await import('./native.ts')).createNativeTransport,
  http: async () => (await import('./http.ts')).createHttpTransport,
  external: async () => (await import('./external.ts')).createExternalTransport,
  'webhook-callback': async () => (await import('./webhook-callback.ts')).createWebhookCallbackTransport,
  grpc: async () => (await import('./grpc.ts')).createGrpcTransport,
  mcp: async () => (await import('./mcp.ts')).createMcpTransport,
  cli: async () => (await import('./cli.ts')).createCliTransport,
} as const satisfies Partial<Record<ToolType, () => Promise<TransportFactory>>>

/** What can be run here. A tool of any other type is kept, and its calls are refused (S33). */
export const builtTypes: readonly ToolType[] = Object.keys(TRANSPORTS) as (keyof typeof TRANSPORTS)[]

/** `undefined` for a type that is not built. */
export async function loadTransport(
  type: ToolType,
  options: TransportOptions,
): Promise<Transport | undefined> {
  if (!Object.hasOwn(TRANSPORTS, type)) return undefined
  const create: TransportFactory = await TRANSPORTS[type as keyof typeof TRANSPORTS]()
  return create(options)
}
