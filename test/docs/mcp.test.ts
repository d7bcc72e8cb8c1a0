// The guide on MCP servers: its manifest is the example, and its lines do what the text says.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { follow, shownIn, textOf } from './guide.ts'

const GUIDE = 'docs/guide/mcp.md'

it('the manifest of the guide is the one in examples', () => {
  const shown = shownIn(GUIDE, 'yaml')
  assert.ok(textOf('examples/mcp-tool/mcp-server.yaml').includes(shown.trim()))
})

it('its tools are made: one reads at once, one waits for approval, and one that changed waits to be accepted', async (t) => {
  const { written } = await follow(t, { path: GUIDE, data: '.writ-mcp' })
  assert.match(written, /^McpServer default\/notes created/m)
  assert.match(written, /^notes +stdio +Ready +2 +0 /m)
  assert.match(written, /^awaiting-approval /m)
  assert.match(written, /^McpServer default\/notes updated/m)
  assert.match(written, /tool-quarantined/)
  assert.match(written, /^ +- "All notes, the oldest first\."\n +\+ "Something else\."$/m)
  assert.match(written, /^State: +pinned$/m)
  assert.equal(written.match(/"notes": \[/g)?.length, 2, written)
  assert.equal(written.match(/^succeeded {2}effect: none/gm)?.length, 2, written)
})
