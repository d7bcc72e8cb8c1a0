// writ schema: what editors are given.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { EDITOR_SCHEMA } from '../../scripts/editor-schema.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

async function writ(...words: readonly string[]) {
  const terminal = createRecordingTerminal()
  return { code: await dispatch(words, terminal), ...terminal.written }
}

test('writ schema prints what is in docs/schema', async () => {
  assert.deepEqual(await writ('schema'), { code: 0, out: readFileSync(EDITOR_SCHEMA, 'utf8'), err: '' })
})

test('writ schema KIND is about that kind alone, by each of its words', async () => {
  const { code, out } = await writ('schema', 'roles')
  const { title, properties } = JSON.parse(out)
  assert.deepEqual([code, title, properties.kind.anyOf[0].enum], [0, 'Writ: AgentRole', ['AgentRole']])
  for (const word of ['role', 'agent-role', 'agent-roles'])
    assert.equal((await writ('schema', word)).out, out, word)
})

test('a kind that there is not is refused with those that there are', async () => {
  const { code, out, err } = await writ('schema', 'tolls')
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /does not know 'tolls'[\s\S]*tools/)
})
