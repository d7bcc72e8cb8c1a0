// Runs the one contract suite over every transport of this build.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { builtTypes } from '../../src/transport/registry.ts'
import { externalUnderTest, httpUnderTest } from './http-bench.ts'
import { nativeUnderTest } from './native-bench.ts'
import { pause, transportCases } from './transport-contract.ts'

const implementations = [nativeUnderTest, httpUnderTest, externalUnderTest]

it('every built transport is under the contract', () => {
  assert.deepEqual(implementations.map(({ name }) => name).sort(), [...builtTypes].sort())
})

for (const implementation of implementations) {
  describe(`the ${implementation.name} transport`, () => {
    for (const one of transportCases) {
      const lacking = one.needs.find((behaviour) => implementation.without[behaviour] !== undefined)
      const skip = lacking === undefined ? false : `${lacking}: ${implementation.without[lacking]}`
      it(one.name, { skip }, async () => {
        const bench = await implementation.open()
        try {
          await one.run(bench)
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
