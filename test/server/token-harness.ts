// A server with a few roles in two namespaces, and short ways to its tokens.
import assert from 'node:assert/strict'
import { type Harness, type Reply, startHarness } from './harness.ts'

export const ROLES = `
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: caller}
spec: {permissions: ['tool:echo:invoke']}
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: operator}
spec: {inherits: [caller], permissions: ['resource:read', 'resource:write', 'token:write']}
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: governor}
spec: {permissions: ['governance:write']}
`

/** A manifest, as it is sent. */
export const YAML = { 'content-type': 'application/yaml' }

export interface TokenHarness extends Harness {
  /** Asks for a token; as the admin, unless another token is shown. */
  issue(body: object, options?: { readonly token?: string; readonly namespace?: string }): Promise<Reply>
  /** One that is given. */
  tokenFor(body: object, namespace?: string): Promise<string>
  whoami(token: string): Promise<Reply>
  /** All evidence that there is. */
  evidence(): Promise<string>
}

export async function startTokenHarness(): Promise<TokenHarness> {
  const harness = await startHarness()
  for (const namespace of ['default', 'blue']) {
    const reply = await harness.request('POST', `/v1/apply?namespace=${namespace}`, {
      body: ROLES,
      headers: YAML,
    })
    assert.equal(reply.status, 200, reply.text)
  }
  const issue: TokenHarness['issue'] = (body, { token, namespace } = {}) => {
    const query = namespace === undefined ? '' : `?namespace=${namespace}`
    return harness.request('POST', `/v1/tokens${query}`, { body, ...(token ? { token } : {}) })
  }
  return {
    ...harness,
    issue,
    async tokenFor(body, namespace) {
      const reply = await issue(body, namespace === undefined ? {} : { namespace })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.token
    },
    whoami: (token) => harness.request('GET', '/v1/whoami', { token }),
    async evidence() {
      let text = ''
      for await (const piece of harness.runtime.audit.export()) text += piece
      return text
    },
  }
}
