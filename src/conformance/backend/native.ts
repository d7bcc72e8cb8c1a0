// The in-process runtime: the four operations as functions of this program (S55).
import { defineOperation, defineTool } from '../../define-tool.ts'
import type { NativeContext } from '../../transport/native.ts'
import { ToolError } from '../../transport/tool-error.ts'
import type { Json } from '../../util/json.ts'
import { createOperations, type Operations } from '../operations.ts'
import type { Declaration } from '../tools.ts'
import { type Backend, COMMON_LIMITATIONS, type Offer } from './backend.ts'

export const nativeBackend: Backend = {
  name: 'native',
  limitations: Object.freeze({
    ...COMMON_LIMITATIONS,
    'C4.1':
      'Nothing is presented to a function of the embedding program, which has its credentials from wherever it likes: one that declares auth is refused with secret_resolution_failed, whether the secret is there or not, and is not called.',
    'C4.4':
      'Nothing is presented to a function of the embedding program: the four profiles are read and checked when they are declared, and the calls are refused with secret_resolution_failed.',
    'C6.2':
      'A function of the same process has no boundary that it could be held by. What a request tries is blocked; what the function itself does is not.',
  }),
  isolation: Object.freeze({
    provided: Object.freeze(['none'] as const),
    boundary:
      'There is no boundary: the code of the tool is code of the embedding program. A declared isolation other than none is refused with isolation_unavailable.',
  }),
  hasEndpoint: false,
  givesStatus: false,
  presents: 'nothing',
  notes: Object.freeze([
    'A function that ignores its signal goes on after a timeout or a cancel. The caller is answered in time all the same, and what the function does later is not heard.',
    'A function that never yields the event loop stops the runtime with it.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    return {
      offer: (tool) => offer(tool, operations),
      sends: operations.sends,
      close: async () => {},
    }
  },
}

function offer({ name, operation, effect, spec }: Declaration, operations: Operations): Offer {
  const handler = async (input: Json, context: NativeContext): Promise<Json> => {
    const { key, attempt, signal, trace } = context
    const result = await operations.run({ operation, input, key, attempt, signal, traceId: trace.traceId })
    if (result.ok) return result.output
    const { code, message, retryable } = result.fault
    throw new ToolError(message, { code, ...(retryable === undefined ? {} : { retryable }) })
  }
  const one = { handler, ...(effect === undefined ? {} : { effect }) }
  return {
    kind: 'native',
    definition: defineTool({ name, spec, ...one, operations: { [operation]: defineOperation(one) } }),
  }
}
