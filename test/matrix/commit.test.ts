// The second phase of the matrix: a commit that fails at each moment, and is asked for again (S26, and its row of S22).
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallState } from '../../src/contract/answer.ts'
import type { EffectState } from '../../src/contract/effect.ts'
import { createRuntime, type StoreChoice } from '../../src/runtime.ts'
import type { ActionResult, CallerDoor } from '../../src/runtime-api.ts'
import { LATE_MS, type MatrixPeer, MOMENTS, type Moment, startMatrixPeer } from './peer.ts'

const ATTEMPT_MS = 1_000

/** What the commit was answered with, what the call is then, and what the tool's side has seen of commits. */
type Cell = readonly [
  answered: ActionResult['kind'],
  state: CallState,
  effect: EffectState,
  sends: number,
  effects: number,
]

const HELD = (effects: number): { readonly first: Cell; readonly again: Cell } => ({
  // Never sent again blindly: only an answer of the tool or a person leads on.
  first: ['refused', 'unknown', 'unknown', 1, effects],
  again: ['refused', 'unknown', 'unknown', 1, effects],
})

const EXPECTED: Readonly<Record<Moment, { readonly first: Cell; readonly again: Cell }>> = {
  // Nothing has left, so it is still prepared, and can be committed.
  'before send': {
    first: ['refused', 'prepared', 'prepared', 0, 0],
    again: ['ok', 'succeeded', 'done', 1, 1],
  },
  'after send': HELD(0),
  'after effect': HELD(1),
  'after reply': HELD(1),
  late: HELD(1),
}

const slug = (moment: Moment): string => moment.replace(' ', '-')
const pathOf = (moment: Moment): string => `/commit/${slug(moment)}/once`

function manifestOf(moment: Moment, peer: MatrixPeer): string {
  const prepare = `${peer.origin}/two-phase/well/${slug(moment)}/act`
  const commit = `${moment === 'before send' ? peer.closedOrigin : peer.origin}${pathOf(moment)}/act/{token}`
  return `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${slug(moment)}}
spec:
  type: http
  endpoint: "${prepare}"
  runtime: {timeout: ${ATTEMPT_MS}ms}
  egress: {allow: ["${peer.origin}", "${peer.closedOrigin}"]}
  effect:
    class: external-communication
    two_phase:
      commit: {method: POST, url: "${commit}"}
      rollback: {method: POST, url: "${peer.origin}/rollback/well/once/act/{token}"}
      deadline: 1h
`
}

async function runCommits(t: TestContext, store: StoreChoice): Promise<void> {
  const peer = await startMatrixPeer()
  t.after(() => peer.close())
  const runtime = await createRuntime({ store, onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  const text = MOMENTS.map((moment) => manifestOf(moment, peer)).join('---\n')
  const applied = await runtime.resources.apply([{ text, file: 'matrix' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const door = runtime.as({ actor: 'agent-a', permissions: ['tool:*:invoke'] })
  const prepared = await Promise.all(
    MOMENTS.map(async (moment) => {
      const answer = await door.call({ tool: slug(moment), input: {} })
      assert.equal(answer.state, 'prepared', JSON.stringify(answer.failure))
      return { moment, id: answer.callId, token: answer.commitToken ?? '' }
    }),
  )
  const commitAll = () =>
    Promise.all(prepared.map(async (one) => ({ ...one, result: await door.commit(one.id, one.token) })))

  const first = await commitAll()
  await sleep(LATE_MS)
  for (const one of first) {
    const cell = await cellOf(one, door, peer)
    await t.test(`a commit that fails ${one.moment}`, () =>
      assert.deepEqual(cell, EXPECTED[one.moment].first),
    )
  }
  await peer.open()
  for (const one of await commitAll()) {
    const cell = await cellOf(one, door, peer)
    await t.test(`a commit that failed ${one.moment}, asked for again`, () =>
      assert.deepEqual(cell, EXPECTED[one.moment].again),
    )
  }
}

async function cellOf(
  { moment, id, result }: { readonly moment: Moment; readonly id: string; readonly result: ActionResult },
  door: CallerDoor,
  peer: MatrixPeer,
): Promise<Cell> {
  const record = await door.getCall(id)
  assert.ok(record, 'the call is known')
  const { sends, effects } = peer.trail(pathOf(moment))
  return [result.kind, record.state, record.effect, sends, effects]
}

test('S26: a commit at each moment of failure, in memory', (t) => runCommits(t, { kind: 'memory' }))

test('S26: a commit at each moment of failure, on disk', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-commit-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return runCommits(t, { kind: 'sqlite', path: join(folder, 'writ.db') })
})
