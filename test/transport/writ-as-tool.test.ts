// One Writ as a tool of another: the inner one takes the token that it is shown, and nothing of the outer one's own secrets
// is named to it, which it would have to refuse as a claim about its own (S2).
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createRuntime } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { type GrpcHarness, startGrpcHarness } from '../server/grpc-harness.ts'
import { TOKEN } from '../server/harness.ts'

const SECRET = 'token-of-the-inner-writ'
const TYPES = ['external', 'webhook-callback', 'grpc'] as const
const CONTRACTS = ['v1', 'legacy', 'four-outcome'] as const

describe('one Writ as a tool of another', () => {
  let inner: GrpcHarness
  before(async () => {
    inner = await startGrpcHarness()
  })
  after(() => inner.close())

  async function apply(
    outer: Runtime,
    resource: { readonly kind: string; readonly name: string; readonly spec: object },
  ): Promise<void> {
    const { kind, name, spec } = resource
    const metadata = { name, ...(kind === 'Tool' ? { version: '1.0.0' } : {}) }
    const text = JSON.stringify({ apiVersion: 'writ.dev/v1', kind, metadata, spec })
    const { ok, problems } = await outer.resources.apply([{ file: `${name}.json`, text }])
    assert.ok(ok, JSON.stringify(problems))
  }

  for (const type of TYPES) {
    for (const contract of CONTRACTS) {
      it(`S2: over ${type} in ${contract} it takes the call, with the credential that it is shown`, async (t) => {
        const grpc = type === 'grpc'
        const outer = await createRuntime({ onWarning() {} })
        t.after(() => outer.close())
        await apply(outer, { kind: 'Secret', name: SECRET, spec: { stringData: { value: TOKEN } } })
        await apply(outer, {
          kind: 'Tool',
          name: 'echo',
          spec: {
            type,
            contract,
            endpoint: grpc ? inner.address : `${inner.harness.url}/v1/calls`,
            ...(grpc ? { grpc: { plaintext: true } } : {}),
            // Neither the profile nor the scopes are those of the tool in there, which has none.
            auth: { profile: 'bearer', secretRef: SECRET, scopes: ['writ:call'] },
            effect: { class: 'read-only' },
          },
        })
        const agent = outer.as({ actor: 'agent', permissions: ['tool:echo:invoke'] })
        const answer = await agent.call({ tool: 'echo', input: { city: 'Brno', of: `${type} ${contract}` } })
        assert.equal(answer.state, 'succeeded', JSON.stringify(answer.failure))
        assert.deepEqual(answer.output, { said: { city: 'Brno', of: `${type} ${contract}` } })
      })
    }
  }
})
