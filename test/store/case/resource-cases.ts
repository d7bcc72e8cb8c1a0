// Declared resources: all or nothing, with optimistic concurrency.
import assert from 'node:assert/strict'
import type { ApplyResult, ResourceChange, ResourceRow, Store } from '../../../src/store/store.ts'
import { makeEvidence } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

function put(name: string, digest: string, over: Partial<ResourceChange> = {}): ResourceChange {
  return { kind: 'Tool', name, version: '1.0.0', put: { digest, body: { name, digest } }, ...over }
}

function remove(name: string, over: Partial<ResourceChange> = {}): ResourceChange {
  return { kind: 'Tool', name, version: '1.0.0', ...over }
}

async function applied(
  store: Store,
  at: number,
  ...changes: ResourceChange[]
): Promise<readonly ResourceRow[]> {
  const result: ApplyResult = await store.resources.apply('default', changes, at, [])
  assert.equal(result.kind, 'applied')
  return result.kind === 'applied' ? result.rows : []
}

async function names(store: Store): Promise<string[]> {
  return (await store.resources.list({})).map((row) => `${row.name}@${row.version}`)
}

export const resourceCases: readonly StoreCase[] = [
  {
    name: 'the stamp changes with every put and every removal, and with nothing else',
    async run({ open }) {
      const store = await open()
      const look = async () => JSON.stringify(await store.resources.stamp())
      const seen = [await look()]
      const note = async () => seen.push(await look())
      await applied(store, 1_000, put('mail', 'd1'))
      await note()
      await applied(store, 2_000, put('mail', 'd2'))
      await note()
      await applied(store, 3_000, remove('mail'))
      await note()
      await applied(store, 4_000, put('mail', 'd2'))
      await note()
      assert.equal(new Set(seen).size, seen.length, seen.join(' '))
      await applied(store, 5_000, put('mail', 'd2'))
      assert.equal(await look(), seen.at(-1))
    },
  },
  {
    name: 'a put makes a row of generation 1 and gives it back',
    async run({ open }) {
      const store = await open()
      const [row] = await applied(store, 1_000, put('mail', 'd1'))
      assert.ok(row!.resourceVersion > 0)
      const { resourceVersion, ...rest } = row!
      assert.deepEqual(rest, {
        namespace: 'default',
        kind: 'Tool',
        name: 'mail',
        version: '1.0.0',
        generation: 1,
        digest: 'd1',
        body: { name: 'mail', digest: 'd1' },
        createdAt: 1_000,
        updatedAt: 1_000,
      })
      assert.deepEqual(await store.resources.list({ namespace: 'default', kind: 'Tool', name: 'mail' }), [
        row,
      ])
    },
  },
  {
    name: 'a put that changes nothing keeps the row as it is, whatever the order of its fields',
    async run({ open }) {
      const store = await open()
      const first = put('mail', 'd1', { put: { digest: 'd1', body: { a: 1, b: { c: [1], d: 2 } } } })
      const same = put('mail', 'd1', { put: { digest: 'd1', body: { b: { d: 2, c: [1] }, a: 1 } } })
      const before = await applied(store, 1_000, first)
      assert.deepEqual(await applied(store, 2_000, same), before)
      assert.deepEqual(await store.resources.list({}), before)
    },
  },
  {
    name: 'the generation moves with the digest, the resourceVersion with every change',
    async run({ open }) {
      const store = await open()
      const [first] = await applied(store, 1_000, put('mail', 'd1'))
      const reworded = put('mail', 'd1', {
        put: { digest: 'd1', body: { name: 'mail', description: 'new' } },
      })
      const [second] = await applied(store, 2_000, reworded)
      assert.equal(second!.generation, 1)
      assert.ok(second!.resourceVersion > first!.resourceVersion)
      assert.deepEqual([second!.createdAt, second!.updatedAt], [1_000, 2_000])
      const [third] = await applied(store, 3_000, put('mail', 'd2'))
      assert.equal(third!.generation, 2)
      assert.ok(third!.resourceVersion > second!.resourceVersion)
    },
  },
  {
    name: 'expect names the version that must be there; 0 that none is; none takes any',
    async run({ open }) {
      const store = await open()
      const [row] = await applied(store, 1_000, put('mail', 'd1', { expect: 0 }))
      const exists = put('mail', 'd2', { expect: 0 })
      assert.deepEqual(await store.resources.apply('default', [exists], 2_000, []), {
        kind: 'conflict',
        change: exists,
        found: row,
      })
      const stale = put('mail', 'd2', { expect: row!.resourceVersion + 1 })
      assert.equal((await store.resources.apply('default', [stale], 2_000, [])).kind, 'conflict')
      const absent = remove('pay', { expect: 7 })
      assert.deepEqual(await store.resources.apply('default', [absent], 2_000, []), {
        kind: 'conflict',
        change: absent,
      })
      await applied(store, 2_000, put('mail', 'd2', { expect: row!.resourceVersion }))
      await applied(store, 2_000, put('mail', 'd3'))
    },
  },
  {
    name: 'an apply with one conflict changes nothing, and its evidence is not written',
    async run({ open }) {
      const store = await open()
      await applied(store, 1_000, put('mail', 'd1'), put('pay', 'd1'))
      const before = await store.resources.list({})
      const changes = [put('mail', 'd2'), remove('pay'), put('new', 'd1'), put('mail', 'd3', { expect: 0 })]
      const result = await store.resources.apply('default', changes, 2_000, [makeEvidence('apply-1')])
      assert.equal(result.kind, 'conflict')
      assert.deepEqual(await store.resources.list({}), before)
      assert.deepEqual(await store.evidence.forCall('default', 'apply-1'), [])
      await store.resources.apply('default', [put('new', 'd1')], 2_000, [makeEvidence('apply-2')])
      assert.deepEqual(await store.evidence.forCall('default', 'apply-2'), [makeEvidence('apply-2')])
    },
  },
  {
    name: 'a delete removes the row; deleting what is not there does nothing',
    async run({ open }) {
      const store = await open()
      const [row] = await applied(store, 1_000, put('mail', 'd1'))
      assert.deepEqual(
        await applied(store, 2_000, remove('mail', { expect: row!.resourceVersion }), remove('pay')),
        [],
      )
      assert.deepEqual(await store.resources.list({}), [])
    },
  },
  {
    name: 'a resourceVersion is never given twice, not even to a resource that is made again',
    async run({ open }) {
      const store = await open()
      const [first] = await applied(store, 1_000, put('mail', 'd1'))
      await applied(store, 2_000, remove('mail'))
      const [second] = await applied(store, 3_000, put('mail', 'd1'))
      assert.ok(second!.resourceVersion > first!.resourceVersion)
      assert.deepEqual([second!.generation, second!.createdAt], [1, 3_000])
      const late = put('mail', 'd2', { expect: first!.resourceVersion })
      assert.equal((await store.resources.apply('default', [late], 4_000, [])).kind, 'conflict')
    },
  },
  {
    name: 'later changes of one apply see earlier ones',
    async run({ open }) {
      const store = await open()
      const rows = await applied(
        store,
        1_000,
        put('mail', 'd1', { expect: 0 }),
        put('mail', 'd2'),
        remove('mail'),
        put('mail', 'd3'),
      )
      assert.deepEqual(
        rows.map((row) => [row.digest, row.generation]),
        [
          ['d1', 1],
          ['d2', 2],
          ['d3', 1],
        ],
      )
      assert.deepEqual(await store.resources.list({}), [rows[2]])
    },
  },
  {
    name: 'S49: versions are rows of their own, and namespaces do not meet',
    async run({ open }) {
      const store = await open()
      await applied(
        store,
        1_000,
        put('pay', 'd1'),
        put('mail', 'd2', { version: '2.0.0' }),
        put('mail', 'd1'),
      )
      await store.resources.apply(
        'other',
        [put('mail', 'd9'), put('mail', 'd9', { kind: 'McpServer' })],
        1_000,
        [],
      )
      assert.deepEqual(await names(store), [
        'mail@1.0.0',
        'mail@2.0.0',
        'pay@1.0.0',
        'mail@1.0.0',
        'mail@1.0.0',
      ])
      assert.equal((await store.resources.list({ namespace: 'other' })).length, 2)
      assert.equal((await store.resources.list({ kind: 'McpServer' })).length, 1)
      assert.equal((await store.resources.list({ namespace: 'default', name: 'mail' })).length, 2)
      assert.deepEqual(await store.resources.list({ namespace: 'nobody' }), [])
    },
  },
  {
    name: 'what was put since a version is listed alone; the keys are of everything that there is',
    async run({ open }) {
      const store = await open()
      const since = async (version: number, more = {}) =>
        (await store.resources.list({ since: version, ...more })).map(({ name }) => name)
      const [mail, pay] = await applied(store, 1_000, put('mail', 'd1'), put('pay', 'd1'))
      await store.resources.apply('other', [put('zip', 'd1')], 1_000, [])
      const { last } = await store.resources.stamp()
      assert.deepEqual(await since(0), ['mail', 'pay', 'zip'])
      assert.deepEqual(await since(mail!.resourceVersion), ['pay', 'zip'])
      assert.deepEqual(await since(pay!.resourceVersion, { namespace: 'default' }), [])
      assert.deepEqual(await since(last), [])
      await applied(store, 2_000, put('mail', 'd2'), put('pay', 'd1'), put('new', 'd1'))
      assert.deepEqual(await since(last), ['mail', 'new'], 'one that a put did not change is not new')
      await applied(store, 3_000, remove('mail'), remove('pay'))
      assert.deepEqual(await since(last), ['new'])
      const key = { kind: 'Tool', version: '1.0.0' }
      assert.deepEqual(await store.resources.keys(), [
        { ...key, namespace: 'default', name: 'new' },
        { ...key, namespace: 'other', name: 'zip' },
      ])
      assert.equal((await store.resources.stamp()).count, 2)
    },
  },
  {
    name: 'resources are there after a restart, and versions go on from where they were',
    async run({ world, open }) {
      const first = await open()
      const [row] = await applied(first, 1_000, put('mail', 'd1'))
      await first.close()
      const second = await open({ ...world, epoch: world.id() })
      assert.deepEqual(await second.resources.list({}), [row])
      const [next] = await applied(second, 2_000, put('pay', 'd1'))
      assert.ok(next!.resourceVersion > row!.resourceVersion)
    },
  },
]
