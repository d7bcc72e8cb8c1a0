// The native transport with handlers that behave as told.
import { createNativeTransport, type NativeHandler } from '../../src/transport/native.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { makeTool } from './send-fixture.ts'
import { type Behaviour, pause, type Seen, type TransportUnderTest } from './transport-contract.ts'

export const nativeUnderTest: TransportUnderTest = {
  name: 'native',
  without: {
    'hang-mid-body': 'a handler returns its output in one piece',
    'cut-mid-body': 'a handler returns its output in one piece',
    refuse: 'a handler is always in reach',
  },
  async open() {
    const world = createSystemWorld()
    const transport = createNativeTransport({ world })
    const seen: Seen[] = []
    const waiting: (() => void)[] = []
    let touched = false

    const register = (behaviour: Behaviour) => {
      const handler: NativeHandler = (input, context) => {
        touched = true
        seen.push({ input, key: context.key, attempt: context.attempt })
        for (const look of waiting) look()
        return behave(behaviour, input)
      }
      transport.register(named(behaviour), { invoke: handler })
    }
    const registered = new Set<Behaviour>()

    return {
      transport,
      seen,
      touched: () => touched,
      tool(behaviour, overrides) {
        if (!registered.has(behaviour)) register(behaviour)
        registered.add(behaviour)
        return { ...named(behaviour), ...overrides }
      },
      async arrived(count) {
        while (seen.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      },
      async close() {
        await transport.close()
        await world.network.close()
      },
    }
  },
}

function named(behaviour: Behaviour) {
  return makeTool({ type: 'native', name: behaviour, digest: `sha256:${behaviour}` })
}

function behave(behaviour: Behaviour, input: unknown): unknown {
  switch (behaviour) {
    case 'echo':
      return input
    case 'delay':
      return pause(50).then(() => input)
    case 'hang':
      return new Promise(() => {})
    case 'huge':
      return 'x'.repeat(10_000_000)
    case 'invalid-output':
      return { at: { here: 10n } }
    case 'reject':
      throw new ToolError('no such city', { code: 'invalid_input' })
    case 'fail':
      throw new Error('the password is hunter2')
    case 'fail-harmless':
      throw new ToolError('the printer is out of paper', { effect: 'none', retryable: true })
    default:
      throw new Error(`a handler cannot ${behaviour}`)
  }
}
