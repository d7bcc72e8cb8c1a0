// What every transport must do, as cases that know nothing of a test runner or of a transport.
import assert from 'node:assert/strict'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { Refusal, Reply, Success, Transport } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { makeOperation, makeSend, makeSink } from './send-fixture.ts'

/** How the tool behind a transport behaves. */
export type Behaviour =
  /** answers with its input */
  | 'echo'
  /** answers with its input after 50 ms */
  | 'delay'
  /** takes the request and never answers */
  | 'hang'
  /** begins its answer and never ends it */
  | 'hang-mid-body'
  /** begins its answer and hangs up */
  | 'cut-mid-body'
  /** answers with more than the limit, and would go on for ever */
  | 'huge'
  /** answers with what is no output */
  | 'invalid-output'
  /** says that the input is not valid */
  | 'reject'
  /** reports a fault of its own */
  | 'fail'
  /** reports a fault and declares that nothing happened */
  | 'fail-harmless'
  /** cannot be reached */
  | 'refuse'
  /** takes the work on, and answers with its input when it is asked for the second time */
  | 'accept'

export interface Seen {
  readonly input: Json | undefined
  readonly key: string
  readonly attempt: number
}

/** A transport with a tool at its other end. */
export interface TransportBench {
  readonly transport: Transport
  tool(behaviour: Behaviour, overrides?: Partial<ResolvedTool>): ResolvedTool
  /** What reached the tool, in order. */
  readonly seen: readonly Seen[]
  /** Whether anything at all reached it, if only a part of a request. */
  touched(): boolean
  /** Resolves once `count` requests have reached it. */
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

export interface TransportUnderTest {
  readonly name: string
  /** Which of several ways of one type this is. */
  readonly variant?: string
  /** What its tools take is an object, whatever else JSON is. */
  readonly objectsOnly?: true
  /** Behaviours its tools cannot have, each with the reason. */
  readonly without: Partial<Record<Behaviour, string>>
  /** Its tools can take work on that ends later. */
  readonly takesOn?: true
  open(): Promise<TransportBench>
}

export interface TransportCase {
  readonly name: string
  readonly needs: readonly Behaviour[]
  run(bench: TransportBench, of?: TransportUnderTest): Promise<void>
}

const CAP = 65_536
const small = { limits: { inputBytes: 1_048_576, outputBytes: CAP } }

/** An attempt that does not end soon after an abort has failed its caller. */
const BOUND_MS = 250

export const transportCases: readonly TransportCase[] = [
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

export function success(reply: Reply): Success {
  if (reply.kind !== 'success') assert.fail(`expected a success, got ${JSON.stringify(reply)}`)
  return reply
}

export function refusal(reply: Reply): Refusal {
  if (reply.kind !== 'failure') assert.fail(`expected a refusal, got ${JSON.stringify(reply)}`)
  return reply
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

async function endsSoon<T>(pending: Promise<T>, act: () => void, boundMs = BOUND_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the attempt did not end within ${boundMs} ms`)), boundMs)
  })
  try {
    act()
    return await Promise.race([pending, late])
  } finally {
    clearTimeout(timer)
  }
}
