// What is advised about a database file that cannot be opened.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenStoreFix, storeFixOf } from '../../src/cli/store-fix.ts'

test('a broken file is restored, a full disk is emptied, and what is no fault of the file is left alone', () => {
  for (const said of ['database disk image is malformed', 'file is not a database'])
    assert.match(storeFixOf(`cannot open the store x: ${said}`) ?? '', /^restore a backup/)
  assert.match(storeFixOf('cannot open the store x: database or disk is full') ?? '', /^make room/)
  assert.match(storeFixOf('attempt to write a readonly database') ?? '', /owner/)
  assert.equal(storeFixOf('port 7411 is in use'), undefined)
  assert.match(brokenStoreFix('no such table: writ_schema'), /^restore a backup/)
})
