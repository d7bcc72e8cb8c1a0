// Work that is taken on and ends later.
import assert from 'node:assert/strict'
import { Abort } from '../../../src/util/abort.ts'
import { makeSend, makeSink } from '../send-fixture.ts'
import { endsSoon, refusal, success, type TransportCase } from '../transport-contract.ts'

export const workCases: readonly TransportCase[] = [
  {
    name: 'S36: work that is taken on is left at the tool: by its handle it is asked for, one question at a time',
    needs: ['accept'],
    async run(bench) {
      const { transport, tool } = bench
      const send = makeSend(tool('accept'), { n: 1 }, { detach: true })
      const sink = makeSink()
      const first = await transport.attempt(send, sink)
      assert.equal(first.kind, 'accepted', JSON.stringify(first))
      assert.deepEqual([sink.sent, sink.handles.length], [1, 1])
      const [handle = {}] = sink.handles
      assert.deepEqual(JSON.parse(JSON.stringify(handle)), handle, 'it can be kept')
      const ask = () => transport.attach?.(handle, makeSend(send.tool, { n: 1 }), makeSink())
      assert.equal((await ask())?.kind, 'accepted')
      const end = await ask()
      assert.deepEqual(end?.kind === 'success' && end.output, { n: 1 })
      assert.equal(bench.seen.length, 1, 'nothing was sent again')
    },
  },
  {
    name: 'work that is taken on is waited for where nobody keeps handles, and stops at the abort',
    needs: ['accept'],
    async run({ transport, tool }) {
      const sink = makeSink()
      const reply = await transport.attempt(makeSend(tool('accept'), { n: 2 }), sink)
      assert.deepEqual(success(reply).output, { n: 2 })
      assert.deepEqual([sink.sent, sink.handles], [1, []])
      const abort = new Abort()
      const slow = tool('accept', { webhook: { pollMs: 60_000 } })
      const pending = transport.attempt(
        makeSend(slow, {}, { abort, requestId: 'req-2' }),
        makeSink(() => setTimeout(() => abort.abort('timeout'), 20)),
      )
      const stopped = refusal(await endsSoon(pending, () => {}, 2_000))
      assert.deepEqual([stopped.failure, stopped.definite], ['timeout-unknown-commit', false])
    },
  },
]
