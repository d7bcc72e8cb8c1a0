// Secrets in the store: in clear nowhere, damaged without harm to others, and wrapped by newer master keys while all goes on.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { createMasterKeyRing } from '../../src/credential/key-ring.ts'
import { masterKeySource } from '../../src/credential/master-key-source.ts'
import { createSecretSealer } from '../../src/credential/secret-sealer.ts'
import { createRuntime, defineTool } from '../../src/index.ts'
import type { RuntimeOptions } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { stores } from '../../src/store/registry.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'

const CANARY = 'canary-value-0001'
const ADMIN = { actor: 'admin' }

const manifest = (name: string, spec: string, namespace = 'default') =>
  `apiVersion: writ.dev/v1\nkind: Secret\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: ${spec}\n`

const apply = (runtime: Runtime, text: string, dryRun = false) =>
  runtime.resources.apply([{ text, file: 'secret.yaml' }], { dryRun })

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function open(t: TestContext, options: RuntimeOptions): Promise<Runtime> {
  const runtime = await createRuntime({ onWarning: () => {}, ...options })
  t.after(() => runtime.close())
  return runtime
}

/** What the rows of a store hold, by a sealer of their own over a file of keys. */
async function valuesOf(store: Pick<Store, 'resources'>, file: string) {
  const world = createSystemWorld()
  const source = masterKeySource({ file }, { world, env: {}, folder: '/' })
  const sealer = createSecretSealer(world, createMasterKeyRing(source, world))
  const [newest] = await sealer.keys.fresh()
  const rows = await store.resources.list({ kind: 'Secret' })
  const found: Record<string, string | undefined> = {}
  for (const row of rows) found[row.name] = (await sealer.open(row)).value
  return {
    found,
    stale: rows.filter(({ body }) => (body.sealing as { key_id?: string }).key_id !== newest.id).length,
  }
}

async function openMemory(): Promise<Store> {
  return (await stores.memory())({ world: createSystemWorld(), onFailed: () => {} })
}

describe('the values of secrets', () => {
  it('are in no file of the store, no answer, no difference, no problem and no evidence', async (t) => {
    const folder = folderOf(t)
    const path = join(folder, 'writ.db')
    const runtime = await open(t, { store: { kind: 'sqlite', path } })
    const base64 = Buffer.from(CANARY).toString('base64')
    const said: unknown[] = []
    const spec = `{stringData: {value: ${CANARY}}, data: {other: ${base64}}, share_with: [blue]}`
    said.push(await apply(runtime, manifest('api', spec), true))
    assert.deepEqual(await runtime.resources.list({ kind: 'Secret' }), [], 'a dry run keeps nothing')
    const created = await apply(runtime, manifest('api', spec))
    assert.equal(created.ok, true)
    said.push(created, await apply(runtime, manifest('api', spec)))
    said.push(await apply(runtime, manifest('api', `{stringData: {value: ${CANARY}-2}}`)))
    for (const wrong of [
      `{stringData: {value: [${CANARY}]}}`,
      `{stringData: ${CANARY}}`,
      `{data: {value: ${CANARY}}}`,
      `{stringdata: {value: ${CANARY}}}`,
      `{stringData: {value: ${CANARY}, value: ${CANARY}}}`,
      `{stringData: {value: "${CANARY}}}`,
      `{stringData: {value: ${CANARY}}, sealing: {key_id: ${CANARY}}}`,
      `{stringData: {value: ${CANARY}}, share_with: ['No Namespace']}`,
      `{stringData: {value: *${CANARY}}}`,
      `{stringData: {value: !${CANARY} x}}`,
      `{share_with: ${CANARY}}`,
      CANARY,
    ]) {
      const refused = await apply(runtime, manifest('bad', wrong))
      assert.equal(refused.ok, false, wrong)
      said.push(refused)
    }
    const noted = { note: JSON.stringify({ stringData: { value: CANARY } }), other: `x${base64}` }
    for (const [name, text] of Object.entries(noted)) {
      const metadata = { name: 'api', annotations: { [name]: text } }
      const whole = {
        apiVersion: 'writ.dev/v1',
        kind: 'Secret',
        metadata,
        spec: { stringData: { value: CANARY } },
      }
      const refused = await apply(runtime, JSON.stringify(whole))
      assert.match(JSON.stringify(refused), /holds a value of the secret, in the clear/)
      said.push(refused)
    }
    said.push(await runtime.resources.list({}), await runtime.secrets.rotateKey(ADMIN))
    let evidence = ''
    for await (const piece of runtime.audit.export()) evidence += piece
    assert.match(evidence, /secret\.rewrapped/)
    const look = () =>
      readdirSync(folder).map((name): [string, Buffer] => [name, readFileSync(join(folder, name))])
    const whileOpen = look()
    assert.ok(whileOpen.some(([name]) => name.endsWith('-wal')))
    await runtime.close()
    const places: [string, Buffer][] = [
      ...whileOpen,
      ...look(),
      ['answers', Buffer.from(JSON.stringify(said))],
      ['evidence', Buffer.from(evidence)],
    ]
    for (const [place, bytes] of places)
      for (const form of [CANARY, base64.slice(0, -4), encodeURIComponent(CANARY)])
        assert.ok(!bytes.includes(form), `${form} in ${place}`)
    assert.equal(statSync(`${path}.master-key`).mode & 0o777, 0o600)
    const again = await open(t, { store: { kind: 'sqlite', path } })
    const { rewrapped, unopened } = await again.secrets.rotateKey(ADMIN)
    assert.deepEqual([rewrapped, unopened], [1, []], 'the next start opens what this one has sealed')
  })

  it('are shown as ***, and what was shown can be applied again without changing anything', async (t) => {
    const runtime = await open(t, {})
    await apply(runtime, manifest('api', `{stringData: {value: ${CANARY}, user: somebody-1}}`))
    const [row] = await runtime.resources.list({ kind: 'Secret' })
    assert.deepEqual(row?.body.spec, { data: { value: '***', user: '***' } })
    assert.equal('sealing' in (row?.body ?? {}), false)
    const again = await apply(runtime, JSON.stringify(row?.body))
    assert.deepEqual([again.ok, again.diff[0]?.action], [true, 'unchanged'])
    const edited = await apply(
      runtime,
      manifest('api', `{data: {value: '***'}, stringData: {user: somebody-2}}`),
    )
    assert.deepEqual(edited.diff[0]?.changes, [
      { op: 'change', path: 'spec.data.user', from: '***', to: '***' },
    ])
    const [after] = await runtime.resources.list({ kind: 'Secret' })
    assert.deepEqual([after?.generation, after?.resourceVersion], [2, (row?.resourceVersion ?? 0) + 1])
  })
})

describe('a damaged secret', () => {
  it('harms nobody but those who use it, and is mended by applying it anew', async (t) => {
    const store = await openMemory()
    const runtime = await open(t, { store: { kind: 'given', store }, masterKey: new Uint8Array(32) })
    runtime.define(
      defineTool({
        name: 'echo',
        version: '1.0.0',
        effect: { class: 'read-only', determinism: 'pure' },
        handler: () => 1,
      }),
    )
    for (const name of ['good', 'bad'])
      await apply(runtime, manifest(name, `{stringData: {value: ${CANARY}}}`))
    const broken = { digest: 'sha256:x', body: { sealing: 5, spec: [] } as never }
    await store.resources.apply(
      'default',
      [{ kind: 'Secret', name: 'bad', version: '0.0.0', put: broken }],
      1,
      [],
    )
    const caller = { actor: 'me', namespace: 'default', permissions: ['tool:echo:invoke'] }
    const answer = await runtime.as(caller).call({ tool: 'echo' })
    assert.equal(answer.state, 'succeeded')
    const { unopened, left } = await runtime.secrets.rotateKey(ADMIN)
    assert.deepEqual(
      [left, unopened.map(({ namespace, name }) => `${namespace}/${name}`)],
      [0, ['default/bad']],
    )
    assert.match(unopened[0]?.why ?? '', /Fix: apply it anew/)
    const kept = await apply(runtime, manifest('bad', `{data: {value: '***'}}`))
    assert.equal(kept.ok, false)
    const mended = await apply(runtime, manifest('bad', `{stringData: {value: ${CANARY}}}`))
    assert.equal(mended.ok, true, JSON.stringify(mended.problems))
    assert.deepEqual((await runtime.secrets.rotateKey(ADMIN)).unopened, [])
  })
})

describe('a newer master key', () => {
  it('that an interrupted rotation has brought in part opens all with both, and is completed by the next', async (t) => {
    const file = join(folderOf(t), 'master-key')
    const store = await openMemory()
    let writes = Number.NEGATIVE_INFINITY
    const resources = Object.create(store.resources, {
      apply: {
        value: (...args: Parameters<Store['resources']['apply']>) => {
          if (++writes > 1) throw new StoreUnavailable('cut')
          return store.resources.apply(...args)
        },
      },
    })
    const failing = Object.create(store, { resources: { value: resources } })
    const runtime = await open(t, {
      store: { kind: 'given', store: failing },
      masterKey: { file, make: true },
    })
    const set = Array.from({ length: 120 }, (_, at) =>
      manifest(`s${at}`, `{stringData: {value: ${CANARY}-${at}}}`),
    )
    assert.equal((await apply(runtime, set.join('---\n'))).ok, true)
    writes = 0
    await assert.rejects(runtime.secrets.rotateKey(ADMIN), StoreUnavailable)
    writes = Number.NEGATIVE_INFINITY
    const half = await valuesOf(store, file)
    assert.equal(half.stale, 70, 'a batch of fifty was done')
    assert.equal(Object.keys(half.found).length, 120)
    const { rewrapped, left, unused } = await runtime.secrets.rotateKey(ADMIN)
    assert.deepEqual([rewrapped, left, unused.length], [120, 0, 2])
    const whole = await valuesOf(store, file)
    assert.equal(whole.stale, 0)
    for (const [name, value] of Object.entries(whole.found)) assert.equal(value, `${CANARY}-${name.slice(1)}`)
  })
})

describe('with PostgreSQL', () => {
  let postgres: PostgresServer
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  it('secrets are refused with the fix where no master key is given, and all else goes on', async (t) => {
    const runtime = await open(t, { store: { kind: 'postgres', url: await postgres.createDatabase() } })
    const refused = await apply(runtime, manifest('api', `{stringData: {value: ${CANARY}}}`))
    assert.match(refused.problems[0]?.message ?? '', /cannot be sealed: there is no master key/)
    assert.match(refused.problems[0]?.fix ?? '', /master_key/)
    await assert.rejects(runtime.secrets.rotateKey(ADMIN), { name: 'MasterKeyUnavailable' })
  })

  it('two replicas rotate at once while both write: no value is lost, and all have the newest key', async (t) => {
    const url = await postgres.createDatabase()
    const file = join(folderOf(t), 'master-key')
    const options: RuntimeOptions = { store: { kind: 'postgres', url }, masterKey: { file, make: true } }
    const a = await open(t, options)
    const b = await open(t, options)
    const set = Array.from({ length: 60 }, (_, at) =>
      manifest(`s${at}`, `{stringData: {value: ${CANARY}-${at}}}`),
    )
    assert.equal((await apply(a, set.join('---\n'))).ok, true)
    const last = new Map<string, string>()
    const change = async (runtime: Runtime, from: number) => {
      for (let at = from; at < 60; at += 6) {
        const value = `changed-${at}-${CANARY}`
        // Whoever comes second is told of the conflict, and tries again.
        while (!(await apply(runtime, manifest(`s${at}`, `{stringData: {value: ${value}}}`))).ok);
        last.set(`s${at}`, value)
      }
    }
    const rotate = (runtime: Runtime) =>
      runtime.secrets.rotateKey(ADMIN).catch((error: Error) => {
        // Both wanted to write the file in the same moment.
        assert.match(error.message, /another change of .* is under way/)
        return runtime.secrets.rotateKey(ADMIN)
      })
    await Promise.all([rotate(a), rotate(b), change(a, 0), change(b, 3)])
    const { left, unopened } = await a.secrets.rotateKey(ADMIN)
    assert.deepEqual([left, unopened], [0, []])
    const rows = await postgres.query(
      "select namespace, name, body::text as body from writ.resource where kind = 'Secret'",
      [],
      new URL(url).pathname.slice(1),
    )
    const kept = rows.map((row) => ({ ...row, body: JSON.parse(String(row.body)) }))
    const { found, stale } = await valuesOf({ resources: { list: async () => kept as never } as never }, file)
    assert.equal(stale, 0)
    for (let at = 0; at < 60; at++)
      assert.equal(found[`s${at}`], last.get(`s${at}`) ?? `${CANARY}-${at}`, `s${at}`)
    assert.equal(existsSync(`${file}.lock`), false)
  })
})
