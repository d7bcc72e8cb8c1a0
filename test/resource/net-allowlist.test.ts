// What is left where two lists of allowed origins meet (S2).
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { allowsUrl, narrowAllowlist } from '../../src/resource/net-allowlist.ts'

describe('two lists of allowed origins', () => {
  it('leave what the one list says where there is only one, and nothing where there is none', () => {
    assert.equal(narrowAllowlist([], undefined), undefined)
    assert.deepEqual(narrowAllowlist(['a.example'], undefined), ['a.example'])
    assert.deepEqual(narrowAllowlist([], ['a.example']), ['a.example'])
    assert.deepEqual(narrowAllowlist([], []), [])
  })

  it('S2: leave the narrower of two entries, whichever list it is in', () => {
    const cases: readonly (readonly [string, string, readonly string[]])[] = [
      ['https://*.example.com', 'https://api.example.com', ['https://api.example.com']],
      ['https://*.example.com', 'https://*.eu.example.com', ['https://*.eu.example.com']],
      ['https://*.example.com', 'https://example.com', []],
      ['https://*.example.com', 'https://evilexample.com', []],
      ['api.example.com', 'https://*.example.com', ['https://api.example.com']],
      ['api.example.com', 'API.example.com', ['https://api.example.com', 'http://api.example.com']],
      ['https://a.example', 'http://a.example', []],
      ['https://a.example', 'a.example:443', ['https://a.example']],
      ['https://a.example:8443', 'https://a.example', []],
      ['https://a.example:8443', 'a.example:8443', ['https://a.example:8443']],
      ['https://a.example', '*', []],
    ]
    for (const [one, other, wanted] of cases) {
      assert.deepEqual(narrowAllowlist([one], [other]), wanted, `${one} ${other}`)
      assert.deepEqual(narrowAllowlist([other], [one]), wanted, `${other} ${one}`)
    }
  })

  it('allow exactly what both allow', () => {
    const lists = [
      ['https://*.example.com', 'http://a.example', 'b.example:8080'],
      ['a.example', 'https://api.example.com', '*.b.example:8080', 'b.example:8080'],
    ] as const
    const both = narrowAllowlist(...lists) ?? []
    for (const host of ['api.example.com', 'x.example.com', 'a.example', 'b.example', 'c.b.example']) {
      for (const origin of [
        `http://${host}`,
        `https://${host}`,
        `http://${host}:8080`,
        `https://${host}:8080`,
      ]) {
        const url = new URL(origin)
        const wanted = lists.every((list) => allowsUrl(list, url))
        assert.equal(allowsUrl(both, url), wanted, origin)
      }
    }
  })
})
