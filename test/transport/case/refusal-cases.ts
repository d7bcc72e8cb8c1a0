// What is made of a reply that is none, and what is known of the effect then.
import assert from 'node:assert/strict'
import { makeOperation, makeSend, makeSink } from '../send-fixture.ts'
import { endsSoon, refusal, type TransportCase } from '../transport-contract.ts'

const CAP = 65_536
const small = { limits: { inputBytes: 1_048_576, outputBytes: CAP } }

export const refusalCases: readonly TransportCase[] = [
  {
    name: 'S23: a reply that is cut off is not definite',
    needs: ['cut-mid-body'],
    async run(bench) {
      const sink = makeSink()
      const reply = refusal(await bench.transport.attempt(makeSend(bench.tool('cut-mid-body'), {}), sink))
      assert.equal(reply.failure, 'connect-failed')
      assert.equal(reply.definite, false)
      assert.equal(sink.sent, 1)
    },
  },
  {
    name: 'a reply past the limit is refused while it still comes, in bounded memory, and is not definite',
    needs: ['huge'],
    async run(bench) {
      const before = process.memoryUsage().arrayBuffers
      const reply = refusal(
        await endsSoon(
          bench.transport.attempt(makeSend(bench.tool('huge', small), {}), makeSink()),
          () => {},
          2_000,
        ),
      )
      assert.equal(reply.failure, 'output-too-large')
      assert.equal(reply.details?.limit_bytes, CAP)
      assert.equal(reply.definite, false)
      const grown = process.memoryUsage().arrayBuffers - before
      assert.ok(grown < 32 * 1_048_576, `kept ${grown} bytes of a reply limited to ${CAP}`)
    },
  },
  {
    name: 'S23: what is no output is not definite',
    needs: ['invalid-output'],
    async run(bench) {
      const reply = refusal(
        await bench.transport.attempt(makeSend(bench.tool('invalid-output'), {}), makeSink()),
      )
      assert.ok(reply.failure === 'output-invalid' || reply.failure === 'reply-malformed', reply.failure)
      assert.equal(reply.definite, false)
      assert.ok(Array.isArray(reply.details?.violations) && reply.details.violations.length > 0)
    },
  },
  {
    name: 'S23: a rejected input is definite, unless `refused_on` says otherwise',
    needs: ['reject'],
    async run(bench) {
      const tool = bench.tool('reject')
      const sink = makeSink()
      const reply = refusal(await bench.transport.attempt(makeSend(tool, {}), sink))
      assert.equal(reply.failure, 'upstream-rejected')
      assert.equal(reply.definite, true)
      assert.equal(sink.sent, 1)
      const base = makeOperation()
      const wary = { ...base, effect: { ...base.effect, refusedOn: [] } }
      const again = refusal(
        await bench.transport.attempt({ ...makeSend(tool, {}), operation: wary }, makeSink()),
      )
      assert.equal(again.failure, 'upstream-rejected')
      assert.equal(again.definite, false)
    },
  },
  {
    name: 'S23: a fault of the tool is not definite',
    needs: ['fail'],
    async run(bench) {
      const reply = refusal(await bench.transport.attempt(makeSend(bench.tool('fail'), {}), makeSink()))
      assert.ok(reply.failure === 'upstream-error' || reply.failure === 'tool-crashed', reply.failure)
      assert.equal(reply.definite, false)
      assert.doesNotMatch(JSON.stringify(reply), /hunter2/, 'what a tool lets slip is not passed on')
    },
  },
  {
    name: 'S23: a fault that the tool declares to have no effect is definite',
    needs: ['fail-harmless'],
    async run(bench) {
      const reply = refusal(
        await bench.transport.attempt(makeSend(bench.tool('fail-harmless'), {}), makeSink()),
      )
      assert.equal(reply.failure, 'upstream-error')
      assert.equal(reply.definite, true)
      assert.equal(reply.toolRetryable, true)
    },
  },
  {
    name: 'a tool that cannot be reached is definite: nothing was sent',
    needs: ['refuse'],
    async run(bench) {
      const sink = makeSink()
      const reply = refusal(await bench.transport.attempt(makeSend(bench.tool('refuse'), {}), sink))
      assert.equal(reply.failure, 'connect-failed')
      assert.equal(reply.definite, true)
      assert.equal(sink.sent, 0)
    },
  },
]
