// No public schema and no row of the failure table changes without a new revision of the contract.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { currentPins, diffPins, type Pin, readPins } from '../../scripts/pins.ts'
import { CONTRACT_REVISION, CONTRACT_VERSION } from '../../src/contract/version.ts'
import { canonicalJson, sha256Hex } from '../../src/util/canonical.ts'

describe('pins', () => {
  it('hold the wire: every public schema and every row of the failure table is as it was pinned', () => {
    const changes = diffPins(readPins(), currentPins())
    assert.ok(
      changes.length === 0,
      `The wire contract changed:\n  ${changes.join('\n  ')}\n` +
        `If this is meant and additive: raise the minor of CONTRACT_REVISION (now ${CONTRACT_REVISION}) in ` +
        'src/contract/version.ts, run `node scripts/pins.ts`, and say so in CHANGELOG.md. If a field was removed or ' +
        `its meaning changed, this is a new major: ${CONTRACT_VERSION} has to go on as it is.`,
    )
  })

  it('have digests of what they hold, at the present revision', () => {
    for (const [name, pin] of readPins()) {
      assert.equal(pin.digest, `sha256:${sha256Hex(canonicalJson(pin.content))}`, name)
      assert.equal(pin.revision, CONTRACT_REVISION, `${name}: run \`node scripts/pins.ts\``)
    }
  })

  it('name every kind of change', () => {
    const pin = (content: Pin['content']): Pin => ({ revision: '1.0', digest: '', content })
    const before = new Map([
      ['a', pin({ x: 1, y: [1] })],
      ['gone', pin({})],
    ])
    const now = new Map([
      ['a', pin({ x: 2, y: [1], z: true })],
      ['new', pin({})],
    ])
    assert.deepEqual(diffPins(before, now), [
      'a/x: was 1, is 2',
      'a/z: was absent, is true',
      'gone: removed, still pinned',
      'new: added, not pinned',
    ])
  })

  it('agree on the major version', () => {
    assert.equal(`v${CONTRACT_REVISION.split('.')[0]}`, CONTRACT_VERSION)
  })
})
