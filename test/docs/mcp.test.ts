// The guide on MCP servers: its manifest is the example, and the example does what the text says.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { ROOT } from '../../scripts/repo-files.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime } from '../../src/runtime.ts'
import { folderFor, shownIn, textOf } from './guide.ts'

const GUIDE = 'docs/guide/mcp.md'

it('the manifest of the guide is the one in examples', () => {
  const shown = shownIn(GUIDE, 'yaml')
  assert.ok(textOf('examples/mcp-tool/mcp-server.yaml').includes(shown.trim()))
})

it('its tools are made: one reads at once, one waits for approval, and one that changed waits to be accepted', async (t) => {
  const events = createEvents()
  const runtime = await createRuntime({ events })
  t.after(() => runtime.close({ drainMs: 0 }))
  const folder = folderFor(t)
  const example = textOf('examples/mcp-tool/mcp-server.yaml')
    .replace('command: node examples', `command: ${process.execPath} ${ROOT}/examples`)
    .replace('.writ/notes.txt', join(folder, 'notes.txt'))
  const apply = async (text: string) => {
    const ready = new Promise<number>((resolve) => {
      const off = events.on('mcp:synced', ({ phase, quarantined }) => {
        if (phase !== 'Ready') return
        off()
        resolve(quarantined)
      })
    })
    const { problems } = await runtime.resources.apply([{ text, file: 'mcp-server.yaml' }])
    assert.deepEqual(problems, [])
    return ready
  }
  assert.equal(await apply(example), 0)
  const tools = ['notes--list-notes', 'notes--add-note']
  const caller = runtime.as({ actor: 'agent', permissions: tools.map((tool) => `tool:${tool}:invoke`) })
  assert.deepEqual((await caller.call({ tool: 'notes--list-notes', input: {} })).output, { notes: [] })
  const added = await caller.call({ tool: 'notes--add-note', input: { text: 'milk' } })
  assert.equal(added.state, 'awaiting-approval')
  const changed = example.replace('  env:\n', '  env:\n    - { name: NOTES_LIST, value: Something else }\n')
  assert.equal(await apply(changed), 1)
  const refused = await caller.call({ tool: 'notes--list-notes', input: {} })
  assert.equal(refused.failure?.details.code, 'tool-quarantined')
  const { offered } = runtime.mcp.definition('default', 'notes--list-notes') ?? {}
  await runtime.mcp.accept('default', 'notes--list-notes', offered?.digest ?? '', 'ops')
  assert.equal((await caller.call({ tool: 'notes--list-notes', input: {} })).state, 'succeeded')
})
