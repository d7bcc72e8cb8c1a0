// The native transport: what a handler gets, what it may return or throw, and what becomes of one that never ends.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import type { ResolvedOperation } from '../../src/resource/resolved-tool.ts'
import { createNativeTransport, type NativeContext, type NativeHandler } from '../../src/transport/native.ts'
import { ToolError, type ToolErrorOptions } from '../../src/transport/tool-error.ts'
import type { Reply, Send } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import { checkJson } from '../../src/util/check-json.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json } from '../../src/util/json.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { pause, refusal, success } from './transport-contract.ts'

const world = createSystemWorld()
after(() => world.network.close())

const tool = makeTool({ type: 'native' })

function attempt(
  handler: NativeHandler,
  options: { input?: Json; operation?: Partial<ResolvedOperation>; send?: Partial<Send> } = {},
): Promise<Reply> {
  const transport = createNativeTransport({ world })
  transport.register(tool, { invoke: handler })
  const send = makeSend(tool, options.input, options.send)
  return transport.attempt({ ...send, operation: makeOperation(options.operation) }, makeSink())
}

describe('what a handler gets', () => {
  it('is the input and the facts of its send', async () => {
    let got: NativeContext | undefined
    await attempt(
      (_input, context) => {
        got = context
      },
      { send: { attempt: 4, key: 'k' } },
    )
    assert.ok(got)
    const { key, attempt: number, callId, requestId, deadlineUnixMs, trace, agent, taskId } = got
    assert.deepEqual(
      { key, number, callId, requestId, deadlineUnixMs, trace, agent, taskId },
      {
        key: 'k',
        number: 4,
        callId: '01890000-0000-7000-8000-000000000001',
        requestId: 'req-1',
        deadlineUnixMs: 1_900_000_000_000,
        trace: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' },
        agent: 'tester',
        taskId: 'default/weekly',
      },
    )
  })

  it('is a copy: what it does to its input does not reach the ledger', async () => {
    const input = { items: [1, 2], nested: { a: 'x' } }
    await attempt(
      (given) => {
        const mine = given as { items: number[]; nested: { a: string } }
        mine.items.push(3)
        mine.nested.a = 'changed'
        return mine
      },
      { input },
    )
    assert.deepEqual(input, { items: [1, 2], nested: { a: 'x' } })
  })

  it('is undefined where there was no input', async () => {
    assert.equal(success(await attempt((input) => typeof input)).output, 'undefined')
  })

  it('is a signal that says why it was stopped', async () => {
    const abort = new Abort()
    let reason: unknown
    const pending = attempt(
      (_input, { signal }) =>
        new Promise(() => signal.addEventListener('abort', () => (reason = signal.reason))),
      { send: { abort } },
    )
    abort.abort('canceled')
    assert.equal(refusal(await pending).failure, 'canceled')
    assert.equal(reason, 'canceled')
  })

  it('can report progress until its reply, and not after it', async () => {
    const transport = createNativeTransport({ world })
    let late: NativeContext | undefined
    transport.register(tool, {
      invoke: async (_input, context) => {
        late = context
        context.progress({ done: 1 })
        await pause(1)
        context.progress({ done: 2 })
      },
    })
    const sink = makeSink()
    await transport.attempt(makeSend(tool, {}), sink)
    late?.progress({ done: 3 })
    assert.deepEqual(sink.facts, [{ done: 1 }, { done: 2 }])
  })

  it('cannot report progress after a reply that came at once', async () => {
    for (const ends of ['returns', 'throws']) {
      const transport = createNativeTransport({ world })
      let late: NativeContext | undefined
      transport.register(tool, {
        invoke: (_input, context) => {
          late = context
          if (ends === 'throws') throw new Error('no')
        },
      })
      const sink = makeSink()
      await transport.attempt(makeSend(tool, {}), sink)
      late?.progress({ done: 1 })
      assert.deepEqual(sink.facts, [], ends)
    }
  })
})

describe('what a handler returns', () => {
  it('is the output, copied', async () => {
    const kept = { list: [1] }
    const reply = success(await attempt(() => kept))
    kept.list.push(2)
    assert.deepEqual(reply.output, { list: [1] })
    assert.equal(reply.bytes, '{"list":[1]}'.length)
  })

  it('may be nothing, which is null', async () => {
    assert.equal(success(await attempt(() => {})).output, null)
    assert.equal(success(await attempt(async () => {})).output, null)
  })

  it('may be anything JSON can be, and is measured as such', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue().filter((value) => checkJson(value).length === 0),
        async (value) => {
          const reply = success(await attempt(() => value))
          const text = JSON.stringify(value)
          assert.deepEqual(reply.output, JSON.parse(text))
          assert.equal(reply.bytes, Buffer.byteLength(text))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('is refused with its place where JSON cannot hold it', async () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    const double: unknown[] = []
    double.push(double, double)
    const cases: readonly [unknown, string | RegExp][] = [
      [10n, ''],
      [Number.NaN, ''],
      [{ a: [1, Number.POSITIVE_INFINITY] }, '/a/1'],
      [{ 'x/y': () => {} }, '/x~1y'],
      [Symbol('s'), ''],
      [['\ud800'], '/0'],
      [{ big: 2 ** 60 }, '/big'],
      [new Map([['a', 1]]), ''],
      [{ when: new Set() }, '/when'],
      [cycle, /^(?:\/self){128}$/],
      [double, /^(?:\/0){128}$/],
      [JSON.parse('{"__proto__": 1}'), '/__proto__'],
      [
        {
          get trap() {
            throw new Error('hunter2')
          },
        },
        '',
      ],
    ]
    for (const [value, path] of cases) {
      const reply = refusal(await attempt(() => value))
      assert.equal(reply.failure, 'output-invalid')
      assert.equal(reply.definite, false)
      const violations = reply.details?.violations as { path: string }[]
      if (typeof path === 'string') assert.equal(violations[0]?.path, path)
      else assert.match(violations[0]?.path ?? '', path)
      assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
    }
  })

  it('may have its own idea of JSON, such as a date', async () => {
    const reply = success(await attempt(() => ({ at: new Date(0), gone: undefined, list: [undefined] })))
    assert.deepEqual(reply.output, { at: '1970-01-01T00:00:00.000Z', list: [null] })
  })

  it('is bounded also where it shares branches that would grow when written', async () => {
    let bomb: unknown = 'x'
    for (let level = 0; level < 60; level++) bomb = [bomb, bomb]
    const reply = refusal(await attempt(() => bomb))
    assert.equal(reply.failure, 'output-too-large')
  })
})

describe('what a handler throws', () => {
  it('is a crash whose message only the operator hears', async () => {
    const heard: unknown[] = []
    const transport = createNativeTransport({ world, onCrash: (error) => heard.push(error) })
    const fault = new TypeError('cannot read hunter2')
    const asynchronous = makeTool({ type: 'native', name: 'async' })
    transport.register(tool, {
      invoke: () => {
        throw fault
      },
    })
    transport.register(asynchronous, { invoke: () => Promise.reject(fault) })
    for (const one of [tool, asynchronous]) {
      const reply = refusal(await transport.attempt(makeSend(one, {}), makeSink()))
      assert.equal(reply.failure, 'tool-crashed')
      assert.equal(reply.definite, false)
      assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
    }
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(heard, [fault, fault])
  })

  it('may be anything', async () => {
    for (const thrown of [undefined, null, 'text', 42, { code: 'invalid_input' }]) {
      const reply = refusal(
        await attempt(() => {
          throw thrown
        }),
      )
      assert.equal(reply.failure, 'tool-crashed')
    }
  })

  it('reaches the caller as a ToolError does', async () => {
    const reply = refusal(
      await attempt(() => {
        throw new ToolError('no seats left', {
          code: 'sold_out',
          retryable: false,
          details: { flight: 'OK1' },
        })
      }),
    )
    assert.equal(reply.failure, 'upstream-error')
    assert.equal(reply.message, 'no seats left')
    assert.equal(reply.toolRetryable, false)
    assert.equal(reply.details?.flight, 'OK1')
    assert.equal(reply.details?.tool_code, 'sold_out')
    assert.equal(reply.definite, false)
  })

  it('S23: is definite with `effect: none`, and with a code that the tool declares harmless', async () => {
    const none = () => {
      throw new ToolError('nothing was booked', { effect: 'none' })
    }
    assert.equal(refusal(await attempt(none)).definite, true)
    const soldOut = () => {
      throw new ToolError('no seats left', { code: 'sold_out' })
    }
    assert.equal(refusal(await attempt(soldOut)).definite, false)
    assert.equal(
      refusal(await attempt(soldOut, { operation: { harmlessErrors: ['sold_out'] } })).definite,
      true,
    )
  })

  it('may carry details that are no JSON, which are left out', async () => {
    const details = { at: 10n } as unknown as Record<string, Json>
    const reply = refusal(
      await attempt(() => {
        throw new ToolError('odd', { details })
      }),
    )
    assert.equal(reply.message, 'odd')
    assert.match(reply.warnings?.[0] ?? '', /not JSON/)
  })
})

describe('what cannot be read of a handler', () => {
  const trap = () => {
    throw new Error('hunter2')
  }
  const details = Object.defineProperty({}, 'a', { enumerable: true, get: trap })
  const thrown: readonly unknown[] = [
    new ToolError('odd', { details, effect: 'none' }),
    new ToolError('odd', { details: new Proxy({}, { ownKeys: trap, get: trap }) }),
    Object.defineProperty(new ToolError('odd'), 'message', { get: trap }),
    new Proxy(new ToolError('odd'), { get: trap }),
    new Proxy({}, { getPrototypeOf: trap }),
  ]

  it('is a crash, thrown or rejected, of which the operator hears once', async () => {
    for (const error of thrown) {
      for (const handler of [
        () => {
          throw error
        },
        () => Promise.reject(error),
      ]) {
        const heard: unknown[] = []
        const transport = createNativeTransport({ world, onCrash: (fault) => heard.push(fault) })
        transport.register(tool, { invoke: handler })
        const reply = refusal(await transport.attempt(makeSend(tool, {}), makeSink()))
        assert.deepEqual([reply.failure, reply.definite], ['tool-crashed', false])
        assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
        await new Promise((resolve) => setImmediate(resolve))
        assert.equal(heard.length, 1)
      }
    }
  })

  it('is a crash where it only looks like a promise', async () => {
    const lookalikes = [
      // biome-ignore lint/suspicious/noThenProperty: this is what is tested
      { then: trap },
      Object.defineProperty({}, 'then', { get: trap }),
    ]
    for (const value of lookalikes) assert.equal(refusal(await attempt(() => value)).failure, 'tool-crashed')
  })

  it('is left out of a ToolError where its parts are not what they should be', async () => {
    const odd = { code: 10n, retryable: 'yes', details: 'text' } as unknown as ToolErrorOptions
    const reply = refusal(
      await attempt(() => {
        throw new ToolError('odd', odd)
      }),
    )
    assert.deepEqual([reply.message, reply.toolRetryable], ['odd', undefined])
    assert.deepEqual(reply.details, { tool_status: 'error', tool_code: 'execution_failed' })
    assert.ok(JSON.stringify(reply))
  })
})

describe('a handler that does not end', () => {
  it('holds nobody: its late result and its late fault are ignored', async () => {
    const abort = new Abort()
    let finish: (value: unknown) => void = () => {}
    const ends = attempt(() => new Promise((resolve) => (finish = resolve)), { send: { abort } })
    abort.abort('timeout')
    assert.equal(refusal(await ends).failure, 'timeout-unknown-commit')
    finish('too late')

    const other = new Abort()
    let fail: (error: unknown) => void = () => {}
    const fails = attempt(() => new Promise((_, reject) => (fail = reject)), { send: { abort: other } })
    other.abort('canceled')
    assert.equal(refusal(await fails).failure, 'canceled')
    fail(new Error('too late'))
    // A fault that nobody takes would end the process here.
    await pause(5)
  })
})

describe('the handlers of a process', () => {
  it('are found by namespace, name, version and operation', async () => {
    const transport = createNativeTransport({ world })
    transport.register(tool, { invoke: () => 'one' })
    transport.register({ ...tool, namespace: 'other' }, { invoke: () => 'two' })
    transport.register({ ...tool, version: '2.0.0' }, { invoke: () => 'three' })
    const run = async (one: typeof tool) =>
      success(await transport.attempt(makeSend(one, {}), makeSink())).output
    assert.equal(await run(tool), 'one')
    assert.equal(await run({ ...tool, namespace: 'other' }), 'two')
    assert.equal(await run({ ...tool, version: '2.0.0' }), 'three')
  })

  it('S33: that are not there refuse the call, and nothing runs', async () => {
    const transport = createNativeTransport({ world })
    const take = transport.register(tool, { other: () => 1, toString: () => 1 })
    const sink = makeSink()
    for (const missing of [tool, { ...tool, name: 'nobody' }]) {
      const reply = refusal(await transport.attempt(makeSend(missing, {}), sink))
      assert.deepEqual([reply.failure, reply.definite], ['isolation-unavailable', true])
    }
    take()
    transport.register(tool, { invoke: () => 1 })
    assert.equal(success(await transport.attempt(makeSend(tool, {}), sink)).output, 1)
    assert.equal(sink.sent, 1)
  })

  it('of another build do not run for a pinned entry', async () => {
    const transport = createNativeTransport({ world })
    transport.register(tool, { invoke: () => 1 })
    const sink = makeSink()
    const reply = refusal(await transport.attempt(makeSend({ ...tool, digest: 'sha256:older' }, {}), sink))
    assert.deepEqual([reply.failure, reply.definite, sink.sent], ['integrity-failed', true, 0])
  })

  it('cannot be put over others', () => {
    const transport = createNativeTransport({ world })
    transport.register(tool, { invoke: () => 1 })
    assert.throws(() => transport.register(tool, { invoke: () => 2 }), /already has handlers/)
  })
})
