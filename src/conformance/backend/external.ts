// Services that speak the contract: an envelope in, an envelope out. Ours on loopback, or somebody's own (S54).
import { isLoopbackHost } from '../../resource/net-allowlist.ts'
import { isJsonObject } from '../../util/json.ts'
import { createOperations } from '../operations.ts'
import {
  type Backend,
  type BackendFacts,
  COMMON_LIMITATIONS,
  manifestOf,
  REMOTE_ISOLATION,
} from './backend.ts'
import { answerEnvelope } from './envelope-service.ts'
import { credentialsOf, listen } from './loopback.ts'

const FACTS: Omit<BackendFacts, 'name' | 'limitations'> = {
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: false,
  presents: 'profiles',
  notes: Object.freeze([
    'A reply that is no envelope, or answers another request_id, is refused: of a write it is then not known whether it happened.',
    'Redirects are not followed.',
  ]),
}

export const externalBackend: Backend = {
  ...FACTS,
  name: 'external',
  limitations: COMMON_LIMITATIONS,
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ headers, body, signal }) => {
      if (!isJsonObject(body)) return { status: 400, body: { message: 'no envelope' } }
      const how = { signal, credentials: credentialsOf(headers) }
      return { status: 200, body: await answerEnvelope(body, operations, how) }
    })
    return {
      offer: (tool) => ({ kind: 'manifest', manifest: manifestOf(tool, 'external', service.origin) }),
      sends: operations.sends,
      close: service.close,
    }
  },
}

/** A service that somebody else runs. Nothing is known of it but what it answers. */
export function createEndpointBackend(endpoint: string): Backend {
  const url = URL.parse(endpoint)
  const sealed = url !== null && (url.protocol === 'https:' || isLoopbackHost(url.hostname))
  // Whoever runs the suite has named the address, wherever it lies.
  const egress = { private: 'it was named to be tested' }
  return {
    ...FACTS,
    isolation: sealed ? REMOTE_ISOLATION : { ...REMOTE_ISOLATION, provided: ['none'] },
    name: endpoint,
    limitations: {
      ...COMMON_LIMITATIONS,
      'C2.3': 'Whether the service itself stops when its caller hangs up cannot be seen from outside.',
    },
    openPeer: async () => ({
      offer: (tool) => ({
        kind: 'manifest',
        manifest: manifestOf({ ...tool, spec: { ...tool.spec, egress } }, 'external', endpoint),
      }),
      sends: () => undefined,
      close: async () => {},
    }),
  }
}
