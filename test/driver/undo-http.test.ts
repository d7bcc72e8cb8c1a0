// Undoing over HTTP: an address that names the call it undoes, and a prepared member that is taken back (S27, S29).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeWith } from '../pipeline/harness.ts'
import { startTwoPhaseTool } from '../pipeline/two-phase-tool.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'

const manifest = (origin: string) => `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: book }
spec:
  type: http
  version: 1.0.0
  endpoint: ${origin}/bookings
  effect:
    class: external-communication
    compensation: { method: DELETE, url: '${origin}/bookings/{key}' }
`

test('S27: an address undoes the call whose key it names, under a key of its own, and nobody can call it', async (t) => {
  const peer = await listenHttp((_, response) => sendJson(response, { id: 1 }))
  t.after(() => peer.close())
  const { runtime, door } = await runtimeWith(t, [])
  const applied = await runtime.resources.apply([{ text: manifest(peer.origin), file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const done = await door.call({ tool: 'book', input: { what: 'room' } })
  assert.equal(done.state, 'succeeded')
  const result = await door.compensate(done.callId)
  assert.deepEqual([result.kind, result.kind === 'ok' && result.record.effect], ['ok', 'compensated'])
  const [booked, deleted] = peer.received
  assert.equal(peer.received.length, 2)
  const key = String(booked?.headers['idempotency-key'])
  assert.deepEqual([deleted?.method, deleted?.path], ['DELETE', `/bookings/${key}`])
  assert.notEqual(deleted?.headers['idempotency-key'], key)
  const direct = await door.call({ tool: 'book', operation: 'invoke$compensation', input: {} })
  assert.equal(direct.failure?.id, 'operation-unknown')
})

test('S29: a prepared member of an aborted saga is rolled back', async (t) => {
  const tool = await startTwoPhaseTool()
  t.after(() => tool.close())
  const { runtime, door } = await runtimeWith(t, [])
  const applied = await runtime.resources.apply([{ text: tool.manifest(), file: 'two.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const [name] = runtime.tools('default').map((one) => one.name)
  await door.openSaga('trip')
  const prepared = await door.call({ tool: name ?? '', input: { amount: 1 }, saga: 'trip' })
  assert.equal(prepared.state, 'prepared')
  const refused = await door.completeSaga('trip')
  assert.equal(refused.kind === 'refused' && refused.failure.id, 'saga-unfinished')
  await door.abortSaga('trip', 'no')
  const end = Date.now() + 10_000
  while ((await door.getSaga('trip'))?.state !== 'aborted' && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const saga = await door.getSaga('trip')
  assert.deepEqual([saga?.state, saga?.members[0]?.state], ['aborted', 'rolled-back'])
  assert.deepEqual(
    [...tool.kept.values()].map(({ committed, rolledBack }) => [committed, rolledBack]),
    [[0, 1]],
  )
})
