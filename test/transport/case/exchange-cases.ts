// What goes through a transport: inputs, outputs, keys, and one at a time or many.
import assert from 'node:assert/strict'
import type { Json } from '../../../src/util/json.ts'
import { makeSend, makeSink } from '../send-fixture.ts'
import { success, type TransportCase } from '../transport-contract.ts'

export const exchangeCases: readonly TransportCase[] = [
  {
    name: 'gives the input to the tool and its output back, saying `sending` exactly once',
    needs: ['echo'],
    async run(bench) {
      const sink = makeSink(() => assert.equal(bench.touched(), false, 'a byte left before `sending`'))
      const reply = await bench.transport.attempt(
        makeSend(bench.tool('echo'), { text: 'hello', n: 1.5 }),
        sink,
      )
      assert.deepEqual(success(reply).output, { text: 'hello', n: 1.5 })
      assert.ok(success(reply).bytes > 0)
      assert.equal(sink.sent, 1)
      assert.equal(bench.seen.length, 1)
    },
  },
  {
    name: 'delivers unicode, large and deep JSON unchanged',
    needs: ['echo'],
    async run(bench, of) {
      let deep: Json = 'bottom'
      for (let level = 0; level < 100; level++) deep = level % 2 ? [deep] : { a: deep }
      const inputs: Json[] = [
        { text: 'žluťoučký 🐎 \u0000 \u2028 "quoted" \\ /', 'ключ/~': ['𝒳', ''], empty: {}, none: [] },
        { large: 'ž'.repeat(200_000), numbers: Array.from({ length: 5_000 }, (_, i) => i / 7) },
        deep,
        [null, true, false, 0, -1, 1e-7, Number.MAX_SAFE_INTEGER],
        42,
      ]
      for (const plain of inputs) {
        const input = of?.objectsOnly === true ? { plain } : plain
        const reply = await bench.transport.attempt(makeSend(bench.tool('echo'), input), makeSink())
        assert.deepEqual(success(reply).output, input)
        assert.deepEqual(bench.seen.at(-1)?.input, input)
      }
    },
  },
  {
    name: 'S19: the tool gets the key and the number of the attempt',
    needs: ['echo'],
    async run(bench) {
      const tool = bench.tool('echo')
      for (const attempt of [1, 2, 7]) {
        await bench.transport.attempt(makeSend(tool, {}, { attempt, key: 'same-key' }), makeSink())
      }
      assert.deepEqual(
        bench.seen.map(({ key, attempt }) => [key, attempt]),
        [
          ['same-key', 1],
          ['same-key', 2],
          ['same-key', 7],
        ],
      )
    },
  },
  {
    name: 'many attempts at once do not mix',
    needs: ['delay'],
    async run(bench) {
      const tool = bench.tool('delay')
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, n) => bench.transport.attempt(makeSend(tool, { n }), makeSink())),
      )
      assert.deepEqual(
        replies.map((reply) => success(reply).output),
        Array.from({ length: 40 }, (_, n) => ({ n })),
      )
    },
  },
  {
    name: 'a sink that throws in `sending` stops the send, and the fault is not hidden',
    needs: ['echo'],
    async run(bench) {
      const fault = new Error('the sink is broken')
      const sink = makeSink(() => {
        throw fault
      })
      await assert.rejects(async () => bench.transport.attempt(makeSend(bench.tool('echo'), {}), sink), fault)
      await bench.transport.attempt(makeSend(bench.tool('echo'), {}), makeSink())
      assert.equal(bench.seen.length, 1)
    },
  },
]
