// A server that tools of long work report to, over any store: one replica, or several of one house.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createEvents } from '../../src/event/event.ts'
import { createIsRevoked } from '../../src/identity/revoked.ts'
import { createRuntime, createWorld, type StoreChoice } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createAuthenticator, createServer } from '../../src/server/index.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import type { JsonObject } from '../../src/util/json.ts'
import type { CallbackPeer } from '../transport/callback-peer.ts'

export const ADMIN = 'test-token-0123456789-0123456789'
/** Nobody listens there: reports are brought to a replica by hand, so that a test says to which. */
const PUBLIC_URL = 'http://writ.test'
export const CALLBACK_KEY = 'a-key-that-all-replicas-of-the-house-share-0123'

export interface Replica {
  readonly url: string
  readonly runtime: Runtime
  readonly door: CallerDoor
  /** Of `call:ended`. */
  readonly ended: string[]
  /** Where a report that the tool was told to send elsewhere is sent to this replica. */
  at(url: string | undefined): string
  apply(peer: CallbackPeer, spec?: JsonObject): Promise<void>
  close(): Promise<void>
}

export async function openReplica(
  t: TestContext,
  store: StoreChoice,
  options: { readonly key?: string; readonly bodyLimit?: number } = {},
): Promise<Replica> {
  const world = createWorld()
  const events = createEvents()
  const ended: string[] = []
  events.on('call:ended', ({ call_id, state }) => ended.push(`${call_id} ${state}`))
  const runtime = await createRuntime({
    world,
    events,
    store,
    onWarning: () => {},
    toolCallbacks: { publicUrl: PUBLIC_URL, key: options.key ?? CALLBACK_KEY },
  })
  const metrics = createMetrics({ events, health: () => runtime.health() })
  const server = await createServer({
    runtime,
    world,
    metrics,
    authenticate: createAuthenticator({
      world,
      adminToken: ADMIN,
      isRevoked: createIsRevoked(runtime.stops),
    }),
    host: '127.0.0.1',
    port: 0,
    ...(options.bodyLimit === undefined ? {} : { bodyLimit: options.bodyLimit }),
  })
  const { url } = await server.listen()
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= (async () => {
      await server.close()
      await runtime.close({ drainMs: 0 })
      await metrics.close()
      await world.network.destroy()
    })()
    return closed
  }
  t.after(close)
  return {
    url,
    runtime,
    door: runtime.as(createLocalAdmin()),
    ended,
    at(told) {
      if (told?.startsWith(`${PUBLIC_URL}/v1/callbacks/`)) return told.replace(PUBLIC_URL, url)
      return assert.fail(`the tool was told ${told}`)
    },
    async apply(peer, spec = {}) {
      const manifest = {
        apiVersion: 'writ.dev/v1',
        kind: 'Tool',
        metadata: { name: 'report' },
        spec: {
          type: 'webhook-callback',
          endpoint: peer.url,
          effect: { class: 'external-communication' },
          webhook: { poll: '1h' },
          runtime: { timeout: '24h' },
          ...spec,
        },
      }
      const { problems } = await runtime.resources.apply([
        { text: JSON.stringify(manifest), file: 'report.json' },
      ])
      assert.deepEqual(
        problems.filter(({ severity }) => severity === 'error'),
        [],
      )
    },
    close,
  }
}
