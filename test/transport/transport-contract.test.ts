// Runs the one contract suite over every transport of this build.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { builtTypes } from '../../src/transport/registry.ts'
import { transportCases } from './case/transport-cases.ts'
import { cliUnderTest } from './cli-bench.ts'
import { grpcUnderTest } from './grpc-bench.ts'
import { externalUnderTest, httpUnderTest, webhookUnderTest } from './http-bench.ts'
import { mcpHttpUnderTest, mcpStdioUnderTest } from './mcp-bench.ts'
import { nativeUnderTest } from './native-bench.ts'
import { pause, type TransportUnderTest } from './transport-contract.ts'

const implementations: readonly TransportUnderTest[] = [
  nativeUnderTest,
  cliUnderTest,
  httpUnderTest,
  externalUnderTest,
  webhookUnderTest,
  grpcUnderTest,
  mcpStdioUnderTest,
  mcpHttpUnderTest,
]

it('every built transport is under the contract', () => {
  assert.deepEqual([...new Set(implementations.map(({ name }) => name))].sort(), [...builtTypes].sort())
})

for (const implementation of implementations) {
  describe(`the ${[implementation.name, implementation.variant].join(' ').trim()} transport`, () => {
    for (const one of transportCases) {
      const without = {
        ...(implementation.takesOn === true ? {} : { accept: 'its tools answer within the attempt' }),
        ...implementation.without,
      }
      const lacking = one.needs.find((behaviour) => without[behaviour] !== undefined)
      const skip = lacking === undefined ? false : `${lacking}: ${without[lacking]}`
      it(one.name, { skip }, async () => {
        const bench = await implementation.open()
        try {
          await one.run(bench, implementation)
        } finally {
          await bench.close()
        }
      })
    }

    it('leaves no open handle', async () => {
      for (let waited = 0; sockets() > 0 && waited < 2_000; waited += 10) await pause(10)
      assert.equal(sockets(), 0, process.getActiveResourcesInfo().join(', '))
    })
  })
}

function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length
}
