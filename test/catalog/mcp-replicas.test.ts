// Discovery of the tools of one MCP server by several replicas over one real PostgreSQL: one set of tools, and no quarrel.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import {
  applyServer,
  type McpReplica,
  type Offered,
  openReplica,
  startService,
  toolRows,
  WITHIN_MS,
} from './mcp-replicas.ts'

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp-changing/stdio.ts')
const LABELS = { read_file: { effect: { class: 'read-only' } }, list: { effect: { class: 'read-only' } } }
const READ = { name: 'read_file', description: 'Reads a file' }
const LIST = { name: 'list', description: 'Lists a folder' }
const OTHER = { ...READ, description: 'Reads a file, and tells us' }
const TOOL = 'files--read-file'

let postgres: PostgresServer

before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

async function storeOf() {
  return { kind: 'postgres', url: await postgres.createDatabase(), poolSize: 3 } as const
}

async function openReplicas(t: TestContext, count: number): Promise<readonly McpReplica[]> {
  const store = await storeOf()
  const replicas: McpReplica[] = []
  for (let at = 0; at < count; at++) replicas.push(await openReplica(t, store))
  return replicas
}

/** A program that each replica starts for itself; all of them read one file. */
function programs(t: TestContext, first: readonly Offered[], more: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-mcp-replicas-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'tools.json')
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
  const offer = (tools: readonly Offered[]) =>
    writeFileSync(file, JSON.stringify(tools.map((one) => ({ ...one, inputSchema }))))
  offer(first)
  const env = Object.entries({ TOOLS_FILE: file, ...more }).map(([name, value]) => ({ name, value }))
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM]
  const spec: JsonObject = { transport: 'stdio', command: process.execPath, args, env, tools: LABELS }
  return { offer, spec }
}

async function service(t: TestContext, first: readonly Offered[]) {
  const peer = await startService(t, first)
  const spec: JsonObject = { transport: 'http', endpoint: peer.endpoint, tools: LABELS }
  return { offer: peer.offer, spec, peer }
}

const first = (replicas: readonly McpReplica[]): McpReplica => replicas[0] ?? assert.fail()
const last = (replicas: readonly McpReplica[]): McpReplica => replicas.at(-1) ?? assert.fail()

const agent = { actor: 'agent-1', permissions: [`tool:${TOOL}:invoke`, 'tool:files--list:invoke'] }

async function callOn({ runtime }: McpReplica, tool = TOOL): Promise<string> {
  const { state, failure } = await runtime.as(agent).call({ tool, input: { path: '/a' } })
  return failure === undefined ? state : String(failure.details.code ?? failure.id)
}

/** Every replica answers so, in the end. */
async function untilAll(replicas: readonly McpReplica[], wanted: string, tool = TOOL): Promise<void> {
  for (const replica of replicas)
    await until(async () => (await callOn(replica, tool)) === wanted, WITHIN_MS).catch(async () =>
      assert.equal(await callOn(replica, tool), wanted),
    )
}

async function untilReady(replicas: readonly McpReplica[]): Promise<void> {
  for (const { runtime } of replicas)
    await until(() => runtime.mcp.status('default', 'files')?.phase === 'Ready', WITHIN_MS)
}

const versionsOf = (rows: Awaited<ReturnType<typeof toolRows>>) =>
  rows.map(({ name, resourceVersion, generation }) => `${name} ${resourceVersion} ${generation}`)

/** No replica writes any tool, however often each of them looks. */
async function assertQuiet(replicas: readonly McpReplica[]): Promise<void> {
  const before = versionsOf(await toolRows(first(replicas)))
  await Promise.all(replicas.map((one) => one.looks(3)))
  assert.deepEqual(versionsOf(await toolRows(first(replicas))), before)
}

async function evidenceOf({ runtime }: McpReplica, type: string): Promise<number> {
  let count = 0
  for await (const line of runtime.audit.export()) if (line.includes(`"${type}"`)) count += 1
  return count
}

const WIRES = { 'a service over HTTP': service, 'a program for each': programs } as const

for (const [what, open] of Object.entries(WIRES)) {
  test(`S46: three replicas and ${what} make one set of tools, which all of them call`, async (t) => {
    const { spec, offer } = await open(t, [READ, LIST])
    const replicas = await openReplicas(t, 3)
    await applyServer(first(replicas), { ...spec, resync: '1s' })
    await untilReady(replicas)
    await untilAll(replicas, 'succeeded')
    await untilAll(replicas, 'succeeded', 'files--list')
    await Promise.all(replicas.map((one) => one.looks(1)))
    const rows = await toolRows(first(replicas))
    assert.deepEqual(
      rows.map(({ name, generation }) => [name, generation]),
      [
        ['files--list', 1],
        [TOOL, 1],
      ],
    )
    await assertQuiet(replicas)

    offer([OTHER, LIST])
    await untilAll(replicas, 'tool-quarantined')
    await untilAll(replicas, 'succeeded', 'files--list')
    assert.equal(await evidenceOf(first(replicas), 'definition.quarantined'), 1)
    await assertQuiet(replicas)

    const { mcp } = last(replicas).runtime
    const digest = mcp.definition('default', TOOL)?.offered?.digest ?? ''
    const accepted = await mcp.accept('default', TOOL, digest, 'ops')
    assert.equal(accepted.kind, 'accepted')
    await untilAll(replicas, 'succeeded')
    for (const { runtime } of replicas) assert.equal(runtime.mcp.definition('default', TOOL)?.pin, 2)
    await assertQuiet(replicas)
  })
}

test('what one replica is told of a change holds on all of them', async (t) => {
  // Nobody looks by itself within this test.
  const { spec, offer } = programs(t, [READ], { ONE_TELLS: 'yes' })
  const replicas = await openReplicas(t, 3)
  await applyServer(first(replicas), { ...spec, resync: '1h' })
  await untilReady(replicas)
  await untilAll(replicas, 'succeeded')
  // One may still be at its first look, while it knows the tools from another.
  await Promise.all(replicas.map(({ synced }) => until(() => synced.length > 0, WITHIN_MS)))
  const looked = replicas.map(({ synced }) => synced.length)
  offer([READ, LIST])
  await untilAll(replicas, 'succeeded', 'files--list')
  const more = replicas.filter(({ synced }, at) => synced.length > (looked[at] ?? 0))
  assert.equal(more.length, 1, 'one of them has looked again')
  offer([OTHER, LIST])
  await untilAll(replicas, 'tool-quarantined')
})

test('a replica that begins while another one lists does not undo what that one finds', async (t) => {
  const { spec, peer } = await service(t, [READ])
  peer.hold()
  const store = await storeOf()
  const replicas = [await openReplica(t, store)]
  await applyServer(first(replicas), { ...spec, resync: '1h' })
  for (const begun of [1, 2]) {
    await until(() => peer.lists() === begun, WITHIN_MS)
    replicas.push(await openReplica(t, store))
  }
  await until(() => peer.lists() === 3, WITHIN_MS)
  peer.letGo('one')
  await untilReady([first(replicas)])
  assert.equal(peer.lists(), 3, 'the first list was the one that counted')
  peer.letGo()
  await Promise.all(replicas.map(({ synced }) => until(() => synced.length > 0, WITHIN_MS)))
  await untilAll(replicas, 'succeeded')
})

test('replicas whose programs are of two versions do not undo what the other one has written', async (t) => {
  const GONE = { name: 'list', description: 'Lists a folder' }
  const NEW = { name: 'write', description: 'Writes a file' }
  // Each program goes on with what the file was when it was started.
  const { spec, offer } = programs(t, [READ, GONE], { FROZEN: 'yes' })
  const store = await storeOf()
  const old = await openReplica(t, store)
  await applyServer(old, { ...spec, resync: '1s' })
  await untilReady([old])
  offer([OTHER, NEW])
  const young = await openReplica(t, store)
  const replicas = [old, young]
  await untilAll(replicas, 'tool-quarantined')
  await until(() => young.runtime.tools('default').length === 3, WITHIN_MS)
  await Promise.all(replicas.map((one) => one.looks(2)))
  assert.deepEqual(
    (await toolRows(old)).map(({ name }) => name),
    ['files--list', TOOL, 'files--write'],
  )
  // Of what one of them has, the others may be asked: it is there.
  await untilAll([old], 'succeeded', 'files--list')
  await assertQuiet(replicas)
  assert.equal(await evidenceOf(old, 'definition.quarantined'), 1)

  // Whoever accepts the new one is shown the old one, since a program still says it; and that once.
  const { mcp } = old.runtime
  const pinned = mcp.definition('default', TOOL)?.digest
  const digest = mcp.definition('default', TOOL)?.offered?.digest ?? ''
  assert.notEqual(digest, pinned)
  assert.equal((await mcp.accept('default', TOOL, digest, 'ops')).kind, 'accepted')
  await until(() => mcp.definition('default', TOOL)?.offered?.digest === pinned, WITHIN_MS)
  await assertQuiet(replicas)
  await untilAll(replicas, 'tool-quarantined')
  assert.equal(await evidenceOf(old, 'definition.quarantined'), 2)

  // The old program goes: what the other one says is what was accepted.
  await old.close()
  await young.looks(2)
  assert.equal(young.runtime.mcp.definition('default', TOOL)?.digest, digest)
})
