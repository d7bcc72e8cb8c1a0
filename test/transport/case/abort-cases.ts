// What an abort does to an attempt, before, while and after it is sent.
import assert from 'node:assert/strict'
import { Abort } from '../../../src/util/abort.ts'
import { makeOperation, makeSend, makeSink } from '../send-fixture.ts'
import { endsSoon, pause, refusal, type TransportCase } from '../transport-contract.ts'

export const abortCases: readonly TransportCase[] = [
  {
    name: 'an attempt that is aborted before it starts sends nothing and is definite',
    needs: ['echo'],
    async run(bench) {
      for (const [reason, failure] of [
        ['canceled', 'canceled'],
        ['hang-up', 'canceled'],
        ['timeout', 'timeout-before-send'],
        ['shutdown', 'timeout-before-send'],
      ] as const) {
        const sink = makeSink()
        const abort = new Abort()
        abort.abort(reason)
        const reply = refusal(
          await bench.transport.attempt(makeSend(bench.tool('echo'), {}, { abort }), sink),
        )
        assert.equal(reply.failure, failure)
        assert.equal(reply.definite, true)
        assert.equal(sink.sent, 0)
      }
      // Anything that had left would be here by now.
      await bench.transport.attempt(makeSend(bench.tool('echo'), {}), makeSink())
      assert.equal(bench.seen.length, 1)
    },
  },
  {
    name: 'an attempt that is aborted while the tool is silent ends at once and is not definite',
    needs: ['hang'],
    async run(bench) {
      for (const [reason, failure] of [
        ['canceled', 'canceled'],
        ['timeout', 'timeout-unknown-commit'],
        ['shutdown', 'interrupted'],
      ] as const) {
        const sink = makeSink()
        const abort = new Abort()
        const before = bench.seen.length
        const pending = bench.transport.attempt(makeSend(bench.tool('hang'), {}, { abort }), sink)
        await bench.arrived(before + 1)
        const reply = refusal(await endsSoon(pending, () => abort.abort(reason)))
        assert.equal(reply.failure, failure)
        assert.equal(reply.definite, false)
        assert.equal(sink.sent, 1)
      }
    },
  },
  {
    name: 'S22: a timeout of a read is one that may be repeated',
    needs: ['hang'],
    async run(bench) {
      const abort = new Abort()
      const base = makeOperation()
      const operation = { ...base, effect: { ...base.effect, repeat: 'read' as const } }
      const send = { ...makeSend(bench.tool('hang'), {}, { abort, timeoutMs: 40 }), operation }
      const pending = bench.transport.attempt(send, makeSink())
      await bench.arrived(1)
      const reply = refusal(await endsSoon(pending, () => abort.abort('timeout')))
      assert.equal(reply.failure, 'timeout')
      assert.deepEqual(reply.details, { timeout_ms: 40 })
    },
  },
  {
    name: 'a body that never ends stops at the abort',
    needs: ['hang-mid-body'],
    async run(bench) {
      const abort = new Abort()
      const pending = bench.transport.attempt(
        makeSend(bench.tool('hang-mid-body'), {}, { abort }),
        makeSink(),
      )
      await bench.arrived(1)
      await pause(30)
      const reply = refusal(await endsSoon(pending, () => abort.abort('timeout')))
      assert.equal(reply.failure, 'timeout-unknown-commit')
      assert.equal(reply.definite, false)
    },
  },
  {
    name: 'an abort in the very moment of sending still ends in one reply',
    needs: ['echo'],
    async run(bench) {
      const abort = new Abort()
      const sink = makeSink(() => abort.abort('canceled'))
      const reply = await endsSoon(
        bench.transport.attempt(makeSend(bench.tool('delay'), {}, { abort }), sink),
        () => {},
      )
      assert.equal(refusal(reply).failure, 'canceled')
      // `sending` was said, so the careful reading holds.
      assert.equal(refusal(reply).definite, false)
    },
  },
]
