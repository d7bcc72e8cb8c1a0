// A Writ server in a process of its own, as the HTTP benchmarks call it.

import { createAdminTokenAuth } from '../src/identity/admin-token.ts'
import { createRuntime, createWorld } from '../src/runtime.ts'
import { createServer } from '../src/server/server.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'

const [path = '', manifest = '', token = ''] = process.argv.slice(2)
const world = createWorld()
const runtime = await createRuntime({ world, store: { kind: 'sqlite', path } })
await runtime.resources.apply([{ text: manifest, file: 'bench' }])
const metrics = createMetrics({ events: runtime.events, health: () => runtime.health() })
const server = await createServer({
  runtime,
  world,
  metrics,
  authenticate: createAdminTokenAuth(token),
  host: '127.0.0.1',
  port: 0,
})
process.send?.((await server.listen()).url)
process.on('disconnect', () => process.exit(0))
