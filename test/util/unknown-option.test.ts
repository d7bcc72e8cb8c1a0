// Options that nobody reads are refused, with the name that was meant.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseUnknownOptions } from '../../src/util/unknown-option.ts'

interface Options {
  readonly store?: string
  readonly effectDefault?: string
}
const KNOWN = { store: true, effectDefault: true } as const

test('known options pass, also none and one that is undefined', () => {
  for (const options of [{}, { store: 'x' }, { store: undefined }]) {
    assert.doesNotThrow(() => refuseUnknownOptions('createRuntime', options as Options, KNOWN))
  }
})

test('a slip is refused with the name that was meant, every one of them', () => {
  const slips = { sotre: 'x', effectdefault: 'y', colour: 'z' } as Options
  assert.throws(
    () => refuseUnknownOptions('createRuntime', slips, KNOWN),
    (error: Error) => {
      assert.equal(
        error.message,
        [
          "createRuntime has no option 'sotre': did you mean 'store'?",
          "createRuntime has no option 'effectdefault': did you mean 'effectDefault'?",
          "createRuntime has no option 'colour': it takes store, effectDefault",
        ].join('\n'),
      )
      return true
    },
  )
})

test('a name that every object has is no option', () => {
  const polluted = JSON.parse('{"__proto__": 1, "constructor": 2}') as Options
  assert.throws(
    () => refuseUnknownOptions('createRuntime', polluted, KNOWN),
    /'__proto__'.*\n.*'constructor'/,
  )
})

test('what is no object is refused as a whole', () => {
  for (const wrong of [null, 'memory', 7]) {
    assert.throws(
      () => refuseUnknownOptions('createRuntime', wrong as unknown as Options, KNOWN),
      /takes an object of options/,
    )
  }
})
