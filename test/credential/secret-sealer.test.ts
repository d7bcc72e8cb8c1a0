// Sealed secrets: what is kept opens only where it belongs, whole, and with the key it was sealed by.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMasterKeyRing } from '../../src/credential/key-ring.ts'
import { masterKeySource, passingSource } from '../../src/credential/master-key-source.ts'
import { createSecretSealer, type KeptSecret, SealBroken } from '../../src/credential/secret-sealer.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { JsonObject } from '../../src/util/json.ts'

const world = createSystemWorld()
const options = { world, env: {}, folder: '/' }
const sealerOf = (source = passingSource(world)) =>
  createSecretSealer(world, createMasterKeyRing(source, world))
const CANARY = 'canary-value-0001'

const text = (spec: string, name = 'api') =>
  `apiVersion: writ.dev/v1\nkind: Secret\nmetadata: {name: ${name}}\nspec: ${spec}\n`

type Kept = KeptSecret & { readonly kind: string }

async function sealed(
  sealer: ReturnType<typeof sealerOf>,
  spec: string,
  { name = 'api', namespace = 'blue', before = [] as readonly Kept[] } = {},
) {
  const { documents } = readManifests(text(spec, name), 'x')
  const done = await sealer.seal(documents, before, namespace)
  const body = JSON.parse(JSON.stringify(done.documents[0]?.manifest)) as JsonObject
  const kept: Kept = { kind: 'Secret', namespace, name, body }
  return { kept, problems: done.problems, said: JSON.stringify(done) }
}

const dataOf = ({ body }: KeptSecret) => (body.spec as { data: Record<string, string> }).data
interface Change {
  readonly data?: Readonly<Record<string, string>>
  readonly sealing?: unknown
}
/** The same row with other values, or another way of opening them. */
const changed = (kept: Kept, { data = dataOf(kept), sealing = kept.body.sealing }: Change): Kept => ({
  ...kept,
  body: { ...kept.body, spec: { data }, sealing: sealing as JsonObject },
})

describe('a sealed secret', () => {
  it('holds no value in clear, in no form, and opens to what was written', async () => {
    const sealer = sealerOf()
    const base64 = Buffer.from(`${CANARY}-b\n`).toString('base64')
    const { kept, problems, said } = await sealed(
      sealer,
      `{data: {b: ${base64}, a: ${base64}}, stringData: {a: " ${CANARY}-a "}}`,
    )
    assert.deepEqual(problems, [])
    for (const form of [CANARY, base64, base64.slice(0, 16), encodeURIComponent(CANARY)])
      assert.ok(!said.includes(form), form)
    assert.deepEqual({ ...(await sealer.open(kept)) }, { a: `${CANARY}-a`, b: `${CANARY}-b` })
  })

  it('does not open where a value, a key or the data key was changed or moved', async () => {
    const sealer = sealerOf()
    const { kept } = await sealed(sealer, `{stringData: {a: ${CANARY}, b: another-value}}`)
    const { kept: other } = await sealed(sealer, `{stringData: {a: foreign-value}}`, { name: 'other' })
    const flip = (sealedText: string, at: number) => {
      const bytes = Buffer.from(sealedText.slice(3), 'base64url')
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return `v1:${bytes.toString('base64url')}`
    }
    const { a = '', b = '' } = dataOf(kept)
    const length = Buffer.from(a.slice(3), 'base64url').length
    const withValue = (value: string) => changed(kept, { data: { a: value, b } })
    const damaged: readonly [string, Kept][] = [
      ...Array.from({ length }, (_, at): [string, Kept] => [`byte ${at}`, withValue(flip(a, at))]),
      ['cut', withValue(a.slice(0, 10))],
      ['empty', withValue('')],
      ['in clear', withValue(CANARY)],
      ['swapped', changed(kept, { data: { a: b, b: a } })],
      ['renamed key', changed(kept, { data: { c: a } })],
      ['another row', { ...kept, name: 'other' }],
      ['another namespace', { ...kept, namespace: 'red' }],
      ['another data key', changed(kept, { sealing: other.body.sealing })],
      ['another key id', changed(kept, { sealing: { ...(kept.body.sealing as JsonObject), key_id: '00' } })],
      ['no sealing', { ...kept, body: { spec: { data: { a } } } }],
      ['no body', { ...kept, body: {} }],
    ]
    for (const [what, row] of damaged) {
      await assert.rejects(sealer.open(row), (error) => {
        assert.ok(error instanceof SealBroken, what)
        assert.match(error.message, /^secret (blue|red)\/\w+ .*\. Fix: /)
        assert.ok(!error.message.includes(CANARY))
        return true
      })
    }
    assert.equal((await sealer.open(kept)).a, CANARY, 'the others are as they were')
  })

  it('keeps the very seal of a value that stays, so that nothing is kept anew', async () => {
    const sealer = sealerOf()
    const { kept } = await sealed(sealer, `{stringData: {a: ${CANARY}, b: another-value}}`)
    const before = [kept]
    const again = await sealed(sealer, `{stringData: {a: ${CANARY}, b: '***'}}`, { before })
    assert.deepEqual(again.kept.body, kept.body)
    const changed = await sealed(sealer, `{stringData: {a: changed-value}, data: {b: '***'}}`, { before })
    assert.equal(dataOf(changed.kept).b, dataOf(kept).b)
    assert.notEqual(dataOf(changed.kept).a, dataOf(kept).a)
    const twice = await sealed(sealer, `{stringData: {a: same-value-1, b: same-value-1}}`)
    assert.notEqual(dataOf(twice.kept).a, dataOf(twice.kept).b, 'equal values do not look equal')
  })

  it('*** where no value is kept is an error at its place, and mends nothing that is damaged', async () => {
    const sealer = sealerOf()
    const none = await sealed(sealer, `{data: {a: '***'}}`)
    assert.deepEqual(
      none.problems.map(({ path, severity }) => [path, severity]),
      [['spec.data.a', 'error']],
    )
    const { kept } = await sealed(sealer, `{stringData: {a: ${CANARY}, b: another-value}}`)
    const broken = changed(kept, { data: { ...dataOf(kept), a: 'v1:AAAA' } })
    const stays = await sealed(sealer, `{stringData: {a: '***', b: '***'}}`, { before: [broken] })
    assert.deepEqual(
      stays.problems.map(({ path }) => path),
      ['spec.stringData.a'],
    )
    const mended = await sealed(sealer, `{stringData: {a: new-value-1, b: '***'}}`, { before: [broken] })
    assert.deepEqual(mended.problems, [])
    assert.deepEqual({ ...(await sealer.open(mended.kept)) }, { a: 'new-value-1', b: 'another-value' })
  })

  it('S50: a value that is short, large, no base64 or no text is refused, and in no message', async () => {
    const sealer = sealerOf()
    const cases: readonly [string, RegExp][] = [
      [`{stringData: {a: sesame1}}`, /has 7 bytes/],
      [`{data: {a: ${Buffer.from('sesame1').toString('base64')}}}`, /has 7 bytes/],
      [`{data: {a: sesame-sesame!}}`, /is no base64/],
      [`{data: {a: ${Buffer.from([0xff, 0xfe, 1, 2, 3, 4, 5, 6, 7, 8]).toString('base64')}}}`, /UTF-8/],
      [`{stringData: {a: ${'sesame'.repeat(11_000)}}}`, /has 66000 bytes/],
      [`{stringData: {'a b': sesame-sesame}}`, /is no valid key/],
    ]
    for (const [spec, why] of cases) {
      const { problems, said } = await sealed(sealer, spec)
      assert.match(problems.map(({ message }) => message).join(), why)
      assert.ok(problems.every(({ fix, severity }) => fix !== undefined && severity === 'error'))
      assert.ok(!said.includes('sesame'), spec.slice(0, 40))
    }
  })

  it('without a master key is refused with the fix, and what was written goes no further', async () => {
    const sealer = createSecretSealer(world, { why: 'there is no master key. Fix: give one' })
    const { problems, said } = await sealed(sealer, `{stringData: {a: ${CANARY}}}`)
    assert.deepEqual(
      problems.map(({ message, fix }) => [message, fix]),
      [['cannot be sealed: there is no master key', 'give one']],
    )
    assert.ok(!said.includes(CANARY))
  })

  it('is wrapped anew by a newer master key without any value or seal changing', async () => {
    const source = passingSource(world)
    const sealer = sealerOf(source)
    const { kept } = await sealed(sealer, `{stringData: {a: ${CANARY}}}`)
    assert.equal(await sealer.rewrap(kept), undefined)
    await sealer.keys.renew()
    const body = await sealer.rewrap(kept)
    assert.ok(body)
    assert.deepEqual(body.spec, kept.body.spec)
    assert.notDeepEqual(body.sealing, kept.body.sealing)
    assert.equal((await sealer.open({ ...kept, body })).a, CANARY)
    assert.equal((await sealer.open(kept)).a, CANARY, 'the old key still opens what it has wrapped')
  })

  it('of another master key does not open, and says which key is missing', async () => {
    const { kept } = await sealed(sealerOf(), `{stringData: {a: ${CANARY}}}`)
    const foreign = sealerOf(masterKeySource(new Uint8Array(32), options))
    await assert.rejects(
      foreign.open(kept),
      /is sealed with the master key [0-9a-f]{16}, which is not in the program/,
    )
  })
})
