// A process of its own for the SQLite tests: `node child.ts VERB PATH`. Everything it has to say is one line of text.

import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lockFile } from '../../../src/store/sqlite/lock.ts'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { insertOf, makeEntry, makeEvidence, newLife, updateOf } from '../fixture.ts'

const [verb, path = ''] = process.argv.slice(2)
const world = newLife()
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Writes until the store fails or the process dies; tells of each write only once it is acknowledged. */
async function writeOn(store: Store, lane: number): Promise<void> {
  for (let index = 0; ; index += 1) {
    const entry = makeEntry(world, {
      key: `${lane}-${index}`,
      payload: { inline: 'x'.repeat(500) },
    })
    const evidence = [makeEvidence(entry.callId)]
    await store.ledger.intend({ ...insertOf(entry), evidence })
    say(`intended ${entry.key}`)
    await store.ledger.settle({ ...updateOf(entry, ['sent', 'done'], { settledAt: 2_000 }), evidence })
    say(`settled ${entry.key}`)
    void store.ledger.note({ namespace: 'default', evidence })
  }
}

if (verb === 'write') {
  let failures = 0
  const store = await createSqliteStore({ world, path, onFailed: () => (failures += 1) })
  say(`epoch ${world.epoch}`)
  const ended = await Promise.allSettled(Array.from({ length: 16 }, (_, lane) => writeOn(store, lane)))
  const reasons = new Set(ended.map((lane) => (lane.status === 'rejected' ? lane.reason.name : 'none')))
  const read = await store.entries.find('any', 'key').then(String, (error) => error.name)
  const later = await store.ledger.intend(insertOf(makeEntry(world))).then(String, (error) => error.name)
  await store.close()
  say(
    `failed ${JSON.stringify({ reasons: [...reasons], failures, read, later, message: store.failed?.message })}`,
  )
} else if (verb === 'lock') {
  // Nobody keeps what it gives: the lock must hold all the same.
  lockFile(join(path, 'writ.db'))
  setFlagsFromString('--expose-gc')
  for (let round = 0; round < 3; round += 1) {
    runInNewContext('gc')()
    await new Promise((resolve) => setImmediate(resolve))
  }
  say('locked')
  setInterval(() => undefined, 60_000)
} else if (verb === 'open') {
  const store = await createSqliteStore({ world, path })
  say(`opened ${(await store.evidence.epochs()).length > 0}`)
  await store.close()
} else if (verb === 'leave-open') {
  const store = await createSqliteStore({ world, path })
  void store.ledger.note({ namespace: 'default', evidence: [makeEvidence('left')] })
  say(`epoch ${world.epoch}`)
}
