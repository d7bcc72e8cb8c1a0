// Two-phase calls over a real service that counts (S26): no second effect, and each way to go wrong has its own failure.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { ActionResult, CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { bodyOf, sent, startTwoPhaseTool, type TwoPhaseTool } from './two-phase-tool.ts'
import { until } from './until.ts'

const STORES = ['memory', 'sqlite'] as const
const MAY = { permissions: ['tool:book:invoke'] }

interface Scene {
  readonly tool: TwoPhaseTool
  readonly runtime: Runtime
  readonly door: CallerDoor
}

async function scene(t: TestContext, kind: (typeof STORES)[number], more = ''): Promise<Scene> {
  const tool = await startTwoPhaseTool()
  t.after(() => tool.close())
  const { store, remove } = storeOf(kind)
  const runtime = await createRuntime({ store, onWarning: () => {} })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    remove()
  })
  const applied = await runtime.resources.apply([{ text: tool.manifest(more), file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  return { tool, runtime, door: runtime.as({ actor: 'ann', ...MAY }) }
}

interface Place {
  readonly store: NonNullable<RuntimeOptions['store']>
  /** Once nobody uses it any more. */
  remove(): void
}

function storeOf(kind: (typeof STORES)[number]): Place {
  if (kind === 'memory') return { store: { kind }, remove: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'writ-two-phase-'))
  return {
    store: { kind, path: join(folder, 'writ.db') },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function prepare({ door }: Scene, key = 'k'): Promise<Answer & { readonly token: string }> {
  const answer = await door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: key })
  assert.deepEqual([answer.state, answer.effect, answer.final], ['prepared', 'prepared', false], why(answer))
  assert.ok(answer.commitToken)
  return { ...answer, token: answer.commitToken }
}

function why(answer: Answer): string {
  return JSON.stringify(answer.failure ?? answer)
}

function failureOf(result: ActionResult): string {
  return result.kind === 'refused' ? result.failure.id : result.kind
}

function committed({ tool }: Scene): number[] {
  return [...tool.kept.values()].map((one) => one.committed)
}

async function stateOf({ door }: Scene, id: string) {
  const record = await door.getCall(id)
  return [record?.state, record?.effect, record?.answer?.failure?.id]
}

/** In every store. */
function matrix(name: string, run: (t: TestContext, kind: (typeof STORES)[number]) => Promise<void>): void {
  for (const kind of STORES) test(`${name} (${kind})`, (t) => run(t, kind))
}

matrix(
  'S26: prepare gives a preview and a token of ours, and the same again for the same key',
  async (t, kind) => {
    const at = await scene(t, kind)
    const first = await prepare(at)
    assert.deepEqual(first.output, { would: { seat: 1 } })
    const toolToken = [...at.tool.kept.values()][0]?.token ?? ''
    assert.ok(!JSON.stringify(first).includes(toolToken), "the tool's own token stays here")
    const again = await prepare(at)
    assert.deepEqual([again.token, again.output, again.replayed], [first.token, first.output, true])
    assert.equal(at.tool.count('prepare'), 1)
    const other = await prepare(at, 'another')
    assert.notEqual(other.token, first.token)
  },
)

matrix('S26: a commit happens once, and its output is the output of the call', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  const done = await at.door.commit(callId, token)
  assert.equal(done.kind, 'ok', failureOf(done))
  assert.deepEqual(await stateOf(at, callId), ['succeeded', 'done', undefined])
  assert.deepEqual((await at.door.getCall(callId))?.answer?.output, { receipt: 1 })
  assert.equal((await at.door.getCall(callId))?.answer?.commitToken, undefined)
  const [asked] = sent(at.tool, 'commit')
  const key = [...at.tool.kept.keys()][0]
  assert.deepEqual(bodyOf(asked), {
    idempotency_key: key,
    commit_token: [...at.tool.kept.values()][0]?.token,
    input: { seat: 1 },
  })
  assert.equal(asked?.headers['idempotency-key'], key)
  const replay = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([replay.state, replay.output, replay.replayed], ['succeeded', { receipt: 1 }, true])
  assert.deepEqual(committed(at), [1])
})

matrix('S26: a commit that is asked for twice is sent once', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  await at.door.commit(callId, token)
  assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-repeated')
  assert.deepEqual([committed(at), at.tool.count('commit')], [[1], 1])
  assert.deepEqual(await stateOf(at, callId), ['succeeded', 'done', undefined])
})

matrix('S26: of many commits at once one is sent, and every other says so', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  const results = await Promise.all(Array.from({ length: 8 }, () => at.door.commit(callId, token)))
  const said = results.map(failureOf).sort()
  assert.deepEqual(said, [...Array.from({ length: 7 }, () => 'commit-repeated'), 'ok'])
  assert.deepEqual([committed(at), at.tool.count('commit')], [[1], 1])
})

matrix('S26: commit and rollback at once exclude each other', async (t, kind) => {
  const at = await scene(t, kind)
  for (let round = 0; round < 5; round++) {
    const { callId, token } = await prepare(at, `k${round}`)
    const [commit, rollback] = await Promise.all(
      round % 2 === 0
        ? [at.door.commit(callId, token), at.door.rollback(callId)]
        : ([at.door.rollback(callId), at.door.commit(callId, token)].toReversed() as Promise<ActionResult>[]),
    )
    const outcome = [failureOf(commit as ActionResult), failureOf(rollback as ActionResult)]
    const won = outcome[0] === 'ok' ? ['ok', 'commit-repeated'] : ['rolled-back', 'ok']
    assert.deepEqual(outcome, won)
  }
  for (const one of at.tool.kept.values()) assert.equal(one.committed + one.rolledBack, 1)
})

matrix('S26: what is not committed in time is rolled back, and a late commit is told so', async (t, kind) => {
  const at = await scene(t, kind, 'deadline: 150ms')
  const { callId, token } = await prepare(at)
  await until(() => [...at.tool.kept.values()][0]?.rolledBack === 1)
  await until(async () => (await at.door.getCall(callId))?.state === 'timed-out')
  assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-expired')
  assert.deepEqual(await stateOf(at, callId), ['timed-out', 'not-done', 'commit-expired'])
  assert.deepEqual([committed(at), at.tool.count('commit')], [[0], 0])
})

matrix('S26: a rollback is sent until the tool acknowledges it', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  at.tool.ways.rollback = 'refuse'
  assert.equal((await at.door.rollback(callId)).kind, 'ok')
  assert.deepEqual(await stateOf(at, callId), ['running', 'prepared', undefined])
  assert.equal(failureOf(await at.door.commit(callId, token)), 'rolled-back')
  // Nothing is left there: as good as a success.
  at.tool.ways.rollback = 'gone'
  await until(async () => (await at.door.getCall(callId))?.state === 'canceled')
  assert.equal(at.tool.count('rollback'), 2)
  assert.deepEqual(await stateOf(at, callId), ['canceled', 'not-done', 'rolled-back'])
  assert.equal((await at.door.rollback(callId)).kind, 'ok', 'it is given up, whoever asks again')
  assert.equal(at.tool.count('rollback'), 2)
})

matrix('S26: only the caller that prepared it can commit, with the very token', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  const other = await prepare(at, 'another')
  const stranger = at.runtime.as({ actor: 'bob', ...MAY })
  assert.equal((await stranger.commit(callId, token)).kind, 'not-found')
  assert.equal((await stranger.rollback(callId)).kind, 'not-found')
  assert.equal((await at.door.getCall(callId))?.answer?.commitToken, token)
  const admin = at.runtime.as(createLocalAdmin())
  assert.equal(failureOf(await admin.commit(callId, token)), 'permission-denied')
  assert.equal(
    (await admin.getCall(callId))?.answer?.commitToken,
    undefined,
    'the token is shown to nobody else',
  )
  for (const wrong of ['', 'x', token.slice(0, -1), `${token}x`, other.token, token.toUpperCase()]) {
    assert.equal(failureOf(await at.door.commit(callId, wrong)), 'commit-token-invalid', wrong)
  }
  const revoked = at.runtime.as({ actor: 'ann', permissions: [] })
  assert.equal(failureOf(await revoked.commit(callId, token)), 'permission-denied')
  assert.deepEqual([committed(at), at.tool.count('commit')], [[0, 0], 0])
  assert.equal((await at.door.commit(callId, token)).kind, 'ok')
})

matrix('S26: a call that was never prepared has nothing to commit', async (t, kind) => {
  const at = await scene(t, kind)
  at.tool.ways.prepare = 'refuse'
  const refused = await at.door.call({ tool: 'book', input: { seat: 1 } })
  assert.equal(refused.effect, 'not-done')
  assert.equal(failureOf(await at.door.commit(refused.callId, 'x')), 'commit-token-invalid')
  assert.equal(failureOf(await at.door.rollback(refused.callId)), 'commit-token-invalid')
  assert.equal((await at.door.commit('no-such-call', 'x')).kind, 'not-found')
})

matrix('S26: after a rollback there is no commit', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  assert.equal((await at.door.rollback(callId)).kind, 'ok')
  assert.equal(failureOf(await at.door.commit(callId, token)), 'rolled-back')
  assert.deepEqual(await stateOf(at, callId), ['canceled', 'not-done', 'rolled-back'])
  assert.deepEqual([committed(at), at.tool.count('commit')], [[0], 0])
  const replay = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([replay.state, replay.failure?.id, replay.output], ['canceled', 'rolled-back', undefined])
})

for (const way of ['lose', 'drop', 'broken'] as const) {
  matrix(
    `S22: a commit whose reply is no answer (${way}) is unknown, and is not sent again`,
    async (t, kind) => {
      const at = await scene(t, kind)
      const { callId, token } = await prepare(at)
      at.tool.ways.commit = way
      assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-unknown')
      at.tool.ways.commit = 'ok'
      assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-unknown')
      assert.equal(failureOf(await at.door.rollback(callId)), 'commit-unknown')
      assert.deepEqual(await stateOf(at, callId), ['unknown', 'unknown', 'commit-unknown'])
      assert.equal(at.tool.count('commit'), 1)
      const held = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
      assert.deepEqual([held.state, held.effect, held.output], ['unknown', 'unknown', undefined])
      assert.equal(at.tool.count('prepare'), 1)
    },
  )
}

const ASKED = (origin: string) => `status_query: { url: '${origin}/status/{key}', fencing: true }`

matrix('S27: a commit that is not known is asked about: done settles it', async (t, kind) => {
  const at = await asked(t, kind)
  const { callId, token } = await prepare(at)
  at.tool.ways.commit = 'lose'
  assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-unknown')
  await until(async () => (await at.door.getCall(callId))?.state === 'succeeded')
  assert.deepEqual((await at.door.getCall(callId))?.answer?.output, { receipt: 1 })
  assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-repeated')
  assert.deepEqual([committed(at), at.tool.count('commit')], [[1], 1])
})

matrix('S27: a commit that did not happen can be committed again', async (t, kind) => {
  const at = await asked(t, kind)
  const { callId, token } = await prepare(at)
  at.tool.ways.commit = 'drop'
  assert.equal(failureOf(await at.door.commit(callId, token)), 'commit-unknown')
  at.tool.ways.commit = 'ok'
  await until(async () => (await at.door.getCall(callId))?.state === 'prepared')
  assert.equal((await at.door.commit(callId, token)).kind, 'ok')
  assert.deepEqual(committed(at), [1])
})

/** The same tool, which can be asked. */
async function asked(t: TestContext, kind: (typeof STORES)[number]): Promise<Scene> {
  const at = await scene(t, kind)
  const text = at.tool
    .manifest()
    .replace('version: 1.0.0', 'version: 2.0.0')
    .replace('    two_phase:', `    ${ASKED(at.tool.peer.origin)}\n    two_phase:`)
  const applied = await at.runtime.resources.apply([{ text, file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  return at
}

matrix('S26: a commit that the tool refuses leaves it prepared, and says why', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  at.tool.ways.commit = 'refuse'
  assert.equal(failureOf(await at.door.commit(callId, token)), 'upstream-rejected')
  assert.deepEqual(await stateOf(at, callId), ['prepared', 'prepared', undefined])
  at.tool.ways.commit = 'ok'
  assert.equal((await at.door.commit(callId, token)).kind, 'ok')
  assert.deepEqual(committed(at), [1])
})

matrix('S26: a commit that the tool refuses still ends at its deadline', async (t, kind) => {
  const at = await scene(t, kind, 'deadline: 400ms')
  const { callId, token } = await prepare(at)
  at.tool.ways.commit = 'refuse'
  assert.equal(failureOf(await at.door.commit(callId, token)), 'upstream-rejected')
  await until(async () => (await at.door.getCall(callId))?.state === 'timed-out')
  assert.equal([...at.tool.kept.values()][0]?.rolledBack, 1)
})

matrix('S22: prepare counts as keyed: a lost reply is asked for again with the same key', async (t, kind) => {
  const at = await scene(t, kind)
  at.tool.ways.prepare = 'lose'
  const lost = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([lost.effect, lost.failure?.retryable], ['unknown', true])
  at.tool.ways.prepare = 'ok'
  const { callId, token } = await prepare(at)
  assert.equal(at.tool.kept.size, 1)
  assert.equal((await at.door.commit(callId, token)).kind, 'ok')
  assert.deepEqual(committed(at), [1])
})

matrix('S26: a prepare without a token is no valid output', async (t, kind) => {
  const at = await scene(t, kind)
  at.tool.ways.prepare = 'no-token'
  const answer = await at.door.call({ tool: 'book', input: { seat: 1 } })
  assert.equal(answer.failure?.id, 'output-invalid')
  assert.equal(answer.commitToken, undefined)
})

matrix('S26: a preview that breaks its schema is given up, and taken back', async (t, kind) => {
  const at = await scene(t, kind)
  const text = at.tool
    .manifest()
    .replace('version: 1.0.0', 'version: 2.0.0\n  output_schema: { type: object, required: [price] }')
  const applied = await at.runtime.resources.apply([{ text, file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const answer = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.deepEqual(
    [answer.failure?.id, answer.effect, answer.commitToken],
    ['output-invalid', 'not-done', undefined],
  )
  await until(() => [...at.tool.kept.values()][0]?.rolledBack === 1)
  await until(async () => {
    const replay = await at.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
    return replay.state === 'failed' && replay.failure?.id === 'output-invalid'
  })
  assert.equal(at.tool.count('prepare'), 1)
})

matrix('S40: a token is never in evidence', async (t, kind) => {
  const at = await scene(t, kind)
  const { callId, token } = await prepare(at)
  at.tool.ways.commit = 'refuse'
  await at.door.commit(callId, token)
  at.tool.ways.commit = 'ok'
  await at.door.commit(callId, token)
  const gone = await prepare(at, 'given up')
  await at.door.rollback(gone.callId)
  // A rollback that the tool has not acknowledged yet goes on behind its answer.
  await until(() => [...at.tool.kept.values()].some((kept) => kept.rolledBack === 1))
  const exported = async () => {
    const lines: string[] = []
    for await (const line of at.runtime.audit.export()) lines.push(line)
    return lines.join('\n')
  }
  const text = await until(async () => {
    const now = await exported()
    return now.includes('rollback.completed') && now
  })
  const types = [
    'commit.started',
    'commit.refused',
    'commit.completed',
    'rollback.started',
    'rollback.completed',
  ]
  for (const type of types) assert.ok(text.includes(type), type)
  for (const secret of [token, gone.token, token.split('.')[1] ?? '', 'tool secret/'])
    assert.ok(!text.includes(secret), 'no token')
})
