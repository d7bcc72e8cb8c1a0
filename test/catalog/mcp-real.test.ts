// Discovery of public MCP servers, as they come from npm.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../scripts/repo-files.ts'
import { createMcpHouse } from './mcp-house.ts'

const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const MEMORY = join(ROOT, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')

for (const [name, program, tool] of [
  ['everything', EVERYTHING, 'everything--echo'],
  ['memory', MEMORY, 'memory--read-graph'],
] as const) {
  test(`every tool of server-${name} is taken, and none of them runs without approval`, async (t) => {
    const house = await createMcpHouse([])
    t.after(house.close)
    await house.apply(house.manifest({ args: [program] }, name))
    await house.until(({ phase }) => phase === 'Ready', 0)
    const status = house.runtime.mcp.status('default', name)
    assert.deepEqual(status?.refusedTools, [])
    const found = status?.discoveredTools
    assert.ok(Array.isArray(found) && found.length > 3)
    assert.equal(house.runtime.tools('default').length, found.length)
    const caller = house.runtime.as({ actor: 'agent-1', permissions: [`tool:${tool}:invoke`] })
    const input = name === 'everything' ? { message: 'hello' } : {}
    assert.equal((await caller.call({ tool, input })).state, 'awaiting-approval')
  })
}
