// docs/reference/threats.md: each threat has a test that shows what stops it, and that test is there.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readTable, THREATS_PAGE } from './threats-page.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SHOWN = /`(test\/[\w./-]+\.test\.ts)` “([^”]+)”/g

/** The names of the tests in a file, as they are written there. */
function namesOf(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/\b(?:it|test)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)].map(
    ([, , name = '']) => name,
  )
}

function isThere(file: string, name: string): boolean {
  return existsSync(join(ROOT, file)) && namesOf(file).some((one) => one.startsWith(name))
}

test('every threat has a test that is there', () => {
  const threats = readTable('threats')
  assert.ok(threats.length > 30)
  for (const [at, [id, threat, stop, shown = '']] of threats.entries()) {
    assert.deepEqual([id, threat === '', stop === ''], [`T${at + 1}`, false, false])
    const tests = [...shown.matchAll(SHOWN)]
    assert.equal(tests.length, shown.split('<br>').length, `${id}: ${shown}`)
    for (const [, file = '', name = ''] of tests)
      assert.ok(isThere(file, name), `${file} has no test “${name}”`)
  }
})

test('the lists of OWASP name threats of the table, and tests that are there', () => {
  const text = readFileSync(join(ROOT, THREATS_PAGE), 'utf8')
  const known = new Set(readTable('threats').map(([id]) => id))
  const rows = text.split('\n').filter((line) => /^\| (MCP|ASI)\d\d \|/.test(line))
  assert.equal(rows.length, 20)
  for (const row of rows) {
    const ids = [...row.matchAll(/\bT\d+\b/g)].map(([id]) => id)
    for (const id of ids) assert.ok(known.has(id), `${row} names ${id}`)
    for (const [, file = '', name = ''] of row.matchAll(SHOWN)) assert.ok(isThere(file, name), row)
    assert.ok(ids.length > 0 || row.includes('not about authorisation'), row)
  }
})

test('a test that is not there is missed', () => {
  assert.equal(isThere('test/docs/threats.test.ts', 'a test that is not there is missed'), true)
  assert.equal(isThere('test/docs/threats.test.ts', 'there is no such test'), false)
  assert.equal(isThere('test/docs/none.test.ts', 'a test'), false)
})
