// Erasing is for good: nothing of a payload or an output is left in the files.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { insertOf, makeCall, makeEndedCall, makeEntry, newLife, updateOf } from '../fixture.ts'
import { temporaryFolder } from './process.ts'

it('S18: what was erased is not in the database file any more, small or large', async (t) => {
  const folder = temporaryFolder(t)
  const world = newLife()
  const store = await createSqliteStore({ world, path: join(folder, 'writ.db') })
  for (let index = 0; index < 60; index += 1) {
    // Every third is larger than a page.
    const filler = 'y'.repeat(index % 3 === 0 ? 9_000 : 100)
    const entry = makeEntry(world, { payload: { inline: [`PRIVATE-IN-${index}`, filler] } })
    const running = makeCall(world, { id: entry.callId, entryId: entry.id })
    await store.ledger.intend({ ...insertOf(entry), calls: [running] })
    const output = [`PRIVATE-OUT-${index}`, filler]
    const outcome = { output: { inline: output }, sideEffects: [], warnings: [] }
    const ended = makeEndedCall(world, { id: entry.callId, entryId: entry.id })
    await store.ledger.settle({
      ...updateOf(entry, ['sent', 'done'], { outcome, settledAt: 2_000 }),
      calls: [{ ...ended, answer: { ...ended.answer!, output } }],
    })
  }
  const text = () =>
    readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'latin1'))
      .join()
  assert.match(text(), /PRIVATE-IN-59/)
  assert.match(text(), /PRIVATE-OUT-59/)
  assert.equal(await store.entries.erase(3_000, 1_000), 120)
  await store.close()
  assert.deepEqual(readdirSync(folder), ['writ.db'])
  assert.deepEqual(text().match(/PRIVATE-\w+-\d+/g), null)
})
