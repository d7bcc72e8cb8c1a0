// One send: when it is given up, what is still heard of it, and what its transport may not say.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAttempt } from '../../src/pipeline/attempt.ts'
import { createWorld } from '../../src/runtime.ts'
import type { Send, Transport } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { never, SLACK_MS } from './bounds-fixture.ts'

test('A transport that does not end after its abort is left behind after the grace, and what it sent counts', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const send = (abort: Abort) => ({ timeoutMs: 50, attempt: 1, abort }) as unknown as Send
  for (const sends of [true, false]) {
    const stuck: Transport = {
      type: 'http',
      attempt: (_, sink) => {
        if (sends) sink.sending()
        return never()
      },
      close: async () => {},
    }
    const started = performance.now()
    const outcome = await runAttempt(stuck, send, new Abort(), () => {}, world, { maySend: () => true })
    const took = performance.now() - started
    assert.deepEqual(outcome, { sent: sends, reply: undefined, aborted: 'timeout' })
    assert.ok(took >= 295 && took < 300 + SLACK_MS, `took ${took} ms`)
  }
})

test('A transport that reports within the grace is heard', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const late: Transport = {
    type: 'http',
    attempt: (send, sink) => {
      sink.sending()
      return new Promise((resolve) => {
        send.abort.listen(() =>
          setTimeout(() => resolve({ kind: 'success', output: 'just so', bytes: 9 }), 30),
        )
      })
    },
    close: async () => {},
  }
  const send = (abort: Abort) => ({ timeoutMs: 20, attempt: 1, abort }) as unknown as Send
  const { reply } = await runAttempt(late, send, new Abort(), () => {}, world, { maySend: () => true })
  assert.deepEqual(reply, { kind: 'success', output: 'just so', bytes: 9 })
})

test('A transport that says twice in one attempt that the work was taken on is broken: one handle is kept', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const twice: Transport = {
    type: 'http',
    async attempt(_, sink) {
      sink.sending()
      sink.accepted({ job: 1 })
      sink.accepted({ job: 2 })
      return never()
    },
    close: async () => {},
  }
  const kept: JsonObject[] = []
  const send = (abort: Abort) => ({ timeoutMs: 5_000, attempt: 1, abort }) as unknown as Send
  const run = runAttempt(twice, send, new Abort(), () => {}, world, {
    maySend: () => true,
    accepted: (handle) => kept.push(handle),
  })
  await assert.rejects(run, /accepted\(\) twice in one attempt/)
  assert.deepEqual(kept, [{ job: 1 }])
})
