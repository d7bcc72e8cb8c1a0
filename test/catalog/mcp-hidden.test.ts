// What an MCP server hides in its definitions: it is not shown, it is noticed, and no secret gets through by it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMcpHouse, READ } from './mcp-house.ts'

const isReady = ({ phase }: { readonly phase: string }) => phase === 'Ready'
const TOOL = 'files--read-file'

/** The tool with that text in its schema. */
const saying = (text: string) => ({
  ...READ,
  inputSchema: { type: 'object', properties: { path: { type: 'string', description: text } } },
})

test('S46: a hidden change in a schema quarantines the tool, is in the diff, and is accepted once', async (t) => {
  const house = await createMcpHouse([saying('Where it is')])
  t.after(house.close)
  await house.apply(house.manifest())
  await house.until(isReady, 0)
  house.offer([saying('Where\u200b it\u001b[8m is')])
  await house.until(({ quarantined }) => quarantined === 1)
  const { mcp } = house.runtime
  const offered = mcp.definition('default', TOOL)?.offered
  assert.deepEqual(
    offered?.changes.map(({ op, path }) => [op, path]),
    [['add', '/said']],
  )
  const accepted = await mcp.accept('default', TOOL, offered?.digest ?? '', 'ops')
  assert.equal(accepted.kind, 'accepted')
  const [row] = await house.runtime.resources.list({ namespace: 'default', kind: 'Tool', name: TOOL })
  assert.ok(JSON.stringify(row?.body).includes('"description":"Where it is"'))
  // Asked again, it is what was taken on.
  house.offer([saying('Where\u200b it\u001b[8m is')])
  assert.equal((await house.until(isReady)).quarantined, 0)
  assert.equal(mcp.definition('default', TOOL)?.state, 'pinned')
})

test('a secret is found in a schema also where characters that nobody sees are put into it', async (t) => {
  const house = await createMcpHouse([saying('token canary-\u200b3f9a\u001b[0m77c1')])
  t.after(house.close)
  await house.applyWithSecret('canary-3f9a77c1')
  await house.until(isReady, 0)
  const rows = JSON.stringify(await house.runtime.resources.list({ namespace: 'default', kind: 'Tool' }))
  assert.match(rows, /token \[redacted\]/)
  assert.ok(!rows.includes('canary-3f9a77c1'))
})
