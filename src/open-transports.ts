// The transports of a runtime: the program's own functions, and every other type that is built, each with credentials.
import type { DialectRegistry } from './contract/dialect/registry.ts'
import { CONTRACT_REVISION } from './contract/version.ts'
import type { Credentials } from './credential/credential.ts'
import type { Events } from './event/event.ts'
import { createNativeTransport, type NativeTransport } from './transport/native.ts'
import { builtTypes, loadTransport } from './transport/registry.ts'
import type { CallbackAddress, Transport, TransportOptions } from './transport/transport.ts'
import { withCredentials } from './transport/with-credentials.ts'
import { errorPlace } from './util/error-place.ts'
import type { World } from './util/world.ts'

/** What tools see as the User-Agent. */
const USER_AGENT = `writ/${CONTRACT_REVISION}`

export interface TransportParts {
  readonly world: World
  readonly dialects: DialectRegistry
  readonly events: Events
  readonly credentials: Credentials
  readonly callbacks: CallbackAddress | undefined
  readonly cliAllow: readonly string[]
  readonly mcp: Pick<TransportOptions, 'mcpServer' | 'mcpSessions'>
}

export interface Transports {
  readonly native: NativeTransport
  get(type: string): Transport | undefined
  close(): Promise<void>
}

export async function openTransports(parts: TransportParts): Promise<Transports> {
  const { world, dialects, events, credentials, callbacks, cliAllow, mcp } = parts
  // A function of the program is given no credential: it is this program that has them.
  const native = createNativeTransport({
    world,
    onCrash: (error, send) =>
      events.emit('tool:crashed', {
        call_id: send.callId,
        tool_id: send.tool.name,
        error: errorPlace(error),
      }),
  })
  const byType = new Map<string, Transport>([['native', native]])
  const options = {
    world,
    dialects,
    userAgent: USER_AGENT,
    credentials,
    cliAllow,
    ...mcp,
    ...(callbacks === undefined ? {} : { callbacks }),
  }
  for (const type of builtTypes) {
    const transport = type === 'native' ? undefined : await loadTransport(type, options)
    if (transport) byType.set(type, withCredentials(transport, credentials))
  }
  return {
    native,
    get: (type) => byType.get(type),
    close: async () => void (await Promise.all([...byType.values()].map((transport) => transport.close()))),
  }
}
