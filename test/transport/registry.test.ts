// Which types can be run by this build.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { TOOL_TYPES, type ToolType } from '../../src/resource/resolved-tool.ts'
import { builtTypes, loadTransport } from '../../src/transport/registry.ts'
import { createSystemWorld } from '../../src/util/clock.ts'

it('every built type has a transport of that type, and every other one has none (S33)', async () => {
  const world = createSystemWorld()
  for (const type of [...TOOL_TYPES, 'native', 'toString'] as ToolType[]) {
    const transport = await loadTransport(type, { world })
    assert.equal(transport?.type, builtTypes.includes(type) ? type : undefined)
    await transport?.close()
  }
  await world.network.close()
})
