// A server that is declared no more, or in another way: nothing of its connection is left.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { createMcpHouse, READ } from './mcp-house.ts'

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp-changing/stdio.ts')
const LABELS = { tools: { read_file: { effect: { class: 'read-only' } } } }

/** A house whose program holds a line to the test for as long as it runs. */
async function watchedHouse(t: { after(run: () => unknown): void }) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const started = once(server, 'connection') as Promise<[Socket]>
  const hold = `import { connect } from 'node:net'; connect(${port}, '127.0.0.1').unref()`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hold)}`, PROGRAM]
  const house = await createMcpHouse([READ])
  t.after(async () => {
    await house.close()
    server.close()
  })
  const spec = { ...LABELS, args }
  await house.apply(house.manifest(spec))
  await house.until(({ phase }) => phase === 'Ready', 0)
  const [line] = await started
  line.on('error', () => {})
  const ended = once(line.resume(), 'close')
  return { house, spec, line, ended, server }
}

test('the program of a server that is deleted ends, though nobody calls its tools any more', async (t) => {
  const { house, line, ended } = await watchedHouse(t)
  const { resources } = house.runtime
  assert.equal(line.closed, false)
  assert.equal(await resources.delete({ namespace: 'default', kind: 'McpServer', name: 'files' }), 'deleted')
  await ended
  assert.deepEqual(house.runtime.tools('default'), [])
})

test('a server that is declared in another way is another program, and the one before ends', async (t) => {
  const { house, spec, ended, server } = await watchedHouse(t)
  const next = once(server, 'connection') as Promise<[Socket]>
  await house.apply(house.manifest({ ...spec, env: [{ name: 'TOKEN', value: 'second' }] }))
  const [line] = await next
  line.on('error', () => {}).resume()
  await ended
  assert.equal(line.closed, false)
})
